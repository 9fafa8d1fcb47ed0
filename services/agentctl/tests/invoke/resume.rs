//! Commands that are killed, and those that go on in their place.

use super::*;

fn kill(child: &Child) {
    kill_process(Pid::from_child(child), Signal::KILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_killed_goes_on_where_it_was() {
    let world = World::of(BYTE).await;
    let bytes: Vec<u8> = (0..900_000_u32).map(|n| (n % 253) as u8).collect();
    world.write("whole", &bytes);
    let mut source = pipe(&world, "source");
    let flags = ["--to", "result=out"];
    let arguments = [&["items=@source", "--save", "session"], &flags[..]].concat();
    let child = world.invoke(&arguments).spawn().unwrap();
    for part in bytes[..500_000].chunks(10_000) {
        source.write_all(part).unwrap();
    }
    let out = world.path("out");
    until("half of it is back", || fs::metadata(&out).is_ok_and(|out| out.len() == 500_000)).await;
    kill(&child);
    wait(child).await;

    let other = run(world.invoke(&["items=@whole", "--resume", "session", "--environment", "prod"])).await;
    assert!(other.2 == Some(1) && other.1.contains("the checkpoint is of another selector"), "{}", other.1);
    let saved_over = run(world.invoke(&["items=@whole", "--save", "session"])).await;
    assert!(saved_over.2 == Some(1) && saved_over.1.contains("exists"), "{}", saved_over.1);

    let arguments = [&["items=@whole", "--resume", "session"], &flags[..]].concat();
    let (stdout, stderr, code) = run(world.invoke(&arguments)).await;
    assert_eq!((stdout.as_str(), code), ("", Some(0)), "{stderr}");
    assert!(fs::read(&out).unwrap() == bytes, "each byte is there once");
    assert_eq!(world.streams.journal.lock().unwrap().high_water(), bytes.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_were_written_and_not_noted_are_in_the_file_once() {
    let world = World::of(STRING).await;
    let mut source = pipe(&world, "source");
    let child = world.invoke(&["items=@source", "--save", "session", "--to", "result=out"]).spawn().unwrap();
    source.write_all(b"\"one\"\n\"two\"\n").unwrap();
    let out = world.path("out");
    until("both are back", || fs::read_to_string(&out).is_ok_and(|out| out == "\"one\"\n\"two\"\n")).await;
    kill(&child);
    wait(child).await;
    // As if the last line had been cut, and more had come that was not noted.
    world.write("out", b"\"one\"\n\"two\"\n\"thr");
    world.write("whole", b"\"one\"\n\"two\"\n\"three\"\n");
    let again = world.invoke(&["items=@whole", "--resume", "session", "--to", "result=out"]);
    let (_, stderr, code) = run(again).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "\"one\"\n\"two\"\n\"three\"\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_standard_input_is_taken_as_what_follows() {
    let world = World::of(STRING).await;
    let mut source = pipe(&world, "source");
    let child = world.invoke(&["items=@source", "--save", "session"]).stdout(Stdio::null()).spawn().unwrap();
    source.write_all(b"\"one\"\n").unwrap();
    until("the agent has it", || world.streams.journal.lock().unwrap().high_water() == 1).await;
    kill(&child);
    wait(child).await;
    world.write("rest", b"\"two\"\n");
    let mut again = world.invoke(&["items=-", "--resume", "session"]);
    again.stdin(File::open(world.path("rest")).unwrap());
    let (stdout, stderr, code) = run(again).await;
    assert!(stdout.ends_with("\"two\"\n") && code == Some(0), "{stdout}{stderr}");
    assert!(stderr.contains("follows the first 1 items of items"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_ends_the_command_that_had_the_session() {
    let world = World::of(BYTE).await;
    let mut source = pipe(&world, "source");
    source.write_all(b"some").unwrap();
    let mut first = world.invoke(&["items=@source", "--save", "session"]);
    let first = first.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the agent has it", || world.streams.journal.lock().unwrap().high_water() == 4).await;
    let refused = run(world.invoke(&["items=-", "--takeover", "nowhere"])).await;
    assert_eq!(refused.2, Some(1));
    let (_, stderr, code) = run(world.invoke(&["items=-", "--takeover", "session"])).await;
    assert_eq!(code, Some(0), "{stderr}");
    let (_, stderr, code) = output(first).await;
    assert!(code == Some(1) && stderr.contains("taken the session over"), "{stderr}");
}
