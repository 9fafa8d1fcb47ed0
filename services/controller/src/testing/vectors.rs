//! The journals of release 0.1.2 in `sessions/vectors/v0.1.2` of the directory that `SPEC_VECTORS_DIR` names, by default
//! `../shared/spec` beside the project.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs, io};

use serde_json::Value;
use wire::{Event, ExecutionStart, ModelCall, event::Body};

use super::events::Of;

static NOTICE: Once = Once::new();

/// The events of a journal; `None`, and one visible line, where the vectors are not at hand.
pub(crate) fn journal(name: &str) -> Option<Vec<Event>> {
    let spec = env::var_os("SPEC_VECTORS_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec"), PathBuf::from);
    let path = spec.join("sessions/vectors/v0.1.2").join(name).with_extension("json");
    let Ok(text) = fs::read_to_string(&path) else {
        // Straight to the stream, which the test harness does not capture.
        NOTICE.call_once(|| {
            let notice = format!("NOT RUN: legacy vectors, {} is not there (set SPEC_VECTORS_DIR)\n", path.display());
            io::stderr().write_all(notice.as_bytes()).unwrap();
        });
        return None;
    };
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    Some(records.iter().map(|record| event(&record["Event"])).collect())
}

fn event(event: &Value) -> Event {
    let of = Of(event["ExecutionID"].as_str().unwrap());
    let text = || event["Message"]["Parts"][0]["Text"]["Text"].as_str().unwrap();
    match event["Kind"].as_str().unwrap() {
        "INPUT" => of.input(text()),
        "OUTPUT" => of.output(text()),
        "END" => of.end(),
        "EXECUTION_START" => {
            let input_count = event["ExecutionStart"]["InputCount"].as_i64();
            of.start_with(ExecutionStart { input_count, ..ExecutionStart::default() })
        }
        "MODEL_CALL" => {
            let member = |name: &str| event["ModelCall"][name].as_str().unwrap().to_owned();
            let call = ModelCall {
                model: member("Model"),
                input_hash: member("InputHash"),
                id: member("ID"),
                ..ModelCall::default()
            };
            of.event(wire::EventKind::EventModelCall, Body::Model(call))
        }
        kind => panic!("no test reads a {kind}"),
    }
}
