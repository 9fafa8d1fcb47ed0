//! From files and standard input to input streams.

use anyhow::{Context as _, anyhow, bail};
use client::stream::{ClientReason, Input, WriteError};
use stream_session::limits;
use stream_session::server::Element;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, stdin};

use super::StreamForm;
use super::arguments::{Place, Source};
use super::form::{self, CHUNK_BYTES};

/// Writes what a source has to its input, from where the server is, and ends it. What the agent does not want is not written. A
/// source that fails cancels its input.
pub async fn feed(source: Source, mut input: Input, asked: Option<StreamForm>, resumed: bool) -> anyhow::Result<()> {
    // The session is over before it has begun: that is told elsewhere.
    let Some(position) = input.position().await else { return Ok(()) };
    match write(&source, &mut input, asked, (position, resumed)).await {
        Ok(()) => input.end(),
        Err(error) if error.downcast_ref() == Some(&WriteError::Closed) => {}
        Err(error) => {
            input.cancel(ClientReason::SourceUnavailable);
            return Err(error.context(source.name));
        }
    }
    Ok(())
}

async fn write(
    source: &Source,
    input: &mut Input,
    asked: Option<StreamForm>,
    (position, resumed): (u64, bool),
) -> anyhow::Result<()> {
    let element = input.element();
    let form = form::form(asked, element.lane)?;
    match &source.from {
        Place::File(path) => {
            let file = File::open(path).await.with_context(|| path.display().to_string())?;
            let mut reader = BufReader::with_capacity(CHUNK_BYTES, file);
            skip(&mut reader, &element, form, position).await.with_context(|| path.display().to_string())?;
            pass(reader, input, &element, form).await.with_context(|| path.display().to_string())
        }
        Place::Stdin => {
            if resumed {
                eprintln!(
                    "agentctl: standard input is taken as what follows the first {position} items of {}",
                    source.name
                );
            }
            pass(BufReader::with_capacity(CHUNK_BYTES, stdin()), input, &element, form).await
        }
    }
}

/// Reads over what the server has.
async fn skip(reader: &mut BufReader<File>, element: &Element, form: StreamForm, position: u64) -> anyhow::Result<()> {
    let found = match form {
        StreamForm::Value => {
            let mut lines = 0;
            while lines < position && line(reader).await?.is_some() {
                lines += 1;
            }
            lines
        }
        StreamForm::Raw => {
            let each = if element.lane == client::stream::Lane::Binary { CHUNK_BYTES as u64 } else { 1 };
            let bytes =
                tokio::io::copy(&mut reader.take(position.saturating_mul(each)), &mut tokio::io::sink()).await?;
            bytes.div_ceil(each)
        }
    };
    match found == position {
        true => Ok(()),
        false => Err(anyhow!("it has {found} items, of which the server has {position}")),
    }
}

async fn pass(
    mut reader: impl AsyncRead + AsyncBufReadExt + Unpin,
    input: &mut Input,
    element: &Element,
    form: StreamForm,
) -> anyhow::Result<()> {
    match form {
        StreamForm::Value => {
            let mut number = 0_u64;
            while let Some(line) = line(&mut reader).await? {
                number += 1;
                let item = form::item(element, &line).with_context(|| format!("line {number}"))?;
                input.write(item).await?;
            }
        }
        StreamForm::Raw => loop {
            let chunk = chunk(&mut reader, element.lane == client::stream::Lane::Binary).await?;
            if chunk.is_empty() {
                break;
            }
            input.write(form::raw(element.lane, chunk)).await?;
        },
    }
    Ok(())
}

/// A line without its end; `None` after the last.
async fn line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> anyhow::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let longest = limits::MESSAGE_BYTES as u64;
    if AsyncReadExt::take(&mut *reader, longest).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    match line.pop_if(|last| *last == b'\n') {
        Some(_) => drop(line.pop_if(|last| *last == b'\r')),
        None if line.len() as u64 == longest => bail!("a line is too long"),
        None => {}
    }
    Ok(Some(line))
}

/// Some bytes: what there is, or a whole item. Empty at the end.
async fn chunk(reader: &mut (impl AsyncRead + Unpin), whole: bool) -> anyhow::Result<Vec<u8>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut length = 0;
    while length < CHUNK_BYTES {
        let read = reader.read(&mut chunk[length..]).await?;
        length += read;
        if read == 0 || !whole {
            break;
        }
    }
    chunk.truncate(length);
    Ok(chunk)
}
