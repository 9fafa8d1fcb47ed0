//! `agentctl invoke`

mod arguments;
mod conversation;
mod feed;
mod form;
mod sink;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use client::Client;
use client::stream::{
    Call, Checkpoint, CheckpointFile, Credential, Endpoints, Invoker, Method, Operation, Session, Trust,
};
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::cli::Common;
use crate::output::Output;
use arguments::{Arguments, Source};
use conversation::Conversation;

/// Invokes a method of an agent; its input streams come from files or standard input, its output streams go to files or
/// standard output
///
/// Exit codes: 0 success, 1 failure of the invocation, of one of its streams or of the connection, 2 wrong usage, 130
/// interrupted. What a session goes on with after this process is in the file of --save-session.
#[derive(Args, Debug)]
pub struct Invoke {
    /// Name of the agent type
    agent: String,

    /// Name of the method
    method: String,

    /// Parameters of the method: NAME=JSON, or NAME=@FILE for JSON from a file. A stream is fed from a file by NAME=@FILE, and
    /// one of them from standard input by NAME=-
    #[arg(value_name = "NAME=VALUE")]
    arguments: Vec<String>,

    /// Parameters of the agent itself, written as those of the method. Agents with other parameters are other agents
    #[arg(long, value_name = "NAME=VALUE")]
    constructor: Vec<String>,

    /// Tells agents of equal parameters apart
    #[arg(long, value_name = "UUID")]
    phantom: Option<Uuid>,

    /// Application of the agent
    #[arg(long, default_value = "default")]
    application: String,

    /// Environment of the agent
    #[arg(long, default_value = "default")]
    environment: String,

    /// Settings for the agent: names separated by dots, and JSON
    #[arg(long, value_name = "PATH=JSON")]
    config: Vec<String>,

    /// Names the invocation: with the same key it is made once. A random one if not given; that of the file if a session is
    /// resumed
    #[arg(short, long, value_name = "KEY")]
    idempotency_key: Option<String>,

    /// Addresses of nodes' stream sessions, separated by commas: host:port, ws://host:port or wss://host. The session goes on
    /// at the next one when one is lost
    #[arg(long, value_name = "ADDRESS", env = "AGENTSESSIONS_STREAMS", hide_env_values = true)]
    streams: Endpoints,

    /// File with the bearer token. Without it the token is taken from the environment variable AGENTSESSIONS_TOKEN; it is never
    /// on the command line, where others can see it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// File with certificates in PEM: the authorities to trust for wss addresses, instead of the system's
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Form of all input streams. Without it bytes (u8) are raw, and everything else has one JSON value on each line
    #[arg(long, value_name = "FORM", value_enum)]
    stdin_format: Option<StreamForm>,

    /// Form of output streams, as of input streams. Raw is for a method that returns a stream of bytes or binary items
    #[arg(long, value_name = "FORM", value_enum)]
    stdout_format: Option<StreamForm>,

    /// Where an output stream goes instead of standard output: its place in the result, such as parts or 0.lines, or `result` if
    /// the result is the stream
    #[arg(long, value_name = "NAME=FILE")]
    to: Vec<String>,

    #[command(flatten)]
    checkpoint: CheckpointFlags,
}

#[derive(Args, Debug)]
#[group(multiple = false)]
struct CheckpointFlags {
    /// File that keeps what a later process needs to go on with the session, should this one die. It must not exist
    #[arg(long, visible_alias = "save", value_name = "FILE")]
    save_session: Option<PathBuf>,

    /// Goes on with the session of this file, and keeps it up to date. The rest of the command line is repeated
    #[arg(long, visible_alias = "resume", value_name = "FILE")]
    resume_session: Option<PathBuf>,

    /// The same, but takes the session away from a process that still has it
    #[arg(long, visible_alias = "takeover", value_name = "FILE")]
    takeover_session: Option<PathBuf>,
}

/// How the items of a stream look in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StreamForm {
    /// A JSON value on each line
    Value,
    /// Bytes as they are
    Raw,
}

/// Where the bearer token is, if no file is given.
const TOKEN_VARIABLE: &str = "AGENTSESSIONS_TOKEN";

impl Invoke {
    pub fn run(self, common: &Common) -> anyhow::Result<()> {
        let runtime = Runtime::new()?;
        let done = runtime.block_on(self.invoke(common));
        // A read of standard input that nobody waits for any more is not waited for.
        runtime.shutdown_background();
        done
    }

    async fn invoke(self, common: &Common) -> anyhow::Result<()> {
        let Some(nodes) = common.nodes()? else {
            bail!("the schemas of the agent are read from a node: give --server")
        };
        let described = Client::connect(&nodes).await?.describe_agent(&self.agent).await?;
        let method = Method::of(&described, &self.method)?;
        let invoker = self.invoker()?;
        let left = self.checkpoint.read()?;
        let (call, sources) = self.call(method, &invoker, left.as_ref().map(|(left, _)| left))?;
        let resumed = left.is_some();
        let targets = sink::Targets::parse(&self.to, resumed)?;
        sources.iter().try_for_each(Source::check)?;
        targets.check()?;
        let session = self.begin(&invoker, &call, left)?;
        let output = Output::stdout(common.output);
        let conversation = Conversation::new(output, targets, self.stdout_format, self.stdin_format, resumed);
        conversation.hold(session, sources).await
    }

    fn invoker(&self) -> anyhow::Result<Invoker> {
        let token = match &self.token_file {
            Some(path) => fs::read_to_string(path).with_context(|| path.display().to_string())?,
            None => match std::env::var(TOKEN_VARIABLE) {
                Ok(token) => token,
                Err(_) => bail!("a bearer token is needed: give --token-file, or {TOKEN_VARIABLE} in the environment"),
            },
        };
        let credential = Credential::bearer(token.trim()).context("the bearer token cannot be sent")?;
        let invoker = Invoker::new(self.streams.clone(), credential);
        Ok(match (&self.ca_file, self.streams.need_tls()) {
            (Some(path), _) => invoker.trusting(Trust::file(path)?),
            (None, true) => invoker.trusting(Trust::system()?),
            (None, false) => invoker,
        })
    }

    fn call(
        &self,
        method: Method,
        invoker: &Invoker,
        left: Option<&Checkpoint>,
    ) -> anyhow::Result<(Call, Vec<Source>)> {
        let constructor = Arguments::read(&method.constructor, &self.constructor, invoker).context("--constructor")?;
        if let Some(Source { name, .. }) = constructor.sources.first() {
            bail!("--constructor: {name} is a stream, which an agent cannot be made from");
        }
        let Arguments { parameters, sources } = Arguments::read(&method.parameters, &self.arguments, invoker)?;
        let idempotency_key = match (&self.idempotency_key, left) {
            (Some(key), _) => key.clone(),
            (None, Some(left)) => left.idempotency_key.clone(),
            (None, None) => invoker.reference().to_string(),
        };
        let call = Call {
            application: self.application.clone(),
            environment: self.environment.clone(),
            method,
            constructor_parameters: constructor.parameters,
            phantom: self.phantom,
            method_parameters: parameters,
            configuration: self.config.iter().map(|entry| arguments::setting(entry)).collect::<Result<_, _>>()?,
            idempotency_key,
        };
        Ok((call, sources))
    }

    fn begin(&self, invoker: &Invoker, call: &Call, left: Option<(Checkpoint, Operation)>) -> anyhow::Result<Session> {
        let path = self.checkpoint.path();
        let file = path.map(|path| CheckpointFile::new(path, call));
        Ok(match left {
            Some((left, operation)) => invoker.resume(call, &left, operation, file)?,
            None => {
                if let Some(path) = path.filter(|path| path.exists()) {
                    bail!("{} exists: it may be the only key to a running session", path.display());
                }
                invoker.start(call, file)?
            }
        })
    }
}

impl CheckpointFlags {
    fn path(&self) -> Option<&Path> {
        let Self { save_session, resume_session, takeover_session } = self;
        [save_session, resume_session, takeover_session].into_iter().flatten().next().map(PathBuf::as_path)
    }

    /// What an earlier process has left, and how to go on with it.
    fn read(&self) -> anyhow::Result<Option<(Checkpoint, Operation)>> {
        let (path, operation) = match (&self.resume_session, &self.takeover_session) {
            (Some(path), _) => (path, Operation::Resume),
            (None, Some(path)) => (path, Operation::Takeover),
            (None, None) => return Ok(None),
        };
        let left = CheckpointFile::read(path).with_context(|| path.display().to_string())?;
        Ok(Some((left, operation)))
    }
}
