//! Flags, environment and file, as the process reads them.

use std::path::Path;
use std::process::{Command, Output};

use support::binary;

fn run(args: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(binary("agentsessionsd"));
    command.args(args).env_clear().envs(environment.iter().copied());
    command.output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// The effective configuration as `check-config` prints it.
fn checked(args: &[&str], environment: &[(&str, &str)]) -> toml::Table {
    let args: Vec<_> = ["check-config"].iter().chain(args).copied().collect();
    let output = run(&args, environment);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).parse().unwrap()
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "project = 'file'\njournal = 'file'\naddr = 'file:1'\n").unwrap();
    let environment = [
        ("AGENTSESSIONS_CONFIG", file.path().to_str().unwrap()),
        ("AGENTSESSIONS_PROJECT", "environment"),
        ("AGENTSESSIONS_JOURNAL", "environment"),
    ];
    let config = checked(&["--project", "flag"], &environment);
    let text = |key: &str| config[key].as_str().unwrap().to_owned();
    assert_eq!(
        (text("project"), text("journal"), text("addr")),
        ("flag".into(), "environment".into(), "file:1".into())
    );
    assert_eq!(text("drain_timeout"), "10s");
}

#[test]
fn what_check_config_prints_is_a_file_that_means_the_same() {
    let environment = [
        ("AGENTSESSIONS_MODEL", "m"),
        ("AGENTSESSIONS_HARNESS", "a=h:1,b=h:2"),
        ("AGENTSESSIONS_MAX_MESSAGE_SIZE", "1500kB"),
        ("AGENTSESSIONS_MAX_CALLS", "7"),
        ("AGENTSESSIONS_TURN_IDLE_TIMEOUT", "90s"),
        ("AGENTSESSIONS_MAX_TURN_EVENTS", "9"),
    ];
    let printed = run(&["check-config"], &environment);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &printed.stdout).unwrap();
    let again = run(&["check-config", "--config", file.path().to_str().unwrap()], &[]);
    assert_eq!(stdout(&printed), stdout(&again));
}

#[test]
fn check_config_refuses_what_a_node_could_not_start_with() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let tool = "[tools.billing]\nkind = 'http'\ntools = ['pay']\nurl = 'http://127.0.0.1:1/'\nheaders = { Authorization = 'BILLING' }\n";
    std::fs::write(file.path(), tool).unwrap();
    let config = file.path().to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let written = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let key = format!("[[key]]\nsha256 = '{}'\naccount = 'a'\nprincipal = 'p'\n", "0".repeat(64));
    let keys = written("keys.toml", &key.repeat(2));
    let jwks = "[[issuer]]\nissuer = 'i'\naudience = 'a'\njwks = 'http://keys.example/'\n";
    let jwks = written("jwks.toml", jwks);
    let policy = written("policy.toml", "");
    for (args, named) in [
        (&["--config", config][..], "BILLING"),
        (&["--model-base-url", "ftp://x"], "model"),
        (&["--model-timeout", "0s"], "model"),
        (&["--journal", ""], "journal"),
        (&["--streams-addr", "1"], "streams.auth_file"),
        (&["--streams-addr", "10.0.0.1:1", "--streams-development"], "streams.development"),
        (&["--streams-addr", "1", "--streams-auth-file", "/no", "--streams-policy-file", "/no"], "/no"),
        (&["--streams-addr", "1", "--streams-auth-file", &keys, "--streams-policy-file", &policy], "keys 1 and 2"),
        (&["--streams-addr", "1", "--streams-auth-file", &jwks, "--streams-policy-file", &policy], "https"),
        (&["--streams-idle-timeout", "20s"], "streams.idle_timeout"),
        (&["--metrics-addr", "8080"], "telemetry.metrics_addr"),
    ] {
        let args: Vec<_> = ["check-config"].iter().chain(args).copied().collect();
        let output = run(&args, &[]);
        assert!(!output.status.success(), "{args:?}");
        assert!(stderr(&output).contains(named), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn check_config_prints_the_defaults_and_no_key() {
    let output = run(&["check-config"], &[("MODEL_API_KEY", "very secret")]);
    assert!(!stdout(&output).contains("secret"));
    let expected = r#"addr = "127.0.0.1:8080"
journal = "agentsessions.db"
project = "default"
harness = []
drain_timeout = "10s"
node_name = ""

[fdb]

[model]
name = ""
base_url = "https://api.openai.com/v1"
path = "/chat/completions"
auth_header = "Authorization"
timeout = "2m"
connect_timeout = "10s"
retries = 2

[registry]
addr = ""
refresh = "1s"

[nats]
url = []
prefix = "agentsessions"
heartbeat = "500ms"

[powers]
cancel = false
delete_session = false

[limits]
max_message_size = "64MiB"
max_calls = 4096
max_connections = 4096
turn_idle_timeout = "10m"
max_turn_events = 100000
history_cache = "256MiB"
history_memory = "1GiB"

[streams]
addr = ""
development = false
max_connections = 4096
first_message_timeout = "30s"
ping_interval = "20s"
idle_timeout = "1m"
retention = "7days"

[keepalive]
interval = "20s"
timeout = "20s"

[log]
format = "auto"
filter = "info"

[telemetry]
metrics_addr = ""
otlp_endpoint = ""
"#;
    assert_eq!(stdout(&output), expected);
}

#[test]
fn check_config_lists_every_problem_on_a_line_and_fails() {
    let args = ["check-config", "--addr", "nowhere", "--max-calls", "0"];
    let output = run(&args, &[("AGENTSESSIONS_DRAIN_TIMEOUT", "soon")]);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<_> = stderr(&output).lines().collect();
    for start in ["--addr: ", "--max-calls: ", "AGENTSESSIONS_DRAIN_TIMEOUT: "] {
        let start = format!("agentsessionsd: {start}");
        assert!(lines.iter().any(|line| line.starts_with(&start)), "{start} not in {lines:?}");
    }
    assert_eq!(lines.len(), 3, "{lines:?}");
}

#[test]
fn a_start_that_fails_says_why_on_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let journal = directory.path().join("journal.db");
    let journal = journal.to_str().unwrap();
    let cases: [&[&str]; 5] = [
        &["--addr", &addr, "--journal", journal, "--log-filter", "off"],
        &["--journal", "/does/not/exist/journal.db", "--log-filter", "off"],
        &["--journal", "fdb:/does/not/exist.cluster", "--log-filter", "off"],
        &["--addr", "nowhere", "--max-calls", "0"],
        &["--no-such-flag"],
    ];
    for args in cases {
        let output = run(args, &[]);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).starts_with("agentsessionsd: "), "{args:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{args:?}: {}", stderr(&output));
    }
    assert!(Path::new(journal).exists());
}

#[test]
fn help_names_every_flag_with_its_variable_and_default() {
    let output = run(&["--help"], &[]);
    assert!(output.status.success());
    let help = stdout(&output);
    for text in ["--drain-timeout <TIME>", "[env: AGENTSESSIONS_DRAIN_TIMEOUT]", "[default: 10s]", "MODEL_API_KEY"] {
        assert!(help.contains(text), "{text} not in {help}");
    }
}

#[test]
fn version_is_one_line_however_many_dashes() {
    for flag in ["--version", "-version", "-V"] {
        let output = run(&[flag], &[]);
        assert!(output.status.success());
        assert_eq!(stdout(&output), format!("agentsessionsd {}\n", env!("CARGO_PKG_VERSION")));
    }
}
