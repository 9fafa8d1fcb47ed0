//! Small runs of the real binary: each checks what it reads, and ends by itself.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

use std::process::Command;

/// Runs a measurement in a directory of its own, and returns the table it prints.
fn measured(args: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    let output = command.args(args).arg("--directory").arg(directory.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{args:?} left something behind");
    text(&output.stdout)
}

/// The cells of the row of a table that begins with `name`.
fn row<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    table.lines().map(cells).find(|cells| cells[0] == name).unwrap_or_else(|| panic!("no {name} in {table}"))
}

#[test]
fn turns_are_counted_timed_and_checked() {
    let report = measured(&["turns", "--total", "40", "--in-flight", "4", "--turns", "5"]);
    assert_eq!(row(&report, "turn")[1], "40");
    assert!(row(&report, "turn")[2].parse::<f64>().unwrap() > 0.0, "{report}");
    assert!(report.contains("checked: 200 records of "), "{report}");
}

#[test]
fn nodes_share_a_journal_and_a_quiet_session_is_measured_among_busy_ones() {
    let report = measured(&["cluster", "--nodes", "2", "--in-flight", "4", "--busy", "3", "--seconds", "1"]);
    for nodes in ["1", "2"] {
        assert!(row(&report, nodes)[2].parse::<u64>().unwrap() > 0, "{report}");
    }
    for session in ["quiet, alone", "quiet, beside 3 busy ones", "busy"] {
        assert!(row(&report, session)[1].parse::<u64>().unwrap() > 0, "{report}");
    }
}

#[test]
fn three_step_turns_run_on_a_harness_of_the_load_generator() {
    let report = measured(&["three-step", "--in-flight", "2,3", "--seconds", "1"]);
    for in_flight in ["2", "3"] {
        assert!(row(&report, in_flight)[1].parse::<u64>().unwrap() > 0, "{report}");
    }
}

#[test]
fn durable_records_are_compared_with_bare_sqlite() {
    let report = measured(&["journal", "--rounds", "2", "--milliseconds", "300"]);
    assert_eq!(row(&report, "bare SQLite, one insert each")[2], "1.00");
    assert!(row(&report, "journal, 64 writers")[4].parse::<f64>().unwrap() > 1.0, "{report}");
}

#[cfg(feature = "fdb")]
#[test]
fn appends_on_a_cluster_are_compared_with_bare_transactions() {
    let Ok(cluster_file) = std::env::var("FDB_CLUSTER_FILE") else { return };
    let report = measured(&["journal", "--rounds", "2", "--milliseconds", "300", "--fdb", &cluster_file]);
    assert_eq!(row(&report, "bare transaction")[4], "1.00");
    assert!(row(&report, "append")[2].parse::<f64>().unwrap() > 0.0, "{report}");
}

/// The journal's reads for the next turn do not grow with what a node has read before, in either placement.
#[test]
fn the_next_turn_of_a_long_session_reads_no_more_than_that_of_a_short_one() {
    let report = measured(&["history", "--turns", "10,100,400"]);
    let reads = |node: &str, harness: &str| -> Vec<(u64, u64)> {
        let cells = report.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
        let rows = cells.filter(|cells| cells.len() == 7 && cells[1] == node && cells[2] == harness);
        rows.map(|cells| (cells[3].parse().unwrap(), cells[4].parse().unwrap())).collect()
    };
    for harness in ["in process", "over the wire"] {
        let warm = reads("warm", harness);
        assert_eq!(warm.len(), 3, "{report}");
        assert!(warm.iter().all(|turn| *turn == warm[0] && turn.1 < 10), "{report}");
        let cold = reads("cold", harness);
        assert!(cold[0].1 > 30 && cold[2].1 > 1_000, "a cold node reads the log: {report}");
    }
}

#[test]
fn reads_are_compared_with_a_bare_scan() {
    let report = measured(&["reads", "--records", "1000"]);
    assert!(row(&report, "replay")[1].parse::<u64>().unwrap() > 0, "{report}");
    assert!(row(&report, "offline verify of a JSON export")[1].parse::<u64>().unwrap() > 0, "{report}");
}

#[test]
fn streams_are_measured_beside_what_they_are_made_of() {
    let report = measured(&["streams", "--clients", "3", "--seconds", "1"]);
    assert!(row(&report, "2,000 floats")[3].parse::<f64>().unwrap() > 0.0, "{report}");
    assert_eq!(row(&report, "the journal alone")[2], "1.00");
    assert!(row(&report, "from a client to its agent")[1].parse::<f64>().unwrap() > 0.0, "{report}");
    assert!(row(&report, "3")[2].parse::<u64>().unwrap() >= 3, "{report}");
}
