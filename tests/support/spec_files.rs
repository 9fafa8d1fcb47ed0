//! Where the contract's vector files are: under the directory that `SPEC_VECTORS_DIR` names, by default `../shared/spec`
//! beside the project. Tests of other crates include this file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, io};

/// The vectors of one part of the contract; `None`, and one line that says so, where they are not.
#[must_use]
pub fn directory(part: &str) -> Option<PathBuf> {
    static NOTICE: Once = Once::new();
    let vectors = env::var_os("SPEC_VECTORS_DIR").map_or_else(beside_the_project, PathBuf::from);
    let vectors = vectors.join(part).join("vectors");
    if vectors.is_dir() {
        return Some(vectors);
    }
    // Straight to the stream, which the test harness does not capture as it captures `eprintln`.
    NOTICE.call_once(|| {
        let notice = format!("NOT RUN: vectors, {} is not there (set SPEC_VECTORS_DIR)\n", vectors.display());
        io::stderr().write_all(notice.as_bytes()).expect("standard error takes a line");
    });
    None
}

fn beside_the_project() -> PathBuf {
    let mut ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let project = ancestors.find(|directory| directory.join("Cargo.lock").is_file());
    project.expect("the crate is in the workspace").join("../shared/spec")
}
