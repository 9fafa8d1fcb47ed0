use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

struct Place {
    directory: TempDir,
    socket: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("h.sock");
        Self { directory, socket }
    }

    fn bind(&self) -> Result<(UnixListener, PathLock), SocketError> {
        PathLock::bind(&self.socket)
    }

    /// Leaves behind what a killed process leaves: the socket, the lock file, no lock.
    fn crash(&self) {
        let (_listener, mut lock) = self.bind().unwrap();
        lock.socket = self.directory.path().join("elsewhere");
    }

    /// Makes the lock file say that an earlier run made the socket.
    fn claim(&self) {
        let socket = fs::symlink_metadata(&self.socket).unwrap();
        let mut lock = lock_file(&lock_path(&self.socket)).unwrap();
        record(&mut lock, Inode::of(&socket)).unwrap();
    }
}

#[tokio::test]
async fn lock_file_is_private_names_the_socket_and_outlives_it() {
    let place = Place::new();
    let bound = place.bind().unwrap();
    let lock = lock_path(&place.socket);
    let socket = fs::symlink_metadata(&place.socket).unwrap();
    assert_eq!(fs::metadata(&lock).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{} {}\n", socket.dev(), socket.ino()));
    drop(bound);
    assert!(!place.socket.exists());
    assert!(lock.exists());
    place.bind().unwrap();
}

#[tokio::test]
async fn path_has_one_owner_at_a_time() {
    let place = Place::new();
    let _bound = place.bind().unwrap();
    assert!(matches!(place.bind(), Err(SocketError::Busy(_))));
}

#[tokio::test]
async fn socket_of_a_killed_process_is_replaced() {
    let place = Place::new();
    place.crash();
    assert!(place.socket.exists());
    let _bound = place.bind().unwrap();
    assert!(UnixStream::connect(&place.socket).is_ok());
}

#[tokio::test]
async fn socket_that_still_answers_is_left_alone() {
    let place = Place::new();
    let _listener = UnixListener::bind(&place.socket).unwrap();
    place.claim();
    assert!(matches!(place.bind(), Err(SocketError::Alive(_))));
    assert!(place.socket.exists());
}

#[tokio::test]
async fn what_somebody_else_put_there_is_left_alone() {
    let place = Place::new();
    drop(UnixListener::bind(&place.socket).unwrap());
    assert!(matches!(place.bind(), Err(SocketError::NotOurs(_))));

    let file = Place::new();
    fs::write(&file.socket, "data").unwrap();
    assert!(matches!(file.bind(), Err(SocketError::NotOurs(_))));

    let link = Place::new();
    std::os::unix::fs::symlink("/nowhere", &link.socket).unwrap();
    assert!(matches!(link.bind(), Err(SocketError::NotOurs(_))));
    assert!(fs::symlink_metadata(&link.socket).is_ok());
}

#[tokio::test]
async fn socket_with_a_second_name_is_left_alone() {
    let place = Place::new();
    place.crash();
    fs::hard_link(&place.socket, place.directory.path().join("second")).unwrap();
    assert!(matches!(place.bind(), Err(SocketError::NotOurs(_))));
}

#[tokio::test]
async fn lock_file_that_could_be_a_trap_is_refused() {
    let victim = |place: &Place| {
        let victim = place.directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
        victim
    };
    let link = Place::new();
    std::os::unix::fs::symlink(victim(&link), lock_path(&link.socket)).unwrap();
    let hard = Place::new();
    fs::hard_link(victim(&hard), lock_path(&hard.socket)).unwrap();
    let open = Place::new();
    let shared = lock_path(&open.socket);
    fs::write(&shared, "").unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o644)).unwrap();
    for place in [&link, &hard, &open] {
        assert!(matches!(place.bind(), Err(SocketError::UnsafeLock(_))));
        assert!(!place.socket.exists());
    }
    assert_eq!(fs::read_to_string(link.directory.path().join("victim")).unwrap(), "precious");
}
