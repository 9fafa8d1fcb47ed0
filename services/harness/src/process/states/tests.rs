use super::*;

/// A session before its first turn, or as of one.
fn point(session: &str, turn: &str) -> SessionPoint {
    let last_turn = Some(ExecutionId::new(turn)).filter(|turn| !turn.is_legacy());
    SessionPoint { session: SessionUid::parse(session).unwrap(), last_turn }
}

fn reference(uri: &str) -> SnapshotRef {
    SnapshotRef { external_uri: uri.to_owned(), ..SnapshotRef::default() }
}

/// States in a directory that is not there yet, and a file to make states of.
fn world() -> (tempfile::TempDir, States, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let states = States::new(directory.path().join("a b").join("states"));
    let file = directory.path().join("file");
    (directory, states, file)
}

impl States {
    async fn keep_text(&self, of: &SessionPoint, file: &Path, text: &str) {
        std::fs::write(file, text).unwrap();
        self.keep(of, file).await.unwrap();
    }

    fn held_text(&self, uri: &str) -> String {
        std::fs::read_to_string(self.held(&reference(uri)).unwrap()).unwrap()
    }
}

#[tokio::test]
async fn snapshots_stay_as_they_were_taken() {
    let (_directory, states, file) = world();
    let of = point("sess-1", "");
    assert_eq!(states.status(&of).await.unwrap(), ComputeState::ComputeNone);
    states.keep_text(&of, &file, "one").await;
    assert_eq!(states.status(&of).await.unwrap(), ComputeState::ComputeLive);
    let first = states.snapshot(&of).await.unwrap();
    states.keep_text(&of, &file, "two").await;
    let second = states.snapshot(&of).await.unwrap();
    states.give_up(&of.session).await.unwrap();
    assert_eq!(states.status(&of).await.unwrap(), ComputeState::ComputeCold);
    let third = states.snapshot(&of).await.unwrap();
    let held: Vec<_> = [first, second, third].iter().map(|uri| states.held_text(uri)).collect();
    assert_eq!(held, ["one", "two", "two"]);
}

#[tokio::test]
async fn a_state_is_live_as_of_its_turn_alone() {
    let (_directory, states, file) = world();
    let text = async |of: &SessionPoint| std::fs::read_to_string(states.live(of).await.unwrap()?).ok();
    let [none, one, two] = ["", "e1", "e2"].map(|turn| point("sess-1", turn));
    states.keep_text(&none, &file, "none").await;
    states.keep_text(&one, &file, "one").await;
    states.keep_text(&two, &file, "two").await;
    for (of, expected) in [(&none, "none"), (&one, "one"), (&two, "two")] {
        assert_eq!(text(of).await.as_deref(), Some(expected));
    }
    states.remove_former(&one).await.unwrap();
    assert_eq!((text(&none).await, text(&one).await.as_deref()), (None, Some("one")));
    assert_eq!(text(&two).await.as_deref(), Some("two"), "its turn may be about to end");
    states.keep_text(&two, &file, "two again").await;
    assert_eq!(text(&two).await.as_deref(), Some("two again"));
}

#[tokio::test]
async fn what_was_given_up_is_gone_and_giving_up_nothing_is_no_error() {
    let (_directory, states, file) = world();
    let of = point("sess-1", "");
    states.give_up(&of.session).await.unwrap();
    states.keep_text(&of, &file, "one").await;
    states.give_up(&of.session).await.unwrap();
    assert_eq!(states.live(&of).await.unwrap(), None);
    assert!(!states.root.join("sess-1").exists());
    let empty = states.snapshot(&of).await.unwrap();
    assert_eq!(states.held_text(&empty), "");
}

#[tokio::test]
async fn nothing_outside_of_the_directory_is_read_or_written() {
    let (_directory, states, file) = world();
    std::fs::write(&file, "secret").unwrap();
    for name in ["..", "a/b", ".", "a.b", "/etc"] {
        assert!(matches!(states.keep(&point(name, ""), &file).await, Err(StateError::Id)), "{name}");
        assert!(matches!(states.keep(&point("sess-1", name), &file).await, Err(StateError::Id)), "{name}");
    }
    let root = Url::from_file_path(&states.root).unwrap();
    let outside = Url::from_file_path(&file).unwrap();
    let foreign = [
        String::new(),
        "s3://bucket/object".to_owned(),
        "file:///etc/passwd".to_owned(),
        outside.to_string(),
        root.to_string(),
        format!("{root}/sess-1/live/1-none"),
        format!("{root}/sess-1/snapshots/%2e%2e"),
        format!("{root}/../../file"),
        format!("{root}/sess-1/snapshots/1/2"),
    ];
    for uri in foreign {
        assert!(matches!(states.held(&reference(&uri)), Err(StateError::Foreign)), "{uri}");
    }
}

#[tokio::test]
async fn errors_name_no_path() {
    let (directory, states, file) = world();
    let error = states.keep(&point("sess-1", ""), &file).await.unwrap_err();
    assert!(!error.to_string().contains(directory.path().to_str().unwrap()), "{error}");
    assert!(error.to_string().contains("No such file"), "{error}");
}
