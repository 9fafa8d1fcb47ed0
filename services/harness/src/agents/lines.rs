//! Reads lines, and returns what it found.

use sdk::schema::{self, record, stream};
use sdk::{Agent, Bytes, Call, Failure, Input, Method, Record};

pub(super) fn agent() -> Agent {
    let counted = record([("lines", schema::u64()), ("bytes", schema::u64())]);
    let strings = || record([("lines", stream(schema::string()))]);
    Agent::new("lines")
        .described("Counts lines.")
        .method(Method::new("count", record([("text", stream(schema::u8()))]), count).returns(counted))
        .method(Method::new("count-strings", strings(), count_strings).returns(schema::u64()))
        .method(Method::new("first", strings(), first).returns(schema::option(schema::string())))
}

async fn count(mut call: Call) -> Result<Record<(u64, u64)>, Failure> {
    let mut text: Input<Bytes> = call.parameter("text")?;
    let (mut lines, mut bytes) = (0, 0);
    while let Some(some) = text.next().await {
        let some = some?;
        lines += u64::try_from(some.iter().filter(|&&byte| byte == b'\n').count())?;
        bytes += u64::try_from(some.len())?;
    }
    Ok(Record((lines, bytes)))
}

async fn count_strings(mut call: Call) -> Result<u64, Failure> {
    let mut lines: Input<String> = call.parameter("lines")?;
    let mut count = 0;
    while let Some(line) = lines.next().await {
        line?;
        count += 1;
    }
    Ok(count)
}

/// Drops the rest of the stream as it returns.
async fn first(mut call: Call) -> Result<Option<String>, Failure> {
    let mut lines: Input<String> = call.parameter("lines")?;
    Ok(lines.next().await.transpose()?)
}
