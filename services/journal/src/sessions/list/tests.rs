use proptest::prelude::*;

use super::*;

fn token(text: &[u8]) -> Result<ListToken, InvalidPageToken> {
    ListToken::decode(&URL_SAFE_NO_PAD.encode(text))
}

#[test]
fn a_token_is_time_nul_uid_in_unpadded_base64url() {
    let token = ListToken(Listed { time: 1_700_000_000_000_000_001, uid: "sess-0a".to_owned() });
    assert_eq!(token.encode(), URL_SAFE_NO_PAD.encode("1700000000000000001\0sess-0a"));
    assert!(!token.encode().contains('='));
}

#[test]
fn malformed_tokens_are_refused() {
    for bad in ["", "*", "MQ==", "MTIz", "+/+/"] {
        assert_eq!(ListToken::decode(bad), Err(InvalidPageToken), "{bad}");
    }
    for bad in [&b"\0uid"[..], b"x\0uid", b"1.5\0uid", b"9223372036854775808\0uid", b" 1\0uid", b"123"] {
        assert_eq!(token(bad), Err(InvalidPageToken), "{bad:?}");
    }
}

#[test]
fn well_formed_tokens_of_sessions_that_never_were_are_positions() {
    for good in [&b"0\0"[..], b"-9223372036854775808\0x", b"9223372036854775807\0x", b"5\0a\0b", b"5\0\xff"] {
        assert!(token(good).is_ok(), "{good:?}");
    }
    let endless = [&b"5\0"[..], &[b'u'; 100_000]].concat();
    let place = token(&endless).unwrap().0;
    assert!(place.key(Listing::All, "project").len() < 1_000);
}

#[test]
fn page_sizes_are_clamped() {
    let size = |wire| PageSize::from_wire(wire).0;
    assert_eq!([i32::MIN, -1, 0].map(size), [50; 3]);
    assert_eq!([1, 500, 501, i32::MAX].map(size), [1, 500, 500, 500]);
}

proptest! {
    #[test]
    fn tokens_read_back(time in any::<i64>(), uid in "\\PC{0,40}") {
        let token = ListToken(Listed { time, uid });
        prop_assert_eq!(ListToken::decode(&token.encode()), Ok(token));
    }

    #[test]
    fn no_text_makes_the_decoder_panic(text in "\\PC{0,40}") {
        let _ = ListToken::decode(&text);
    }
}
