//! Timestamps as text.

use proptest::prelude::*;
use wire::protobuf::Timestamp;

fn timestamp(seconds: i64, nanos: i32) -> Timestamp {
    Timestamp { seconds, nanos }
}

#[test]
fn fractions_have_the_fewest_of_0_3_6_and_9_digits() {
    let texts = [
        (0, "2023-11-14T22:13:20Z"),
        (500_000_000, "2023-11-14T22:13:20.500Z"),
        (1_000_000, "2023-11-14T22:13:20.001Z"),
        (1_000, "2023-11-14T22:13:20.000001Z"),
        (999_999_999, "2023-11-14T22:13:20.999999999Z"),
        (10, "2023-11-14T22:13:20.000000010Z"),
    ];
    for (nanos, text) in texts {
        assert_eq!(timestamp(1_700_000_000, nanos).to_rfc3339().unwrap(), text);
        assert_eq!(text.parse(), Ok(timestamp(1_700_000_000, nanos)));
    }
}

#[test]
fn the_first_and_the_last_second_have_a_text() {
    let (first, last) = (timestamp(-62_135_596_800, 0), timestamp(253_402_300_799, 999_999_999));
    assert_eq!(first.to_rfc3339().unwrap(), "0001-01-01T00:00:00Z");
    assert_eq!(last.to_rfc3339().unwrap(), "9999-12-31T23:59:59.999999999Z");
}

#[test]
fn leap_days_are_where_the_calendar_has_them() {
    assert_eq!("2000-02-29T00:00:00Z".parse(), Ok(timestamp(951_782_400, 0)));
    assert_eq!("2024-02-29T12:00:00Z".parse(), Ok(timestamp(1_709_208_000, 0)));
    for day in ["1900-02-29", "2023-02-29", "2024-02-30", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00"] {
        assert!(format!("{day}T00:00:00Z").parse::<Timestamp>().is_err(), "{day}");
    }
}

#[test]
fn offsets_are_read() {
    let utc = "2024-01-01T00:30:00Z".parse::<Timestamp>();
    assert_eq!("2024-01-01T02:00:00+01:30".parse(), utc);
    assert_eq!("2023-12-31T16:30:00-08:00".parse(), utc);
}

#[test]
fn other_texts_are_refused() {
    let texts = [
        "",
        "2024-01-01",
        "2024-01-01T00:00:00",
        "2024-01-01 00:00:00Z",
        "2024-01-01t00:00:00z",
        "2024-1-01T00:00:00Z",
        "+024-01-01T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00.1234567890Z",
        "2024-01-01T00:00:00.-1Z",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+0100",
        "2024-01-01T00:00:00Zx",
        "0000-12-31T23:59:59Z",
        "0001-01-01T00:00:00+00:01",
        "２024-01-01T00:00:00Z",
        "2024-01-01T00:00:0é",
    ];
    for text in texts {
        assert!(text.parse::<Timestamp>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn every_timestamp_reads_back_and_agrees_with_another_implementation(
        seconds in -62_135_596_800_i64..=253_402_300_799,
        nanos in prop_oneof![0..1_000_000_000_i32, (0..1000).prop_map(|ms| ms * 1_000_000)],
    ) {
        let text = timestamp(seconds, nanos).to_rfc3339().unwrap();
        prop_assert_eq!(text.parse(), Ok(timestamp(seconds, nanos)));
        prop_assert_eq!(text, prost_types::Timestamp { seconds, nanos }.to_string());
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}|[0-9TZ:.+-]{0,40}") {
        let _ = text.parse::<Timestamp>();
    }
}
