use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cluster::{NatsCredentials, NatsSettings, NatsTls};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa};
use support::NatsServer;

use crate::world::{pair, settings, start, until};

fn as_user(server: &NatsServer, credentials: NatsCredentials) -> NatsSettings {
    NatsSettings { credentials, ..settings(&server.url()) }
}

/// The right credentials let a node in, the wrong ones and none do not.
async fn opens(server: &NatsServer, right: NatsCredentials, wrong: NatsCredentials) {
    let (wrong, none) = (start("wrong", as_user(server, wrong)), start("none", as_user(server, NatsCredentials::None)));
    let (one, two) = pair(&as_user(server, right)).await;
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
    assert!(!wrong.is_connected() && !none.is_connected());
}

fn password(user: &str, password: &str) -> NatsCredentials {
    NatsCredentials::Password { user: user.into(), password: password.into() }
}

#[tokio::test]
async fn a_password_opens_the_door() {
    let users = r#"authorization { users = [ { user: "me", password: "right" } ] }"#;
    let server = NatsServer::configured(users).await;
    opens(&server, password("me", "right"), password("me", "wrong")).await;
}

#[tokio::test]
async fn a_token_opens_the_door() {
    let server = NatsServer::configured(r#"authorization { token: "right" }"#).await;
    opens(&server, NatsCredentials::Token("right".into()), NatsCredentials::Token("wrong".into())).await;
}

fn file(directory: &Path, name: &str, content: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[tokio::test]
async fn an_nkey_opens_the_door() {
    let directory = tempfile::tempdir().unwrap();
    let (right, wrong) = (KeyPair::new_user(), KeyPair::new_user());
    let users = format!(r#"authorization {{ users = [ {{ nkey: "{}" }} ] }}"#, right.public_key());
    let server = NatsServer::configured(&users).await;
    let seed = |key: &KeyPair, name: &str| {
        NatsCredentials::Nkey(file(directory.path(), name, &format!("{}\n", key.seed().unwrap())))
    };
    opens(&server, seed(&right, "right"), seed(&wrong, "wrong")).await;
}

#[tokio::test]
async fn a_credentials_file_opens_the_door() {
    let directory = tempfile::tempdir().unwrap();
    let (operator, account, user) = (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_user());
    let operators = jwt(&operator, &operator, "operator", "");
    let accounts = jwt(&operator, &account, "account", r#","limits":{"conn":-1,"subs":-1,"data":-1,"payload":-1}"#);
    let resolver = format!(
        "operator: {operators}\nresolver: MEMORY\nresolver_preload: {{ {}: {accounts} }}",
        account.public_key()
    );
    let server = NatsServer::configured(&resolver).await;
    let creds = |issuer: &KeyPair, name: &str| {
        let token = jwt(issuer, &user, "user", r#","subs":-1,"data":-1,"payload":-1"#);
        let seed = user.seed().unwrap();
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        NatsCredentials::Creds(file(directory.path(), name, &text))
    };
    opens(&server, creds(&account, "right"), creds(&KeyPair::new_account(), "wrong")).await;
}

/// A claim of NATS, signed by `issuer`.
fn jwt(issuer: &KeyPair, subject: &KeyPair, kind: &str, more: &str) -> String {
    let header = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let claims = format!(
        r#"{{"jti":"{kind}","iat":1700000000,"iss":"{}","name":"{kind}","sub":"{}","nats":{{"type":"{kind}","version":2{more}}}}}"#,
        issuer.public_key(),
        subject.public_key(),
    );
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn a_password_that_is_put_right_opens_the_door_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (right, wrong) = (KeyPair::new_user(), KeyPair::new_user());
    let users = format!(r#"authorization {{ users = [ {{ nkey: "{}" }} ] }}"#, right.public_key());
    let server = NatsServer::configured(&users).await;
    let seed = file(directory.path(), "seed", &wrong.seed().unwrap());
    let node = start("one", as_user(&server, NatsCredentials::Nkey(seed.clone())));
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!node.is_connected());
    std::fs::write(&seed, right.seed().unwrap()).unwrap();
    until("it is let in", || node.is_connected()).await;
}

/// Certificates of a test: an authority, and one of its certificates with the key.
struct Certificates {
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

fn certificates(directory: &Path) -> Certificates {
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(ca, rcgen::KeyPair::generate().unwrap()).unwrap();
    let mut leaf = CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = leaf.signed_by(&key, &ca).unwrap();
    Certificates {
        ca: file(directory, "ca.pem", &ca.pem()),
        certificate: file(directory, "certificate.pem", &certificate.pem()),
        key: file(directory, "key.pem", &key.serialize_pem()),
    }
}

#[tokio::test]
async fn tls_is_spoken_with_servers_and_nodes_of_the_authority() {
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ours = certificates(directory.path());
    let theirs = certificates(elsewhere.path());
    let (ca, certificate, key) = (ours.ca.display(), ours.certificate.display(), ours.key.display());
    let server = NatsServer::configured(&format!(
        r#"tls {{ ca_file: "{ca}", cert_file: "{certificate}", key_file: "{key}", verify: true }}"#
    ))
    .await;
    let with = |tls: NatsTls| NatsSettings { tls, ..settings(&format!("tls://{}", server.address())) };
    let identity = Some((ours.certificate.clone(), ours.key.clone()));

    let nobody = start("nobody", with(NatsTls { ca: Some(ours.ca.clone()), identity: None }));
    let distrustful = start("distrustful", with(NatsTls { ca: Some(theirs.ca), identity: identity.clone() }));
    let (one, two) = pair(&with(NatsTls { ca: Some(ours.ca), identity })).await;
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
    assert!(!nobody.is_connected() && !distrustful.is_connected());
}

#[tokio::test]
async fn a_node_needs_no_other_subjects_than_those_under_its_prefix() {
    let users = r#"authorization { users = [ { user: "me", password: "right",
        permissions { publish: "agentsessions.>", subscribe: "agentsessions.>" } } ] }"#;
    let server = NatsServer::configured(users).await;
    let (one, two) = pair(&as_user(&server, password("me", "right"))).await;
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
    let mut follower = cluster::Coordinator::follow(&two.nats, &crate::world::uid("sess-1"));
    crate::world::until_heard(&one, "sess-1", &mut follower).await;
}
