//! What servers that are programs of others need.

use std::net::TcpListener;
use std::path::PathBuf;

/// Where the path has `program`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// A port of loopback that nobody has now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    listener.local_addr().expect("a bound listener has an address").port()
}
