//! Streams of streams.

use futures::TryStreamExt;
use sdk::schema::{self, record, stream};
use sdk::{Agent, Call, Cancelled, Failure, Input, Method, Outlet, Output, Record};

pub(super) fn agent() -> Agent {
    let line = record([("line", schema::string()), ("parts", stream(schema::string()))]);
    let split = Method::new("split", record([("lines", stream(schema::string()))]), split).returns(stream(line));
    let parts = record([("parts", stream(stream(schema::string())))]);
    let join = Method::new("join", parts, join).returns(stream(schema::string()));
    Agent::new("fan-out")
        .described("Splits lines into streams of their parts, and joins such streams.")
        .constructor(record([("separator", schema::string())]))
        .method(split)
        .method(join)
}

/// A line, and the stream of its parts.
type Split = Record<(String, Outlet<String>)>;

async fn split(mut call: Call) -> Result<Outlet<Split>, Failure> {
    let separator: String = call.constructor("separator")?;
    let mut lines: Input<String> = call.parameter("lines")?;
    let (outlet, mut output) = call.output();
    let streams = call.streams().clone();
    call.beside(async move {
        while let Some(line) = lines.next().await {
            let line = line?;
            let (parts, writer) = streams.output();
            streams.beside(write_parts(line.clone(), separator.clone(), writer));
            output.send(Record((line, parts))).await?;
        }
        output.end();
        Ok(())
    });
    Ok(outlet)
}

async fn write_parts(line: String, separator: String, mut output: Output<String>) -> Result<(), Cancelled> {
    for part in line.split(&separator) {
        output.send(part.to_owned()).await?;
    }
    output.end();
    Ok(())
}

async fn join(mut call: Call) -> Result<Outlet<String>, Failure> {
    let separator: String = call.constructor("separator")?;
    let mut lines: Input<Input<String>> = call.parameter("parts")?;
    let (outlet, mut output) = call.output();
    call.beside(async move {
        while let Some(parts) = lines.next().await {
            let parts: Vec<_> = parts?.try_collect().await?;
            output.send(parts.join(&separator)).await?;
        }
        output.end();
        Ok(())
    });
    Ok(outlet)
}
