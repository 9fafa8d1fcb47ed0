//! Compiles the .proto files of `proto/` with protox (no protoc to install) and generates types and services.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let files = ["common", "session", "harness", "harness_registry"]
        .map(|name| root.join("agentsessions/v1").join(format!("{name}.proto")));
    println!("cargo:rerun-if-changed={}", root.display());
    let descriptors = protox::compile(&files, [&root])?;

    let mut config = prost_build::Config::new();
    config.compile_well_known_types().btree_map(["."]);
    tonic_prost_build::configure()
        // The generated `connect` constructor would clash with the `Connect` rpc.
        .build_transport(false)
        .compile_fds_with_config(descriptors, config)?;
    Ok(())
}
