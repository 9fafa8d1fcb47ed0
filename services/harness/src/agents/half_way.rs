//! Does half of what it should.

use sdk::schema::{self, Type, record, stream};
use sdk::{Agent, Call, Failure, Input, Method, Outlet, Output, Streams};

const TEXT: &str = "failed half-way, as asked";

pub(super) fn agent() -> Agent {
    let method = |method: Method| method.returns(stream(schema::string()));
    Agent::new("half-way")
        .described("Passes some lines on, and then fails.")
        .method(method(Method::new("fail", parameters(), |call| {
            pass(call, |streams, _| streams.fail(Failure::new(TEXT)))
        })))
        .method(method(Method::new("break", parameters(), |call| pass(call, |_, output| output.fail(TEXT)))))
}

fn parameters() -> Type {
    record([("lines", stream(schema::string())), ("after", schema::u64())])
}

/// Passes as many lines on as it is told to, if there are as many, and then stops.
async fn pass(mut call: Call, stop: fn(&Streams, Output<String>)) -> Result<Outlet<String>, Failure> {
    let mut lines: Input<String> = call.parameter("lines")?;
    let after: u64 = call.parameter("after")?;
    let (outlet, mut output) = call.output();
    let streams = call.streams().clone();
    call.beside(async move {
        for _ in 0..after {
            let Some(line) = lines.next().await else {
                output.end();
                return Ok(());
            };
            output.send(line?).await?;
        }
        stop(&streams, output);
        Ok(())
    });
    Ok(outlet)
}
