use super::*;
use crate::config::{ByteSize, Period};

fn parsed(args: &[&str]) -> Result<Invocation, CliError> {
    parse(["agentsessionsd"].iter().chain(args).map(OsString::from))
}

fn config(args: &[&str]) -> Config {
    match parsed(args).unwrap() {
        Invocation::Serve(config) => *config,
        other => panic!("{other:?}"),
    }
}

fn problems(args: &[&str]) -> Vec<String> {
    match parsed(args).unwrap_err() {
        CliError::Problems(problems) => problems.0.iter().map(ToString::to_string).collect(),
        other => panic!("{other}"),
    }
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn the_command_is_well_formed() {
    command().debug_assert();
}

#[test]
fn nothing_given_is_the_default_configuration() {
    assert_eq!(config(&[]), Config::default());
}

#[test]
fn one_dash_is_as_good_as_two() {
    let expected = config(&["--addr", "127.0.0.1:1", "--model-base-url=http://x"]);
    assert_eq!(config(&["-addr", "127.0.0.1:1", "-model-base-url=http://x"]), expected);
    assert_eq!(expected.addr.to_string(), "127.0.0.1:1");
    assert!(matches!(parsed(&["-version"]).unwrap(), Invocation::Print(_)));
}

#[test]
fn of_a_flag_given_twice_the_last_one_counts() {
    assert_eq!(config(&["--project", "a", "-project", "b"]).project, "b");
}

#[test]
fn every_key_has_a_flag() {
    let everything = Config { ready_file: Some("ready".into()), ..Config::default() };
    let table: toml::Table = toml::from_str(&toml::to_string(&everything).unwrap()).unwrap();
    let command = command();
    let ids: Vec<_> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
    for (key, value) in table {
        match value {
            toml::Value::Table(section) => {
                section.keys().for_each(|inner| assert!(ids.contains(&&*format!("{key}.{inner}")), "{key}.{inner}"));
            }
            _ => assert!(ids.contains(&&*key), "{key}"),
        }
    }
}

#[test]
fn powers_are_off_unless_a_flag_or_the_file_grants_them() {
    let granted = |args: &[&str]| config(args).powers.cancel.is_on();
    let file = file("[powers]\ncancel = true\ndelete_session = true\n");
    let path = file.path().to_str().unwrap();
    assert!(!granted(&[]));
    assert!(granted(&["--enable-cancel", "--project", "p"]));
    assert!(granted(&["--enable-cancel=true"]));
    assert!(granted(&["--config", path]));
    assert!(config(&["--config", path]).powers.delete_session.is_on());
    assert!(!config(&["--enable-cancel"]).powers.delete_session.is_on());
    assert!(config(&["--enable-delete-session"]).powers.delete_session.is_on());
    assert!(!granted(&["--config", path, "--enable-cancel=false"]));
    let found = problems(&["--enable-cancel=perhaps"]);
    assert_eq!(found, ["--enable-cancel: \"perhaps\" is neither true nor false"]);
}

#[test]
fn a_flag_wins_over_the_file() {
    let file = file("project = 'file'\n[limits]\nmax_calls = 7\n");
    let path = file.path().to_str().unwrap();
    let config = config(&["--config", path, "--project", "flag"]);
    assert_eq!(config.project, "flag");
    assert_eq!(config.limits.max_calls.get(), 7);
}

#[test]
fn harnesses_are_repeated_flags_or_a_list_in_the_file() {
    let flags = config(&["--model", "m", "--harness", "a=h:1", "--harness", "b=h:2"]);
    let file = file("harness = ['a=h:1', 'b=h:2']\nmodel.name = 'm'\n");
    assert_eq!(config(&["--config", file.path().to_str().unwrap()]), flags);
    assert_eq!(flags.harness.len(), 2);
}

#[test]
fn all_problems_are_reported_at_once_with_their_origins() {
    let file = file("projct = 'x'\ndrain_timeout = 10\n[limits]\nmax_calls = 0\ncalls = 1\n");
    let path = file.path().to_str().unwrap();
    let found = problems(&["--config", path, "--addr", "nowhere", "--log-filter", "a=b=c", "--harness", "echo=h:1"]);
    let expected = [
        &format!("{path}: projct: no such key; known here are addr, "),
        &format!("{path}: drain_timeout: \"10\" is not a length of time"),
        &format!("{path}: limits.max_calls: \"0\" is not a whole number"),
        &format!("{path}: limits.calls: no such key"),
        "--addr: \"nowhere\" has no port",
        "--log-filter: \"a=b=c\" is not a log filter",
        "harness: harness echo needs a model",
        "harness: harness echo is built in",
    ];
    for text in expected {
        assert!(found.iter().any(|problem| problem.starts_with(text)), "{text} not in {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn a_harness_given_twice_is_a_problem() {
    let found = problems(&["--model", "m", "--harness", "a=h:1", "--harness", "a=h:2"]);
    assert_eq!(found, ["harness: harness a is configured twice"]);
}

#[test]
fn what_the_provider_and_the_listener_refuse_is_a_problem() {
    let found = problems(&[
        "--model",
        "m",
        "--model-base-url",
        "ftp://x",
        "--keepalive-interval",
        "0s",
        "--turn-idle-timeout",
        "0s",
    ]);
    assert!(found[0].starts_with("model: base_url"), "{found:?}");
    let zero = |key| format!("{key}: must be longer than zero");
    assert_eq!(found[1..], ["keepalive.interval", "limits.turn_idle_timeout"].map(zero));
}

#[test]
fn listeners_that_share_an_address_are_a_problem() {
    let shared = |first, second| format!("{second}: has the address of {first}: every listener needs one of its own");
    let development = ["--streams-development", "--streams-addr"];
    for (args, expected) in [
        (&["--metrics-addr", "8080"][..], shared("addr", "telemetry.metrics_addr")),
        (&["--addr", "[::]:9000", "--metrics-addr", "9000"], shared("addr", "telemetry.metrics_addr")),
        (&[&development[..], &["8080"]].concat(), shared("addr", "streams.addr")),
        (
            &[&development[..], &["9000", "--metrics-addr", "9000"]].concat(),
            shared("streams.addr", "telemetry.metrics_addr"),
        ),
        (
            &["--registry-addr", "127.0.0.1:9000", "--metrics-addr", ":9000"],
            shared("registry.addr", "telemetry.metrics_addr"),
        ),
        (
            &["--registry-addr", "127.0.0.2:8080"],
            "registry.addr: must not have the port of the Sessions service".to_owned(),
        ),
    ] {
        assert_eq!(problems(args), [expected], "{args:?}");
    }
    for good in [
        &["--addr", "127.0.0.1:0", "--metrics-addr", "0"][..],
        &["--metrics-addr", "127.0.0.2:8080"],
        &["--addr", "example:9000", "--metrics-addr", "9000"],
        &["--addr", ":9000", "--metrics-addr", "[::1]:9000"],
    ] {
        config(good);
    }
}

#[test]
fn a_file_that_is_no_toml_is_told_in_one_line_that_quotes_nothing() {
    let file = file("[model]\nkey = sk-secret\n");
    let found = problems(&["--config", file.path().to_str().unwrap()]);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("line 2") && !found[0].contains('\n') && !found[0].contains("sk-secret"), "{found:?}");
}

#[test]
fn what_cannot_be_meant_about_nats_is_a_problem_and_no_password_is_repeated() {
    let found = problems(&["--nats-url", "nats://me:s3cret@h", "--nats-heartbeat", "1ms", "--nats-cert", "c.pem"]);
    let heartbeat = "nats: the heartbeat must be between 20 ms and 60 s";
    assert!(found[0].starts_with("nats: server 1 is given with credentials in its address"), "{found:?}");
    assert_eq!(found[1..], [heartbeat, "nats: cert and key need each other"]);
    assert!(!found.concat().contains("s3cret"));
}

#[test]
fn executors_of_tools_are_read_from_the_file_and_printed_as_they_are() {
    let file = file(
        "[tools.billing]\nkind = 'http'\nurl = 'https://h/run'\ntools = ['charge']\n\
         headers = { Authorization = 'BILLING_TOKEN' }\n\
         [tools.files]\nkind = 'mcp-stdio'\ncommand = 'files'\nargs = ['--root', '/srv']\nenv = ['FILES_TOKEN']\n\
         tools = ['read', 'write']\ntimeout = '5s'\nmax_response = '1MiB'\n",
    );
    let read = config(&["--config", file.path().to_str().unwrap()]);
    assert_eq!(read.tools["billing"].timeout, Period::seconds(60));
    assert_eq!(read.tools["billing"].max_response, ByteSize::mebibytes(4));
    let printed = read.to_toml().unwrap();
    assert!(printed.contains("Authorization = \"BILLING_TOKEN\""), "{printed}");
    assert_eq!(toml::from_str::<Config>(&printed).unwrap(), read);
}

/// The configuration that the first example on a page of the documentation is.
fn example(page: &str) -> Config {
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    config(&["--model", "m", "--config", file(example).path().to_str().unwrap()])
}

#[test]
fn the_examples_in_the_documentation_are_configurations() {
    let read = example(include_str!("../../../../docs/tools.md"));
    assert_eq!(read.tools.keys().collect::<Vec<_>>(), ["billing", "files", "search"]);
    let read = example(include_str!("../../../../docs/cluster.md"));
    assert_eq!(read.nats.url.len(), 3);
    let read = example(include_str!("../../../../docs/processes.md"));
    assert_eq!(read.process.keys().collect::<Vec<_>>(), ["counter"]);
    assert_eq!(toml::from_str::<Config>(&read.to_toml().unwrap()).unwrap(), read);
}

#[test]
fn all_problems_of_processes_are_reported_at_once() {
    let file = file(
        "[process.a]\ncommand = ''\nstates = '/s'\nresumability = 'stateless-replay'\n\
         [process.echo]\ncommand = 'p'\nstates = '/s'\nresumability = 'requires-memory-snapshot'\n",
    );
    let found = problems(&["--model", "m", "--config", file.path().to_str().unwrap()]);
    assert_eq!(found, ["harness: harness a has no command", "harness: harness echo is built in"]);
}

#[test]
fn all_problems_of_executors_are_reported_at_once() {
    let file = file(
        "[tools.a]\nkind = 'http'\nurl = 'ftp://h'\ntools = ['x']\ntimeout = 5\nretries = 3\n\
         headers = { Authorization = 'Bearer s3cret' }\n\
         [tools.b]\nkind = 'mcp-stdio'\nurl = 'http://h'\ntools = ['x']\n[tools.c]\nkind = 'grpc'\n",
    );
    let path = file.path().to_str().unwrap();
    let found = problems(&["--config", path]);
    let expected = [
        &format!("{path}: tools.a.timeout: \"5\" is not a length of time"),
        &format!("{path}: tools.a.retries: no such key"),
        &format!("{path}: tools.c.kind: "),
        "tools.a: headers must name environment variables",
        "tools.a: url must begin with http:// or https://",
        "tools.b: command is missing",
        "tools.b: url does not belong to an executor of this kind",
        "tools.b: tool x is run by a already",
    ];
    for text in expected {
        assert!(found.iter().any(|problem| problem.starts_with(text)), "{text} not in {found:#?}");
    }
    assert!(!found.concat().contains("s3cret"), "{found:#?}");
}

#[test]
fn a_file_that_is_missing_or_broken_is_a_problem() {
    let found = problems(&["--config", "/does/not/exist", "--addr", "nowhere"]);
    assert!(found[0].starts_with("/does/not/exist: ") && found[1].starts_with("--addr: "), "{found:?}");
    let broken = file("addr = \n");
    let path = broken.path().to_str().unwrap();
    assert!(problems(&["--config", path])[0].starts_with(path));
}

#[test]
fn an_unknown_flag_is_one_line() {
    let error = parsed(&["--adr", "x"]).unwrap_err().to_string();
    assert_eq!(error, "unexpected argument '--adr' found");
}
