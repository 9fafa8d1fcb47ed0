use std::sync::LazyLock;

use proptest::prelude::*;
use serde::Deserialize;
use uuid::Uuid;

use super::*;
use crate::spec;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vectors {
    key_id: String,
    hmac_sha256_key_hex: String,
    identity: Identity,
    vectors: Vec<Vector>,
    rotation: Rotation,
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Identity {
    issuer: Option<String>,
    account: Option<String>,
    principal: Option<String>,
}

#[derive(Deserialize)]
struct Vector {
    kind: String,
    name: String,
    token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rotation {
    verify_only_keys: Vec<NamedKey>,
    verify_only_token: Signed,
    unknown_key_token: Signed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedKey {
    id: String,
    key_hex: String,
}

#[derive(Deserialize)]
struct Signed {
    token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    name: String,
    expect_kind: String,
    token: String,
    expected_code: String,
    identity: Option<Identity>,
}

static VECTORS: LazyLock<Option<Vectors>> = LazyLock::new(|| spec::vectors("tokens.json"));

impl Vectors {
    fn ring(&self, issuer: &str) -> KeyRing {
        let active = Key { id: self.key_id.clone(), secret: hex::decode(&self.hmac_sha256_key_hex).unwrap() };
        let old = self.rotation.verify_only_keys.iter();
        let old = old.map(|key| Key { id: key.id.clone(), secret: hex::decode(&key.key_hex).unwrap() });
        KeyRing::new(issuer, active, old).unwrap()
    }

    fn issuer(&self) -> &str {
        self.identity.issuer.as_deref().unwrap()
    }

    fn caller(&self) -> Caller<'_> {
        let (account, principal) = (self.identity.account.as_deref(), self.identity.principal.as_deref());
        Caller { account: account.unwrap(), principal: principal.unwrap() }
    }
}

/// Verifies a token of a kind named in words, and signs what it says again.
fn again(ring: &KeyRing, kind: &str, token: &str, caller: Caller<'_>) -> Result<String, Refusal> {
    fn of<C: Claims>(ring: &KeyRing, token: &str, caller: Caller<'_>) -> Result<String, Refusal> {
        let verified = ring.verify::<C>(token, caller)?;
        ring.sign_with(&verified.key_id, &verified.binding, &verified.claims)
    }
    match kind {
        "session" => of::<SessionClaims>(ring, token, caller),
        "stream" => of::<StreamClaims>(ring, token, caller),
        "cursor" => of::<CursorClaims>(ring, token, caller),
        other => panic!("no kind {other}"),
    }
}

#[test]
fn published_tokens_are_read_and_come_out_the_same() {
    let Some(vectors) = &*VECTORS else { return };
    let ring = vectors.ring(vectors.issuer());
    for Vector { kind, name, token } in &vectors.vectors {
        assert_eq!(again(&ring, kind, token, vectors.caller()).as_ref(), Ok(token), "{name}");
    }
}

#[test]
fn section_4_each_check_answers_with_its_code() {
    let Some(vectors) = &*VECTORS else { return };
    for check in &vectors.checks {
        let issuer = check.identity.as_ref().and_then(|identity| identity.issuer.as_deref());
        let ring = vectors.ring(issuer.unwrap_or(vectors.issuer()));
        let mut caller = vectors.caller();
        if let Some(identity) = &check.identity {
            caller.account = identity.account.as_deref().unwrap_or(caller.account);
            caller.principal = identity.principal.as_deref().unwrap_or(caller.principal);
        }
        let code = match again(&ring, &check.expect_kind, &check.token, caller) {
            Ok(_) => "ok",
            Err(refusal) => refusal.code.as_str(),
        };
        assert_eq!(code, check.expected_code, "{}", check.name);
    }
}

#[test]
fn k2_old_keys_verify_and_only_the_active_one_signs() {
    let Some(vectors) = &*VECTORS else { return };
    let ring = vectors.ring(vectors.issuer());
    let old = &vectors.rotation.verify_only_token.token;
    let verified = ring.verify::<SessionClaims>(old, vectors.caller()).unwrap();
    assert_eq!(verified.key_id, vectors.rotation.verify_only_keys[0].id);
    let new = ring.verify::<SessionClaims>(&ring.sign(&verified.binding, &verified.claims), vectors.caller()).unwrap();
    assert_eq!(new.key_id, vectors.key_id);
    let unknown = ring.verify::<SessionClaims>(&vectors.rotation.unknown_key_token.token, vectors.caller());
    assert_eq!(unknown.unwrap_err().code, ErrorCode::TokenInvalid);
    assert!(ring.sign_with("gone", &verified.binding, &verified.claims).is_err());
}

fn key(id: &str) -> Key {
    Key { id: id.into(), secret: vec![7; 32] }
}

#[test]
fn k1_keys_that_make_no_ring_are_refused() {
    let ring = |issuer: &str, active, old| KeyRing::new(issuer, active, old).map(drop);
    assert_eq!(ring("here", key("a"), vec![key("b")]), Ok(()));
    assert_eq!(ring("", key("a"), vec![]), Err(InvalidKeyRing::NoIssuer));
    assert_eq!(ring("here", key(""), vec![]), Err(InvalidKeyRing::KeyId));
    assert_eq!(ring("here", key(&"k".repeat(64)), vec![]), Ok(()));
    assert_eq!(ring("here", key("a"), vec![key(&"k".repeat(65))]), Err(InvalidKeyRing::KeyId));
    assert_eq!(ring("here", key("a"), vec![key("a")]), Err(InvalidKeyRing::Repeated("a".into())));
    let short = Key { secret: vec![7; 31], ..key("s") };
    assert_eq!(ring("here", key("a"), vec![short]), Err(InvalidKeyRing::Short("s".into())));
}

#[test]
fn k5_keys_are_not_shown() {
    let ring = KeyRing::new("here", key("a"), []).unwrap();
    for shown in [format!("{:?}", key("a")), format!("{ring:?}")] {
        assert!(!shown.contains('7'), "{shown}");
    }
}

fn cursor() -> impl Strategy<Value = (Binding, CursorClaims)> {
    let text = "[a-z:0-9é]{1,20}";
    (text, text, any::<u64>(), any::<u128>(), any::<u128>(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(
        |(account, principal, issued_at, invocation, stream, position)| {
            let claims =
                CursorClaims { invocation: Uuid::from_u128(invocation), stream: Uuid::from_u128(stream), position };
            (Binding { account, principal, issued_at }, claims)
        },
    )
}

proptest! {
    #[test]
    fn what_was_signed_is_verified_and_no_changed_byte_is((binding, claims) in cursor(), at: prop::sample::Index, bit in 0_u8..6) {
        let ring = KeyRing::new("here", key("a"), []).unwrap();
        let caller = Caller { account: &binding.account, principal: &binding.principal };
        let token = ring.sign(&binding, &claims);
        let verified = ring.verify::<CursorClaims>(&token, caller).unwrap();
        prop_assert_eq!((&verified.binding, &verified.claims), (&binding, &claims));

        let mut changed = token.into_bytes();
        let at = at.index(changed.len());
        changed[at] ^= 1 << bit;
        let changed = String::from_utf8(changed).unwrap();
        prop_assert!(ring.verify::<CursorClaims>(&changed, caller).is_err());
    }

    #[test]
    fn any_text_is_no_token(text in "(gai1_)?[A-Za-z0-9_-]{0,200}") {
        let ring = KeyRing::new("here", key("a"), []).unwrap();
        let verified = ring.verify::<SessionClaims>(&text, Caller { account: "a", principal: "p" });
        prop_assert!(verified.is_err());
    }
}

#[test]
fn step_1_a_token_that_is_too_long_is_not_decoded() {
    let ring = KeyRing::new("here", key("a"), []).unwrap();
    let code = |length: usize| {
        let text = format!("gai1_{}", "A".repeat(length - 5));
        ring.verify::<SessionClaims>(&text, Caller { account: "a", principal: "p" }).unwrap_err().code
    };
    assert_eq!(code(8192), ErrorCode::UnsupportedVersion, "a payload of zeros");
    assert_eq!(code(8193), ErrorCode::ResourceExhausted);
}

mod rules;
