//! Reading an answer that has begun.

use std::time::Duration;

use bytes::Bytes;
use controller::ports::DeltaSink;
use egress::root_cause;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::timeout;

use super::draft::Draft;
use super::error::CallError;
use super::sse::Decoder;

/// Longest line of a stream, and longest data of one event.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// Longest answer that is not streamed, and longest message out of a stream.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// The data of the last event.
const DONE: &[u8] = b"[DONE]";

/// How long the end of a stream may follow its last event. Within it the connection serves the next request; after it
/// the connection is closed. Short, since the caller waits for it.
const LINGER: Duration = Duration::from_millis(5);

/// An answer that the provider has begun to give.
pub(super) struct Answer {
    body: Body,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Stream,
    Whole,
}

impl Answer {
    pub(super) fn new(response: Response, idle_timeout: Duration) -> Result<Self, CallError> {
        let form = Form::of(&response)?;
        Ok(Self { body: Body::new(response, idle_timeout), form })
    }

    /// Whether text arrives before the answer is complete.
    pub(super) fn is_streamed(&self) -> bool {
        self.form == Form::Stream
    }

    /// Reads to the end; text goes to `deltas` as it arrives if the answer is streamed.
    pub(super) async fn read(mut self, deltas: &mut dyn DeltaSink) -> Result<Draft, CallError> {
        match self.form {
            Form::Stream => {
                let draft = self.body.read_stream(deltas).await?;
                self.body.linger().await;
                Ok(draft)
            }
            Form::Whole => {
                let mut draft = Draft::new(MAX_ANSWER_BYTES);
                draft.add(&self.body.read_to_end(MAX_ANSWER_BYTES).await?)?;
                Ok(draft)
            }
        }
    }
}

impl Form {
    /// A provider that names no type was asked for a stream, so that is what it sends.
    fn of(response: &Response) -> Result<Self, CallError> {
        let Some(value) = response.headers().get(CONTENT_TYPE) else { return Ok(Self::Stream) };
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        match text.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => Ok(Self::Stream),
            "application/json" => Ok(Self::Whole),
            _ => Err(CallError::ContentType),
        }
    }
}

/// The body of an answer, each wait for a piece of it bounded.
pub(super) struct Body {
    response: Response,
    idle_timeout: Duration,
}

impl Body {
    pub(super) fn new(response: Response, idle_timeout: Duration) -> Self {
        Self { response, idle_timeout }
    }

    /// The whole body, if it is at most `limit` bytes long.
    pub(super) async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, CallError> {
        let mut body = Vec::new();
        while let Some(piece) = self.next().await? {
            if body.len() + piece.len() > limit {
                return Err(CallError::TooLong(limit));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    async fn read_stream(&mut self, deltas: &mut dyn DeltaSink) -> Result<Draft, CallError> {
        let mut decoder = Decoder::new(MAX_LINE_BYTES);
        let mut draft = Draft::new(MAX_ANSWER_BYTES);
        while let Some(piece) = self.next().await? {
            let mut input = &piece[..];
            while let Some(data) = decoder.decode(&mut input)? {
                if is_done(&data) {
                    return Ok(draft);
                }
                if let Some(text) = draft.add(&data)? {
                    deltas.text(text).await;
                }
            }
        }
        // The last event may lack the empty line that completes it.
        match decoder.finish()? {
            Some(data) if is_done(&data) => Ok(draft),
            _ => Err(CallError::Unfinished),
        }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        match timeout(self.idle_timeout, self.response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(CallError::Broken(root_cause(&error))),
            Err(_) => Err(CallError::Silent(self.idle_timeout)),
        }
    }

    /// Reads what is left of a stream whose last event has come.
    async fn linger(&mut self) {
        let end = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        // Late or broken: the message is complete all the same.
        let _ = timeout(LINGER, end).await;
    }
}

fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == DONE
}
