//! Compiles the .proto files of `proto/` with protox (no protoc to install) and generates the types, the services, their
//! descriptors for reflection, and the JSON form of every message.

mod emit;
mod schema;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use prost::Message;

const FILES: [&str; 5] = ["common", "invocation", "session", "harness", "harness_registry"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());

    let files = FILES.map(|name| root.join("agentsessions/v1").join(format!("{name}.proto")));
    let descriptors = protox::compile(files, [&root])?;
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    fs::write(out.join(format!("{}.json.rs", schema::PACKAGE)), emit::package(&schema::package(&descriptors)?))?;

    let mut config = prost_build::Config::new();
    config.compile_well_known_types().btree_map(["."]);
    tonic_prost_build::configure()
        // The generated `connect` constructor would clash with the `Connect` rpc.
        .build_transport(false)
        .compile_fds_with_config(descriptors, config)?;
    Ok(())
}
