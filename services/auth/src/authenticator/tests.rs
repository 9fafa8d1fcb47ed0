use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;

use axum::Router;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;

const ISSUER: &str = "https://issuer.example";

/// A key of an issuer.
struct Signer {
    id: &'static str,
    algorithm: Algorithm,
    pair: KeyPair,
}

impl Signer {
    fn new(id: &'static str, algorithm: Algorithm) -> Self {
        let of = if algorithm == Algorithm::EdDSA { &PKCS_ED25519 } else { &PKCS_ECDSA_P256_SHA256 };
        Self { id, algorithm, pair: KeyPair::generate_for(of).unwrap() }
    }

    fn jwk(&self) -> Value {
        let public = self.pair.der_bytes();
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self.algorithm {
            Algorithm::EdDSA => json!({"kid": self.id, "kty": "OKP", "crv": "Ed25519", "x": text(public)}),
            _ => json!({"kid": self.id, "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig",
                "x": text(&public[1..33]), "y": text(&public[33..])}),
        }
    }

    fn sign(&self, claims: &Value) -> String {
        let der = self.pair.serialize_der();
        let key = match self.algorithm {
            Algorithm::EdDSA => EncodingKey::from_ed_der(&der),
            _ => EncodingKey::from_ec_der(&der),
        };
        let header = Header { kid: Some(self.id.into()), ..Header::new(self.algorithm) };
        encode(&header, claims, &key).unwrap()
    }
}

#[allow(clippy::disallowed_methods, reason = "tokens expire by the wall clock")]
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": ["agents", "other"], "exp": now() + 100, "sub": "alice", "tenant": "acme"})
}

fn with(changes: &Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn jwks(&self, signers: &[&Signer]) -> PathBuf {
        self.write("jwks.json", &key_set(signers))
    }

    fn trusting(&self, jwks: &str) -> Authenticator {
        let text = format!(
            "[[issuer]]\nissuer = {ISSUER:?}\naudience = \"agents\"\njwks = {jwks:?}\nalgorithms = [\"ES256\", \"EdDSA\"]\n\
             account_claim = \"tenant\"\nprincipal_prefix = \"user:\"\nclock_skew_seconds = 30\n"
        );
        Authenticator::open(&self.write("auth.toml", &text)).unwrap()
    }
}

fn key_set(signers: &[&Signer]) -> String {
    let keys: Vec<_> = signers.iter().map(|signer| signer.jwk()).collect();
    json!({"keys": keys}).to_string()
}

fn key(key: &str, account: &str) -> String {
    let digest = hex::encode(Sha256::digest(key));
    format!("[[key]]\nsha256 = {digest:?}\naccount = {account:?}\nprincipal = \"user:{account}\"\n")
}

fn issuer(jwks: &str) -> String {
    format!("[[issuer]]\nissuer = {ISSUER:?}\naudience = \"a\"\njwks = {jwks:?}\n")
}

fn caller(account: &str, principal: &str) -> Option<Caller> {
    Some(Caller { account: account.into(), principal: principal.into() })
}

#[tokio::test]
async fn static_keys_are_known_by_their_digest_and_follow_the_file() {
    let files = Files::new();
    let path = files.write("auth.toml", &(key("one", "a") + &key("two", "b")));
    let authenticator = Authenticator::open(&path).unwrap();
    assert_eq!(authenticator.caller("one").await, caller("a", "user:a"));
    assert_eq!(authenticator.caller("two").await, caller("b", "user:b"));
    for wrong in ["", "on", "three", &hex::encode(Sha256::digest("one"))] {
        assert_eq!(authenticator.caller(wrong).await, None, "{wrong}");
    }
    files.write("auth.toml", &key("two", "c"));
    assert_eq!(authenticator.caller("one").await, None);
    assert_eq!(authenticator.caller("two").await, caller("c", "user:c"));
}

#[tokio::test]
async fn files_that_say_something_else_are_refused() {
    let files = Files::new();
    for bad in [
        "[[key]]\nsha256 = \"00\"\naccount = \"a\"\nprincipal = \"p\"".to_owned(),
        key("one", ""),
        key("one", "a") + "extra = 1",
        key("one", "a") + &key("two", "b") + &key("one", "b"),
        issuer("https://h/") + &issuer("https://i/"),
        issuer("http://u:p@h/"),
        issuer("http://10.0.0.1/"),
        issuer("http://localhost.example/"),
        issuer("/nowhere"),
        issuer("https://h/") + "algorithms = [\"HS256\"]",
        issuer("https://h/") + "algorithms = [\"none\"]",
        issuer("https://h/") + "algorithms = []",
    ] {
        assert!(Authenticator::open(&files.write("auth.toml", &bad)).is_err(), "{bad}");
    }
    for good in [key("one", "a") + &key("two", "a"), issuer("https://h/"), issuer("http://[::1]:1/")] {
        Authenticator::open(&files.write("auth.toml", &good)).unwrap();
    }
}

#[tokio::test]
async fn tokens_of_an_issuer_are_verified() {
    let files = Files::new();
    let signers = [Signer::new("e", Algorithm::ES256), Signer::new("d", Algorithm::EdDSA)];
    let jwks = files.jwks(&[&signers[0], &signers[1]]);
    let authenticator = files.trusting(jwks.to_str().unwrap());
    for signer in &signers {
        assert_eq!(authenticator.caller(&signer.sign(&claims())).await, caller("acme", "user:alice"));
        let late = signer.sign(&with(&json!({"exp": now() - 10})));
        assert_eq!(authenticator.caller(&late).await, caller("acme", "user:alice"), "within the skew");
        for bad in [
            json!({"iss": "https://other.example"}),
            json!({"iss": null}),
            json!({"aud": "other"}),
            json!({"aud": null}),
            json!({"exp": now() - 100}),
            json!({"exp": null}),
            json!({"nbf": now() + 100}),
            json!({"tenant": null}),
            json!({"tenant": 7}),
            json!({"sub": ""}),
        ] {
            assert_eq!(authenticator.caller(&signer.sign(&with(&bad))).await, None, "{bad}");
        }
    }
    let impostor = Signer::new("e", Algorithm::ES256);
    assert_eq!(authenticator.caller(&impostor.sign(&claims())).await, None);
    let unknown = Signer::new("x", Algorithm::ES256);
    assert_eq!(authenticator.caller(&unknown.sign(&claims())).await, None);
}

#[tokio::test]
async fn no_token_is_valid_without_a_signature_or_by_a_public_key_as_secret() {
    let files = Files::new();
    let signer = Signer::new("e", Algorithm::ES256);
    let jwks = files.jwks(&[&signer]);
    let authenticator = files.trusting(jwks.to_str().unwrap());
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    for algorithm in ["none", "None", "NONE"] {
        let unsigned = format!("{}.{}.", part(&json!({"alg": algorithm, "kid": "e"})), part(&claims()));
        assert_eq!(authenticator.caller(&unsigned).await, None, "{algorithm}");
    }
    let secret = EncodingKey::from_secret(signer.pair.der_bytes()).unwrap();
    let header = Header { kid: Some("e".into()), ..Header::new(Algorithm::HS256) };
    assert_eq!(authenticator.caller(&encode(&header, &claims(), &secret).unwrap()).await, None);
}

#[tokio::test]
async fn keys_in_a_file_follow_it() {
    let files = Files::new();
    let (old, new) = (Signer::new("old", Algorithm::ES256), Signer::new("new", Algorithm::ES256));
    let jwks = files.jwks(&[&old]);
    let authenticator = files.trusting(jwks.to_str().unwrap());
    assert!(authenticator.caller(&old.sign(&claims())).await.is_some());
    files.jwks(&[&new, &new]);
    assert!(authenticator.caller(&old.sign(&claims())).await.is_none());
    assert!(authenticator.caller(&new.sign(&claims())).await.is_some());
}

/// An issuer that counts how often its keys are asked for.
struct Provider {
    address: SocketAddr,
    state: Arc<Mutex<(String, usize)>>,
}

impl Provider {
    async fn start(signers: &[&Signer]) -> Self {
        let state = Arc::new(Mutex::new((key_set(signers), 0)));
        let shared = Arc::clone(&state);
        let answer = move || {
            let mut state = shared.lock().unwrap();
            state.1 += 1;
            let text = state.0.clone();
            async move { text }
        };
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        #[allow(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(async move { axum::serve(socket, Router::new().route("/keys", get(answer))).await });
        Self { address, state }
    }

    fn asked(&self) -> usize {
        self.state.lock().unwrap().1
    }
}

#[tokio::test]
async fn keys_at_a_url_are_cached_and_asked_for_again_when_one_is_unknown_but_not_each_time() {
    let files = Files::new();
    let (old, new) = (Signer::new("old", Algorithm::ES256), Signer::new("new", Algorithm::ES256));
    let provider = Provider::start(&[&old]).await;
    let authenticator = files.trusting(&format!("http://{}/keys", provider.address));
    assert_eq!(provider.asked(), 0);
    for _ in 0..3 {
        assert!(authenticator.caller(&old.sign(&claims())).await.is_some());
    }
    assert_eq!(provider.asked(), 1);
    provider.state.lock().unwrap().0 = key_set(&[&old, &new]);
    for _ in 0..3 {
        assert!(authenticator.caller(&new.sign(&claims())).await.is_none(), "asked a moment ago");
    }
    assert_eq!(provider.asked(), 1);
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(31)).await;
    tokio::time::resume();
    for _ in 0..3 {
        assert!(authenticator.caller(&new.sign(&claims())).await.is_some());
        assert!(authenticator.caller(&old.sign(&claims())).await.is_some());
    }
    assert_eq!(provider.asked(), 2);
}

#[tokio::test]
async fn the_development_caller_needs_no_credential() {
    let authenticator = Authenticator::development();
    assert_eq!(authenticator.caller("x").await, caller("development", "development"));
}
