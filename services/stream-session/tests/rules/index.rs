//! `docs/stream-rules.md` against the contract's rules and against the tests that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rules of a page, by their letter and how many there are.
type Rules = &'static [(char, u32)];

const PROTOCOL: Rules = &[
    ('H', 8),
    ('J', 8),
    ('M', 3),
    ('V', 6),
    ('B', 7),
    ('C', 4),
    ('W', 4),
    ('I', 10),
    ('P', 8),
    ('N', 7),
    ('Q', 9),
    ('A', 10),
    ('R', 6),
    ('T', 5),
    ('L', 7),
    ('K', 14),
];
const RULES: [(&str, Rules); 3] =
    [("Protocol", PROTOCOL), ("Values", &[('N', 3), ('F', 3)]), ("Tokens", &[('T', 4), ('K', 5)])];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in the workspace").to_owned()
}

fn index() -> String {
    fs::read_to_string(project().join("docs/stream-rules.md")).expect("the index is there")
}

/// What each page of the contract is said to refuse, and what is said to refuse nothing.
fn named(index: &str) -> BTreeMap<&str, BTreeSet<String>> {
    let pages = index.split("\n## ").skip(1);
    let rules = |page: &str| {
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        let harmless = page.split_once("These rules refuse nothing by themselves: ").map_or("", |(_, rules)| rules);
        let harmless = harmless.split('.').next().unwrap_or_default().split_whitespace();
        rows.chain(harmless).map(str::to_owned).collect()
    };
    pages.map(|page| (page.lines().next().unwrap_or_default(), rules(page))).collect()
}

#[test]
fn every_rule_of_the_contract_is_in_the_index() {
    let index = index();
    let named = named(&index);
    for (page, letters) in RULES {
        for (letter, count) in letters {
            for rule in (1..=*count).map(|n| format!("{letter}{n}")) {
                assert!(named[page].contains(&rule), "{page} {rule} is not in the index");
            }
        }
    }
}

#[test]
fn every_test_of_the_index_is_there() {
    let index = index();
    let tests: Vec<(&str, &str)> = index.split('`').filter_map(|part| part.split_once("::")).collect();
    assert!(tests.len() > 100, "the index names its tests as file::test");
    for (file, test) in tests {
        let own = project().join("services/stream-session").join(file);
        let path = if own.is_file() { own } else { project().join(file) };
        let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (rust, python) = (format!("fn {test}("), format!("def {test}("));
        assert!(source.contains(&rust) || source.contains(&python), "{file} has no test {test}");
    }
}
