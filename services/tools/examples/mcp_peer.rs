//! An MCP server on standard input and output, for the tests of this crate: each of its tools does one thing that a
//! server may do.

use std::io::{self, BufRead, Write};
use std::process;

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        // Notifications want no answer.
        let Some(id) = message.get("id") else { continue };
        if let Some((member, value)) = answer(&message) {
            let reply = json!({"jsonrpc": "2.0", "id": id, member: value});
            writeln!(output, "{reply}")?;
        }
    }
    Ok(())
}

/// `result` or `error`, and its value; nothing: the call stays unanswered.
fn answer(message: &Value) -> Option<(&'static str, Value)> {
    let params = &message["params"];
    match message["method"].as_str()? {
        "initialize" => {
            let info = json!({"name": "peer", "version": "1"});
            let version = &params["protocolVersion"];
            let ready = json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info});
            Some(("result", ready))
        }
        "tools/call" => run(params),
        _ => Some(("error", json!({"code": -32601, "message": "no such method"}))),
    }
}

fn run(params: &Value) -> Option<(&'static str, Value)> {
    let structured = |output: Value| Some(("result", json!({"content": [], "structuredContent": output})));
    let text = |text: &str, is_error: bool| {
        Some(("result", json!({"content": [{"type": "text", "text": text}], "isError": is_error})))
    };
    match params["name"].as_str()? {
        "echo" => structured(json!({"arguments": params["arguments"], "meta": params["_meta"]})),
        "environment" => structured(json!(std::env::vars().collect::<std::collections::BTreeMap<_, _>>())),
        "pid" => structured(json!(process::id())),
        "fail" => text("there is no such city", true),
        "flood" => text(&"x".repeat(1 << 20), false),
        "refuse" => Some(("error", json!({"code": -32602, "message": params["arguments"].to_string()}))),
        "exit" => process::exit(1),
        "block" => loop {
            std::thread::park();
        },
        _ => None,
    }
}
