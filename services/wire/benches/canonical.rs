//! What a record costs: its canonical form and hash beside a bare SHA-256 of the same bytes, and verification from both
//! encodings. Run with `cargo bench -p agentsessions-wire`; records per second and core are the "items" of each line.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use prost::Message as _;
use sha2::{Digest, Sha256};
use wire::canonical::Canonical;
use wire::event::Body;
use wire::verify::Verifier;
use wire::{ContentHash, Event, EventKind, Hasher, LogRecord, Message, ToolResult, protobuf};

fn main() {
    divan::main();
}

/// Events of about one kilobyte, of the kinds that make up most of a log.
#[derive(Clone, Copy, Debug)]
enum Sample {
    /// One long text.
    Text,
    /// Text with quotation marks and line breaks, as code and JSON in strings have them.
    Escapes,
    /// A tool result of short strings and numbers.
    Struct,
}

const SAMPLES: [Sample; 3] = [Sample::Text, Sample::Escapes, Sample::Struct];

impl Sample {
    fn event(self) -> Event {
        let text = |text: &str| Body::Message(Message::text("assistant", text));
        let (kind, body) = match self {
            Self::Text => (EventKind::EventOutput, text(&"The quick brown fox jumps over it. ".repeat(26))),
            Self::Escapes => (EventKind::EventOutput, text(&"let x = \"quoted\";\n\tcall(x);\n".repeat(26))),
            Self::Struct => (EventKind::EventToolResult, Body::Result(tool_result())),
        };
        Event::new(kind, body).of_execution("0123456789abcdef")
    }
}

fn tool_result() -> ToolResult {
    let rows: Vec<_> = (0..14)
        .map(|row| format!(r#"{{"id":{row},"name":"row number {row}","ratio":{}.25,"ok":true}}"#, row * 3))
        .collect();
    let output: protobuf::Struct =
        serde_json::from_str(&format!(r#"{{"rows":[{}]}}"#, rows.join(","))).expect("the literal above is JSON");
    ToolResult { id: "call-1".into(), output: Some(output), ..Default::default() }
}

fn prev() -> ContentHash {
    ContentHash::from_bytes([7; 32])
}

/// The text that is hashed, near enough.
fn hashed_text(event: &Event) -> String {
    let event = event.canonical_json().expect("the samples are canonical");
    format!(r#"{{"event":{event},"prev_hash":"{}","seq":"4711"}}"#, prev())
}

fn record(event: Event) -> LogRecord {
    let content_hash = wire::content_hash(&event, 1, None).expect("the samples are canonical");
    LogRecord { seq: 1, content_hash: content_hash.hex(), fence: 1, event: Some(event), ..Default::default() }
}

#[divan::bench(args = SAMPLES)]
fn a_bare_sha256(bencher: Bencher, sample: Sample) {
    let text = hashed_text(&sample.event());
    bencher.counter(BytesCount::of_str(&text)).bench(|| Sha256::digest(black_box(&text)));
}

#[divan::bench(args = SAMPLES)]
fn b_canonical_form_and_hash(bencher: Bencher, sample: Sample) {
    let event = sample.event();
    let (mut hasher, prev) = (Hasher::default(), prev());
    bencher
        .counter(BytesCount::of_str(&hashed_text(&event)))
        .bench_local(|| hasher.content_hash(black_box(&event), 4711, Some(&prev)));
}

#[divan::bench(args = SAMPLES)]
fn c_decode_protobuf_and_verify(bencher: Bencher, sample: Sample) {
    let bytes = record(sample.event()).encode_to_vec();
    bencher.counter(ItemsCount::new(1_u32)).bench(|| {
        let record = LogRecord::decode(black_box(bytes.as_slice())).expect("it was encoded above");
        Verifier::new().check(&record)
    });
}

#[divan::bench(args = SAMPLES)]
fn d_decode_json_and_verify(bencher: Bencher, sample: Sample) {
    let text = serde_json::to_string(&record(sample.event())).expect("the samples are canonical");
    bencher.counter(ItemsCount::new(1_u32)).bench(|| {
        let record: LogRecord = serde_json::from_str(black_box(&text)).expect("it was encoded above");
        Verifier::new().check(&record)
    });
}

/// The same as `b`, by `serde_jcs`: why our own writer stands here (docs/decisions/0001-canonical-writer.md).
#[divan::bench(args = SAMPLES)]
fn e_serde_jcs_and_hash(bencher: Bencher, sample: Sample) {
    let event = sample.event();
    bencher.bench(|| serde_jcs::to_vec(black_box(&event)).map(Sha256::digest));
}
