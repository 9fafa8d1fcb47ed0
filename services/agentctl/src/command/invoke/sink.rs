//! Where output streams go.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use client::stream::{Item, Lane, plain};
use stream_session::server::Element;

use super::StreamForm;
use super::form;

/// The files that the command line names, by the names of streams.
pub struct Targets {
    files: BTreeMap<String, PathBuf>,
    opened: RefCell<BTreeSet<String>>,
    resumed: bool,
}

/// A file that an output goes to. Its items are in it once and in order, whatever an earlier process has left in it, as far as
/// their places in it can be told: not those of raw binary items.
pub struct FileSink {
    path: PathBuf,
    file: File,
    element: Element,
    form: StreamForm,
    /// The next item goes behind the one before it.
    placed: bool,
}

impl Targets {
    pub fn parse(given: &[String], resumed: bool) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in given {
            let Some((name, path)) = entry.split_once('=') else {
                bail!("--to: {entry:?} is not of the form NAME=FILE")
            };
            if files.insert(name.to_owned(), PathBuf::from(path)).is_some() {
                bail!("--to: {name} is given twice");
            }
        }
        Ok(Self { files, opened: RefCell::default(), resumed })
    }

    /// Whether the files can be written. They are made here, as a shell makes those that it sends output to. A pipe would wait
    /// for its other end to be opened.
    pub fn check(&self) -> anyhow::Result<()> {
        for path in self.files.values() {
            let is_pipe = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
            if !is_pipe {
                OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path)
                    .with_context(|| path.display().to_string())?;
            }
        }
        Ok(())
    }

    /// Names that no stream had.
    pub fn unused(&self) -> Vec<&str> {
        let opened = self.opened.borrow();
        self.files.keys().map(String::as_str).filter(|name| !opened.contains(*name)).collect()
    }

    /// The file of a stream; `None`: it goes to standard output.
    pub fn open(&self, name: &str, element: &Element, asked: Option<StreamForm>) -> anyhow::Result<Option<FileSink>> {
        let Some(path) = self.files.get(name) else { return Ok(None) };
        self.opened.borrow_mut().insert(name.to_owned());
        let form = form::form(asked, element.lane)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(!self.resumed);
        let file = options.open(path).with_context(|| path.display().to_string())?;
        Ok(Some(FileSink { path: path.clone(), file, element: element.clone(), form, placed: !self.resumed }))
    }
}

impl FileSink {
    /// Writes an item, so that it stays when this process dies.
    pub fn write(&mut self, sequence: u64, item: &Item, name: &mut plain::Namer<'_>) -> anyhow::Result<()> {
        let path = self.path.display().to_string();
        if !std::mem::replace(&mut self.placed, true) {
            self.place(sequence).with_context(|| path.clone())?;
        }
        let written = match (self.form, item) {
            (StreamForm::Raw, Item::Binary(items)) => self.file.write_all(items.payload()),
            _ => {
                let lines = form::values(&self.element, item, name).into_iter().map(|value| value + "\n");
                self.file.write_all(lines.collect::<String>().as_bytes())
            }
        };
        written.context(path)
    }

    /// Goes to where the item of this sequence belongs, and drops what is behind: it comes again.
    fn place(&mut self, sequence: u64) -> anyhow::Result<()> {
        let end = match (self.form, self.element.lane) {
            (StreamForm::Value, _) => self.lines(sequence)?,
            (StreamForm::Raw, Lane::PackedU8) => Some(sequence).filter(|&end| end <= self.length()),
            (StreamForm::Raw, Lane::Binary | Lane::Json) => Some(self.length()),
        };
        let Some(end) = end else { bail!("it lacks some of the {sequence} items that were received before") };
        self.file.set_len(end)?;
        self.file.seek(SeekFrom::Start(end))?;
        Ok(())
    }

    fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Where so many lines end.
    fn lines(&mut self, count: u64) -> anyhow::Result<Option<u64>> {
        self.file.rewind()?;
        let mut reader = BufReader::new(&self.file);
        let (mut end, mut line) = (0, Vec::new());
        for _ in 0..count {
            line.clear();
            end += reader.read_until(b'\n', &mut line)? as u64;
            if line.last() != Some(&b'\n') {
                return Ok(None);
            }
        }
        Ok(Some(end))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use client::stream::{BinaryItems, Graph, Value};
    use stream_session::json::Json;

    use super::*;

    fn element(of: &str) -> Element {
        let text = format!(r#"{{"root":{{"kind":"{of}","value":{{}}}}}}"#);
        let graph = Arc::new(Graph::read(&Json::parse(text.as_bytes()).unwrap()).unwrap());
        Element::new(Arc::clone(&graph), graph.root().clone())
    }

    /// What is in a file with `before` in it after an item was written to it on resume.
    fn resumed(of: &str, before: &str, sequence: u64, item: &Item) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::write(&path, before).unwrap();
        let targets = Targets::parse(&[format!("result={}", path.display())], true).unwrap();
        let mut sink = targets.open("result", &element(of), None).unwrap().unwrap();
        let written = sink.write(sequence, item, &mut |_, _| String::new());
        written.ok().map(|()| fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn what_comes_again_is_in_the_file_once() {
        let bytes = Item::Binary(BinaryItems::Packed(b"def".to_vec().into()));
        assert_eq!(resumed("u8", "abcde", 3, &bytes).as_deref(), Some("abcdef"));
        assert_eq!(resumed("u8", "ab", 3, &bytes), None, "it was not the file of this session");
        let text = Item::Value(Value::String("two".into()));
        assert_eq!(resumed("string", "\"one\"\n\"tw", 1, &text).as_deref(), Some("\"one\"\n\"two\"\n"));
        assert_eq!(resumed("string", "\"one\"", 1, &text), None);
    }
}
