//! An agent that takes lines and gives back their words, each with its length. docs/agents.md walks through it.

use sdk::schema::{record, stream, string, u32};
use sdk::{Agent, Agents, Call, Failure, Input, Method, Outlet, Record};

fn agent() -> Agent {
    let parameters = record([("lines", stream(string())), ("shortest", u32())]);
    let word = record([("word", string()), ("length", u32())]);
    let method = Method::new("split", parameters, split).returns(stream(word));
    Agent::new("words").constructor(record([("separator", string())])).method(method)
}

async fn split(mut call: Call) -> Result<Outlet<Record<(String, u32)>>, Failure> {
    let separator: String = call.constructor("separator")?;
    let shortest: u32 = call.parameter("shortest")?;
    let mut lines: Input<String> = call.parameter("lines")?;
    let (outlet, mut words) = call.output();
    call.beside(async move {
        while let Some(line) = lines.next().await {
            for word in line?.split(&separator) {
                let length = u32::try_from(word.chars().count()).unwrap_or(u32::MAX);
                if length >= shortest {
                    words.send(Record((word.to_owned(), length))).await?;
                }
            }
        }
        words.end();
        Ok(())
    });
    Ok(outlet)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".into());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("serving words on {}", listener.local_addr()?);
    let interrupted = async {
        // Without a signal handler the process ends at once, which a harness can stand.
        let _ = tokio::signal::ctrl_c().await;
    };
    sdk::serve(Agents::new("words", "1", [agent()])?, listener, interrupted).await?;
    Ok(())
}
