//! Tokens.md, by the name of the rule, with tokens that are made byte by byte: the vector files are not needed here.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::*;

const CALLER: Caller<'_> = Caller { account: "acme", principal: "user:acme" };
const SECRET: [u8; 32] = [7; 32];

/// The fields of a cursor, each with its id.
fn cursor_fields() -> Vec<(u8, Vec<u8>)> {
    let uuid = |n: u128| Uuid::from_u128(n).as_bytes().to_vec();
    vec![
        (1, b"here".to_vec()),
        (2, AUDIENCE.into()),
        (3, b"acme".to_vec()),
        (4, b"user:acme".to_vec()),
        (5, 1_700_000_000_u64.to_be_bytes().to_vec()),
        (48, uuid(1)),
        (49, uuid(2)),
        (50, vec![9]),
    ]
}

fn encoded(fields: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let field = |(id, content): &(u8, Vec<u8>)| {
        let length = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&[*id], &length[..], content].concat()
    };
    fields.iter().flat_map(field).collect()
}

fn payload(version: u8, kind: u8, key_id: &[u8], fields: &[u8]) -> Vec<u8> {
    [&[version, kind, u8::try_from(key_id.len()).unwrap()], key_id, fields].concat()
}

/// A payload, signed as `word` by the key of the deployment.
fn signed(word: &str, payload: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&SECRET).unwrap();
    mac.update([b"golem.agent-invocation.token.v1\0", word.as_bytes(), b"\0", payload].concat().as_slice());
    [payload, &mac.finalize().into_bytes()[..]].concat()
}

fn text(bytes: &[u8]) -> String {
    format!("gai1_{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// With which code a cursor is refused to `caller`.
fn refused_to(caller: Caller<'_>, token: &str) -> Option<ErrorCode> {
    let ring = KeyRing::new("here", Key { id: "k".into(), secret: SECRET.to_vec() }, []).unwrap();
    ring.verify::<CursorClaims>(token, caller).err().map(|refusal| refusal.code)
}

fn refused(token: &str) -> Option<ErrorCode> {
    refused_to(CALLER, token)
}

/// A cursor of these fields, signed.
fn of(fields: &[(u8, Vec<u8>)]) -> String {
    text(&signed("cursor", &payload(1, 3, b"k", &encoded(fields))))
}

/// A sound cursor with one field set.
fn with(id: u8, content: &[u8]) -> String {
    let mut fields = cursor_fields();
    match fields.iter_mut().find(|(found, _)| *found == id) {
        Some((_, found)) => *found = content.to_vec(),
        None => fields.push((id, content.to_vec())),
    }
    fields.sort_by_key(|(id, _)| *id);
    of(&fields)
}

const INVALID: Option<ErrorCode> = Some(ErrorCode::TokenInvalid);

#[test]
fn section_4_steps_1_and_2_the_text_is_strict() {
    let sound = of(&cursor_fields());
    assert_eq!(refused(&sound), None);
    let bytes = signed("cursor", &payload(1, 3, b"k", &encoded(&cursor_fields())));
    for bad in [
        String::new(),
        sound.replacen("gai1_", "gai2_", 1),
        sound.replacen("gai1_", "", 1),
        format!("{sound}="),
        format!("{sound}\n"),
        format!(" {sound}"),
        format!("{sound}A"),
        format!("gai1_{}", base64::engine::general_purpose::URL_SAFE.encode(&bytes[..bytes.len() - 1])),
        text(&[1; 32]),
    ] {
        assert_eq!(refused(&bad), INVALID, "{bad:?}");
    }
    let standard = text(&[0xff; 40]).replace('_', "/").replacen("gai1/", "gai1_", 1);
    assert_eq!(refused(&standard), INVALID, "the alphabet of URLs");
    let unused = format!("gai1_{}B", URL_SAFE_NO_PAD.encode([1; 42]));
    assert_eq!(refused(&unused), INVALID, "unused bits are zero");
}

#[test]
fn section_4_steps_3_to_6_version_kind_and_key() {
    let fields = encoded(&cursor_fields());
    let code = |payload: Vec<u8>| refused(&text(&signed("cursor", &payload)));
    assert_eq!(code(payload(2, 3, b"k", &fields)), Some(ErrorCode::UnsupportedVersion));
    assert_eq!(code(payload(0, 9, b"", &fields)), Some(ErrorCode::UnsupportedVersion), "before everything else");
    for kind in [0, 1, 2, 4, 255] {
        assert_eq!(code(payload(1, kind, b"k", &fields)), INVALID, "kind {kind}");
    }
    for key_id in [&b""[..], b"unknown", &[b'k'; 65], &[0xff]] {
        assert_eq!(code(payload(1, 3, key_id, &fields)), INVALID, "{key_id:?}");
    }
    assert_eq!(code(payload(1, 3, b"k", &fields[..4])), INVALID, "no room for a field");
}

#[test]
fn section_4_step_7_the_signature_is_over_domain_kind_and_payload() {
    let payload = payload(1, 3, b"k", &encoded(&cursor_fields()));
    let token = signed("cursor", &payload);
    assert_eq!(refused(&text(&token)), None);
    for at in 0..token.len() {
        let mut changed = token.clone();
        changed[at] ^= 1;
        assert!(refused(&text(&changed)).is_some(), "byte {at}");
    }
    for word in ["session", "stream", "Cursor", ""] {
        assert_eq!(refused(&text(&signed(word, &payload))), INVALID, "{word}");
    }
    let other = KeyRing::new("here", Key { id: "k".into(), secret: vec![8; 32] }, []).unwrap();
    assert_eq!(other.verify::<CursorClaims>(&text(&token), CALLER).unwrap_err().code, ErrorCode::TokenInvalid);
}

#[test]
fn section_4_step_8_fields_ascend_are_not_empty_and_not_cut_off() {
    let mut swapped = cursor_fields();
    swapped.swap(0, 1);
    let mut twice = cursor_fields();
    twice.insert(1, twice[0].clone());
    for fields in [&swapped, &twice] {
        assert_eq!(refused(&of(fields)), INVALID);
    }
    assert_eq!(refused(&with(3, b"")), INVALID);
    let whole = encoded(&cursor_fields());
    for length in 1..whole.len() {
        assert_eq!(refused(&text(&signed("cursor", &payload(1, 3, b"k", &whole[..length])))), INVALID, "{length}");
    }
    let mut announced = whole;
    announced[1..5].copy_from_slice(&u32::MAX.to_be_bytes());
    assert_eq!(refused(&text(&signed("cursor", &payload(1, 3, b"k", &announced)))), INVALID);
}

#[test]
fn section_4_step_9_issuer_audience_and_types() {
    assert_eq!(refused(&with(1, b"elsewhere")), INVALID, "another deployment");
    assert_eq!(refused(&with(2, b"another-audience")), INVALID);
    assert_eq!(refused(&with(3, &[0xff])), INVALID, "not UTF-8");
    assert_eq!(refused(&with(5, &[0; 7])), INVALID, "not 8 bytes");
    for id in 1..=5 {
        let without: Vec<_> = cursor_fields().into_iter().filter(|(found, _)| *found != id).collect();
        assert_eq!(refused(&of(&without)), INVALID, "without field {id}");
    }
}

#[test]
fn section_4_step_10_the_caller_is_the_one_that_is_bound() {
    let token = of(&cursor_fields());
    for caller in [Caller { account: "other", ..CALLER }, Caller { principal: "user:other", ..CALLER }] {
        assert_eq!(refused_to(caller, &token), Some(ErrorCode::Unauthorized));
    }
    let unlisted = with(51, &[1]);
    assert_eq!(refused(&unlisted), INVALID);
    let other = Caller { account: "other", ..CALLER };
    assert_eq!(refused_to(other, &unlisted), Some(ErrorCode::Unauthorized), "before the fields of the kind");
    assert_eq!(refused_to(other, &with(1, b"elsewhere")), INVALID, "after the deployment");
}

#[test]
fn section_4_step_11_exactly_the_fields_of_the_kind() {
    for id in [48, 49, 50] {
        let without: Vec<_> = cursor_fields().into_iter().filter(|(found, _)| *found != id).collect();
        assert_eq!(refused(&of(&without)), INVALID, "without field {id}");
    }
    for id in [6, 16, 24, 32, 47, 255] {
        assert_eq!(refused(&with(id, b"x")), INVALID, "field {id}");
    }
    assert_eq!(refused(&with(48, &[0; 15])), INVALID, "no UUID");
}

#[test]
fn section_2_a_stream_is_an_input_or_an_output() {
    let ring = KeyRing::new("here", Key { id: "k".into(), secret: SECRET.to_vec() }, []).unwrap();
    let stream = |role: &[u8]| {
        let id = |n: u128| Uuid::from_u128(n).as_bytes().to_vec();
        let own = [(32, id(1)), (33, id(2)), (34, b"p".to_vec()), (35, id(3)), (36, vec![0; 8]), (37, vec![0; 32])];
        let last = [(38, role.to_vec()), (39, id(4))];
        let fields: Vec<_> = cursor_fields().into_iter().take(5).chain(own).chain(last).collect();
        let token = text(&signed("stream", &payload(1, 2, b"k", &encoded(&fields))));
        ring.verify::<StreamClaims>(&token, CALLER).map(|verified| verified.claims.role).map_err(|refusal| refusal.code)
    };
    assert_eq!(stream(&[1]), Ok(Role::Input));
    assert_eq!(stream(&[2]), Ok(Role::Output));
    for role in [&[0][..], &[3], &[1, 1]] {
        assert_eq!(stream(role), Err(ErrorCode::TokenInvalid), "{role:?}");
    }
}

#[test]
fn t2_a_session_token_without_the_key_of_its_streams_is_an_old_one() {
    let ring = KeyRing::new("here", Key { id: "k".into(), secret: SECRET.to_vec() }, []).unwrap();
    let binding = Binding { account: "acme".into(), principal: "user:acme".into(), issued_at: 5 };
    let uuid = Uuid::from_u128(1);
    let mut claims = SessionClaims {
        application: "a".into(),
        environment: "e".into(),
        agent: "v1.x".into(),
        idempotency_key: "k".into(),
        invocation: uuid,
        attachment: uuid,
        generation: 1,
        incarnation: uuid,
        stream_key: None,
    };
    let old = ring.verify::<SessionClaims>(&ring.sign(&binding, &claims), CALLER).unwrap();
    assert_eq!((old.claims.stream_key, old.key_id.as_str()), (None, "k"));
    claims.stream_key = Some("k".into());
    let new = ring.verify::<SessionClaims>(&ring.sign(&binding, &claims), CALLER).unwrap();
    assert_eq!(new.claims, claims);
    assert_eq!(refused(&ring.sign(&binding, &claims)), INVALID, "a session is no cursor");
}

#[test]
fn t3_and_k3_a_stream_token_comes_out_the_same_as_long_as_its_key_is_there() {
    let key = |id: &str, byte: u8| Key { id: id.into(), secret: vec![byte; 32] };
    let binding = Binding { account: "acme".into(), principal: "user:acme".into(), issued_at: 5 };
    let uuid = Uuid::from_u128(1);
    let claims = CursorClaims { invocation: uuid, stream: uuid, position: vec![1] };
    let before = KeyRing::new("here", key("old", 1), []).unwrap();
    let after = KeyRing::new("here", key("new", 2), [key("old", 1)]).unwrap();
    let gone = KeyRing::new("here", key("new", 2), []).unwrap();
    let token = before.sign(&binding, &claims);
    assert_eq!(after.sign_with("old", &binding, &claims).as_ref(), Ok(&token));
    assert_ne!(after.sign(&binding, &claims), token);
    assert!(after.verify::<CursorClaims>(&token, CALLER).is_ok());
    assert_eq!(gone.sign_with("old", &binding, &claims).unwrap_err().code, ErrorCode::TokenInvalid);
    assert_eq!(gone.verify::<CursorClaims>(&token, CALLER).unwrap_err().code, ErrorCode::TokenInvalid);
}
