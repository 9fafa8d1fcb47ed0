//! The tutorials quote the programs that tests run, whole and unchanged.

use std::path::Path;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of `page` in `language`, with as much between them as there is between the parts of a program.
fn quoted(page: &str, language: &str, gap: &str) -> String {
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.collect::<Vec<_>>().join(gap)
}

fn check(page: &str, language: &str, gap: &str, program: &str) {
    let page = file(page);
    assert_eq!(quoted(&page, language, gap), file(program), "the page and the program have parted");
    assert_eq!(
        quoted(&page, "toml", ""),
        file("docs/tutorial/node.toml"),
        "the page and the configuration have parted"
    );
}

#[test]
fn rust_tutorial_quotes_its_example_and_its_configuration() {
    check("docs/harness-rust.md", "rust", "\n", "services/harness/sdk/examples/refunds.rs");
}

#[test]
fn python_tutorial_quotes_its_example_and_its_configuration() {
    check("docs/harness-python.md", "python", "\n\n", "services/harness/python/examples/refunds.py");
}

#[test]
fn page_of_agents_quotes_its_examples() {
    let page = file("docs/agents.md");
    assert_eq!(quoted(&page, "rust", "\n"), file("services/harness/sdk/examples/words.rs"));
    assert_eq!(quoted(&page, "python", "\n\n"), file("services/harness/python/examples/words.py"));
}
