use proptest::prelude::*;

use super::*;

const LIMIT: usize = 64;

/// What a stream decodes to: the data of its events, and how it ended.
#[derive(Debug, PartialEq)]
struct Decoded {
    events: Vec<String>,
    end: Result<Option<String>, TooLong>,
}

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = Decoder::new(LIMIT);
    let mut events = Vec::new();
    let text = |data| String::from_utf8(data).unwrap();
    for mut piece in pieces {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(data)) => events.push(text(data)),
                Ok(None) => break,
                Err(error) => return Decoded { events, end: Err(error) },
            }
        }
        assert!(piece.is_empty(), "the input is used up");
    }
    Decoded { events, end: decoder.finish().map(|data| data.map(text)) }
}

fn events(stream: &str) -> Vec<String> {
    decode([stream.as_bytes()]).events
}

#[test]
fn data_lines_of_one_event_are_joined() {
    assert_eq!(events("data: a\n\ndata: b\ndata:c\ndata\n\n"), ["a", "b\nc\n"]);
}

#[test]
fn one_space_after_the_colon_is_dropped() {
    assert_eq!(events("data:a\n\ndata: a\n\ndata:  a\n\n"), ["a", "a", " a"]);
}

#[test]
fn comments_and_other_fields_are_skipped() {
    assert_eq!(events(": ping\n\nevent: x\nid: 7\nretry: 1\ndatax: no\ndata: yes\n\n"), ["yes"]);
}

#[test]
fn lines_end_in_lf_cr_or_crlf() {
    assert_eq!(events("data: a\r\n\r\ndata: b\r\rdata: c\n\ndata: d\r\n\n"), ["a", "b", "c", "d"]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    assert_eq!(events("\u{feff}data: a\n\n\u{feff}data: b\n\n"), ["a"]);
}

#[test]
fn an_event_that_the_stream_leaves_open_is_told_at_the_end() {
    for stream in ["data: a", "data: a\n", "data: a\r"] {
        assert_eq!(decode([stream.as_bytes()]), Decoded { events: vec![], end: Ok(Some("a".into())) });
    }
}

#[test]
fn a_line_of_the_limit_passes_and_a_longer_one_does_not() {
    let line = |length: usize| format!("{:x<length$}\n", "data:");
    assert_eq!(decode([line(LIMIT).as_bytes()]).end, Ok(Some("x".repeat(LIMIT - 5))));
    assert_eq!(decode([line(LIMIT + 1).as_bytes()]).end, Err(TooLong { limit: LIMIT }));
    assert_eq!(decode(["x".repeat(LIMIT + 1).as_bytes()]).end, Err(TooLong { limit: LIMIT }));
}

#[test]
fn many_short_data_lines_cannot_grow_an_event_beyond_the_limit() {
    assert_eq!(decode(["data: 0123456789\n".repeat(7).as_bytes()]).end, Err(TooLong { limit: LIMIT }));
}

/// Streams of what matters to the decoder, beside text of one to four bytes a character.
fn stream() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec!["data: ", "data:", "data", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", ": ", "id: 1"]),
        2 => prop::sample::select(vec!["é", "€", "🦀", "\u{feff}", "text", "[DONE]"]),
        1 => Just("a long piece of text, so that some lines are beyond the limit"),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_of_a_stream_gives_the_same_events(stream in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let whole = decode([bytes]);
        prop_assert_eq!(&decode(cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), &whole);
        prop_assert_eq!(&decode(bytes.chunks(1)), &whole);
    }

    #[test]
    fn data_comes_back_as_it_was_sent(data in prop::collection::vec("[^\r\n]{0,15}", 0..10), end in prop::sample::select(vec!["\n", "\r", "\r\n"])) {
        let stream: String = data.iter().map(|data| format!("data: {data}{end}{end}")).collect();
        prop_assert_eq!(events(&stream), data);
    }
}
