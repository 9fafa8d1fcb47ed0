//! What the mutations begin with: some messages of our own, and the contract's vectors where they are at hand.

#[path = "../../../../tests/support/spec_files.rs"]
mod spec_files;

use serde_json::{Value, json};

const UUID: &str = "ca7e5a82-2064-4c18-8359-806145c1562f";

/// The vectors of a file that `wanted` makes something of.
fn vectors<T>(file: &str, wanted: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    let Some(directory) = spec_files::directory("stream-session") else { return Vec::new() };
    let text = std::fs::read_to_string(directory.join(file)).expect("vectors can be read");
    let file: Value = serde_json::from_str(&text).expect("vectors are JSON");
    file["vectors"].as_array().expect("vectors are a list").iter().filter_map(wanted).collect()
}

fn text(vector: &Value, member: &str) -> Option<Vec<u8>> {
    vector[member].as_str().map(|text| text.as_bytes().to_vec())
}

fn bytes(messages: impl IntoIterator<Item = Value>) -> Vec<Vec<u8>> {
    messages.into_iter().map(|message| message.to_string().into_bytes()).collect()
}

/// The malformed vectors of a lane.
fn malformed(lane: &str, member: &str) -> Vec<Vec<u8>> {
    vectors("malformed.json", |vector| if vector["lane"] == lane { text(vector, member) } else { None })
}

/// Text messages of both directions.
pub(crate) fn messages() -> Vec<Vec<u8>> {
    let record = json!({"kind": "record", "value": {"fields": []}});
    let stream = json!({"kind": "stream", "value": {"provisionalRef": UUID}});
    let own = bytes([
        json!({"attemptId": UUID, "config": [{"path": ["a"], "value": {"b": [1, null]}}], "idempotencyKey": "k",
            "methodParameters": {"kind": "record", "value": {"fields": [stream]}}, "type": "invocationStart", "version": 1,
            "selector": {"agentType": "a", "application": "b", "constructorParameters": record, "environment": "c",
                "method": "d", "phantomId": UUID}}),
        json!({"attemptId": UUID, "operation": "resume", "outputCursors": ["c1", "c2"], "sessionToken": "t",
            "type": "resumeAttach", "version": 1}),
        json!({"channel": 1, "sequence": "0", "type": "inputStreamItem", "value": {"kind": "bool", "value": true},
            "version": 1}),
        json!({"channel": 1, "sequence": "0", "type": "inputStreamEnd", "version": 1}),
        json!({"channel": 1, "reason": "cancelled", "type": "streamCancel", "version": 1}),
        json!({"attemptId": UUID, "idempotencyKey": "k", "sessionToken": "t", "type": "invocationAccepted", "version": 1,
            "mappings": [{"channel": 1, "direction": "input", "provisionalRef": UUID, "streamToken": "s",
                "inputHighWater": {"sequence": "0", "terminal": false}},
                {"channel": 2, "direction": "output", "streamToken": "o"}]}),
        json!({"mappings": [], "type": "invocationResult", "version": 1,
            "result": {"kind": "value", "graph": {"root": {"kind": "bool", "value": {}}},
                "value": {"kind": "bool", "value": true}}}),
        json!({"channel": 1, "cursorToken": "c", "outcome": {"kind": "ok"}, "sequence": "0", "type": "outputStreamEnd",
            "version": 1}),
    ]);
    let published = vectors("json-messages.json", |vector| text(vector, "canonical"));
    own.into_iter().chain(published).chain(malformed("text", "input")).collect()
}

/// Binary messages of both directions.
pub(crate) fn frames() -> Vec<Vec<u8>> {
    let frame = |metadata: Value, payload: &[u8]| {
        let metadata = metadata.to_string();
        let length = u32::try_from(metadata.len()).expect("metadata is short").to_be_bytes();
        [&length[..], metadata.as_bytes(), payload].concat()
    };
    let of = |kind: &str, count: &str| json!({"channel": 1, "itemCount": count, "kind": kind, "sequence": "0", "version": 1});
    let mut output = of("output-binary", "1");
    output["cursorToken"] = json!("c");
    output["mimeType"] = json!("a/b");
    let own = [frame(of("input-u8", "3"), b"abc"), frame(of("input-binary", "1"), b""), frame(output, b"abc")];
    let decoded = |vector: &Value| vector["inputHex"].as_str().and_then(|hex| hex::decode(hex).ok());
    let published = vectors("binary-messages.json", |vector| {
        let payload = hex::decode(vector["payloadHex"].as_str()?).ok()?;
        let metadata = vector["metadata"].as_str()?;
        let length = u32::try_from(metadata.len()).ok()?.to_be_bytes();
        Some([&length[..], metadata.as_bytes(), &payload].concat())
    });
    own.into_iter().chain(published).chain(vectors("malformed.json", decoded)).collect()
}

/// Graphs.
pub(crate) fn graphs() -> Vec<Vec<u8>> {
    let own = bytes([
        json!({"root": {"kind": "list", "value": {"element": {"kind": "ref", "value": {"id": "tree"}}}},
            "defs": [{"id": "tree", "name": "Tree", "body": {"kind": "record", "value": {"fields": [
                {"name": "left", "body": {"kind": "option", "value": {"inner": {"kind": "ref", "value": {"id": "tree"}}}}},
                {"name": "n", "body": {"kind": "u8", "value": {"restrictions":
                    {"min": {"kind": "unsigned", "value": 1}, "max": {"kind": "unsigned", "value": 9}, "unit": "kg"}}}}]}}}]}),
        json!({"root": {"kind": "union", "value": {"spec": {"branches": [
            {"tag": "a", "body": {"kind": "string", "value": {}},
                "discriminator": {"rule": "prefix", "value": {"prefix": "x"}}}]}}}}),
        json!({"root": {"kind": "stream", "value": {"inner": {"kind": "u8", "value": {}}}}}),
    ]);
    let published = |vector: &Value| vector.get("graph").map(|graph| graph.to_string().into_bytes());
    own.into_iter().chain(vectors("schema-values.json", published)).collect()
}

/// Values, each behind its graph and a line feed.
pub(crate) fn values() -> Vec<Vec<u8>> {
    let own = bytes([json!({"root": {"kind": "option", "value": {"inner": {"kind": "f64", "value": {}}}}})]);
    let none = own.into_iter().map(|graph| [&graph[..], br#"\n{"kind":"option","value":{"inner":null}}"#].concat());
    let behind = |member: &'static str| {
        move |vector: &Value| {
            let graph = vector.get("graph")?.to_string();
            Some([graph.as_bytes(), b"\n", vector[member].as_str()?.as_bytes()].concat())
        }
    };
    let published = vectors("schema-values.json", behind("canonical"));
    none.chain(published).chain(vectors("malformed.json", behind("input"))).collect()
}

/// Tokens that nobody here has the key of.
pub(crate) fn tokens() -> Vec<Vec<u8>> {
    let foreign = vectors("tokens.json", |vector| text(vector, "token"));
    foreign.into_iter().chain(malformed("token", "input")).chain([b"gai1_".to_vec()]).collect()
}

/// Files to go on with.
pub(crate) fn checkpoints() -> Vec<Vec<u8>> {
    let attach = json!({"attemptId": UUID, "operation": "resume", "outputCursors": [], "sessionToken": "t",
        "type": "resumeAttach", "version": 1});
    let selector = json!({"agentType": "a", "application": "b", "environment": "c", "method": "d",
        "constructorParameters": {"kind": "record", "value": {"fields": []}}});
    bytes([json!({"deliveredOutputCursors": {"s1": "c1", "s2": "c2"}, "idempotencyKey": "k", "protocolVersion": 1,
        "pendingOperation": {"request": attach}, "schemaEvidence": "ab12", "selector": selector, "sessionToken": "t",
        "version": 1})])
}
