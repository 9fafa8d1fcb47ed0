//! Turns bytes into others.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sdk::schema::{self, record, stream};
use sdk::{Agent, Bytes, Call, Failure, Input, Method, Outlet};

/// Bytes that base64 takes at once.
const GROUP: usize = 3;

pub(super) fn agent() -> Agent {
    let data = record([("data", stream(schema::u8()))]);
    Agent::new("transcoder")
        .described("Turns bytes into base64.")
        .method(Method::new("encode", data, encode).returns(stream(schema::u8())))
}

/// The same bytes come out however those that come in are divided.
async fn encode(mut call: Call) -> Result<Outlet<Bytes>, Failure> {
    let mut data: Input<Bytes> = call.parameter("data")?;
    let (outlet, mut output) = call.output();
    call.beside(async move {
        let mut waiting = Vec::new();
        while let Some(bytes) = data.next().await {
            waiting.extend_from_slice(&bytes?);
            let whole = waiting.len() - waiting.len() % GROUP;
            output.send(BASE64_STANDARD.encode(&waiting[..whole]).into()).await?;
            waiting.drain(..whole);
        }
        output.send(BASE64_STANDARD.encode(waiting).into()).await?;
        output.end();
        Ok(())
    });
    Ok(outlet)
}
