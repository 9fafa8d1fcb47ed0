//! The key is in the request header, and nowhere else.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use model::ModelConfig;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use crate::client::{complete, hello, impatient, key, provider};
use crate::server::{Reply, Server};

const KEY: &str = "sk-proj-0123456789abcdef";

#[tokio::test]
async fn the_key_goes_into_the_configured_header() {
    let cases = [
        ("Authorization", "authorization", "Bearer sk-proj-0123456789abcdef"),
        ("AUTHORIZATION", "authorization", "Bearer sk-proj-0123456789abcdef"),
        ("api-key", "api-key", KEY),
    ];
    for (configured, name, value) in cases {
        let server = Server::start([Reply::events(["[DONE]"])]).await;
        let config = ModelConfig { auth_header: configured.into(), ..server.config() };
        complete(&provider(&config, Some(key(KEY))), &hello()).await;
        assert_eq!(server.requests()[0].header(name), Some(value));
    }
}

#[tokio::test]
async fn without_a_key_there_is_no_header() {
    let server = Server::start([Reply::events(["[DONE]"])]).await;
    complete(&provider(&server.config(), None), &hello()).await;
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_is_in_no_error_no_debug_output_and_no_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let quoting = json!({"error": {"message": format!("no such key: {KEY}, or sk-proj-****cdef")}});
    let replies = [
        Reply::json(401, &quoting),
        Reply::json(503, &quoting).header("retry-after", "0"),
        Reply::json(200, &quoting),
        Reply::events([&quoting.to_string()[..]]),
        Reply::events([r#"{"choices":[{"delta":{"content":"hi"}}],"usage":{"prompt_tokens":41}}"#, "[DONE]"]),
    ];
    let server = Server::start(replies).await;
    let provider = provider(&impatient(server.config()), Some(key(KEY)));
    let mut seen = format!("{provider:?}");
    for _ in 0..4 {
        seen += &format!("{:?}\n", complete(&provider, &hello()).await.result);
    }
    assert_eq!(server.requests().len(), 5);
    seen += &String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(seen.contains("no such key: [redacted]"), "{seen}");
    assert!(seen.contains("input_tokens=41"), "{seen}");
    for secret in [KEY, "0123456789", "cdef"] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
}
