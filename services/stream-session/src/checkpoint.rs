//! The file with which a later process goes on with a session (checkpoint.md sections 2 to 4), as text. Writing it to disk
//! is the caller's.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::json::members::{object, optional, required, string};
use crate::json::{Json, Members, canonical, pretty};
use crate::message::{ClientMessage, Selector, check_selector};
use crate::{ErrorCode, Refusal};

/// Version 1 of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// A digest of the schema graph, the constructor and the method.
    pub schema_evidence: String,
    /// What is invoked, as canonical JSON.
    pub selector: String,
    /// The key of the invocation.
    pub idempotency_key: String,
    /// Of the latest acceptance.
    pub session_token: Option<String>,
    /// By stream token: how far the output was delivered.
    pub delivered_output_cursors: BTreeMap<String, String>,
    /// A whole first message that was sent, or was about to be, and is not answered, as canonical JSON.
    pub pending: Option<String>,
}

impl Checkpoint {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// `unsupported-version`, `malformed-message` or `validation-error`; each is final.
    pub fn read(text: &[u8]) -> Result<Self, Refusal> {
        let json = Json::parse(text)?;
        let file = object(&json)?;
        check_version(file, "version")?;
        check_version(file, "protocolVersion")?;
        let names =
            ["deliveredOutputCursors", "idempotencyKey", "protocolVersion", "schemaEvidence", "selector", "version"];
        file.expect(&names, &["pendingOperation", "sessionToken"])?;
        let checkpoint = Self {
            schema_evidence: required(file, "schemaEvidence", string)?,
            selector: required(file, "selector", selector)?,
            idempotency_key: required(file, "idempotencyKey", string)?,
            session_token: optional(file, "sessionToken", string)?,
            delivered_output_cursors: required(file, "deliveredOutputCursors", cursors)?,
            pending: optional(file, "pendingOperation", pending)?,
        };
        checkpoint.check()?;
        Ok(checkpoint)
    }

    /// The text of the file: pretty-printed, with a final newline.
    #[must_use]
    pub fn write(&self) -> String {
        let selector = Json::parse(self.selector.as_bytes()).unwrap_or(Json::Null);
        let request = self.pending.as_ref().map(|text| Json::parse(text.as_bytes()).unwrap_or(Json::Null));
        let one = || Json::Number(Cow::Borrowed("1"));
        let cursors = self.delivered_output_cursors.iter().map(|(token, cursor)| (token.as_str(), text(cursor)));
        let members = [
            Some(("deliveredOutputCursors", Json::Object(cursors.collect()))),
            Some(("idempotencyKey", text(&self.idempotency_key))),
            request.map(|request| ("pendingOperation", Json::Object([("request", request)].into_iter().collect()))),
            Some(("protocolVersion", one())),
            Some(("schemaEvidence", text(&self.schema_evidence))),
            Some(("selector", selector)),
            self.session_token.as_ref().map(|token| ("sessionToken", text(token))),
            Some(("version", one())),
        ];
        let mut file = pretty(&Json::Object(members.into_iter().flatten().collect()));
        file.push('\n');
        file
    }

    fn check(&self) -> Result<(), Refusal> {
        let texts = [Some(&self.schema_evidence), Some(&self.idempotency_key), self.session_token.as_ref()];
        let cursors = self.delivered_output_cursors.iter().flat_map(|(token, cursor)| [token, cursor]);
        if texts.into_iter().flatten().chain(cursors).any(String::is_empty) {
            return Err(Refusal::invalid("a text in the checkpoint is empty"));
        }
        let starts = match &self.pending {
            None => None,
            Some(text) => {
                let message = ClientMessage::decode(text.as_bytes()).map_err(|undecodable| undecodable.refusal)?;
                Some(matches!(message, ClientMessage::Start(_)))
            }
        };
        match (&self.session_token, starts) {
            (None, None | Some(false)) => Err(Refusal::invalid("the checkpoint has nothing to go on with")),
            _ => Ok(()),
        }
    }
}

fn check_version(file: &Members<'_>, name: &str) -> Result<(), Refusal> {
    match file.get(name) {
        Some(Json::Number(version)) if version == "1" => Ok(()),
        _ => Err(Refusal::new(ErrorCode::UnsupportedVersion, "the checkpoint is of another version")),
    }
}

fn selector(json: &Json<'_>) -> Result<String, Refusal> {
    let _: Selector<'_> = check_selector(json.clone())?;
    Ok(canonical(json))
}

fn cursors(json: &Json<'_>) -> Result<BTreeMap<String, String>, Refusal> {
    object(json)?.iter().map(|(token, cursor)| Ok((token.to_owned(), string(cursor)?))).collect()
}

fn pending(json: &Json<'_>) -> Result<String, Refusal> {
    let operation = object(json)?;
    operation.expect(&["request"], &[])?;
    let text = required(operation, "request", |request| Ok(canonical(request)))?;
    let message = ClientMessage::decode(text.as_bytes()).map_err(|undecodable| undecodable.refusal)?;
    match message {
        ClientMessage::Start(_) | ClientMessage::Attach(_) => Ok(text),
        _ => Err(Refusal::malformed("the pending operation neither starts nor attaches")),
    }
}

fn text(text: &str) -> Json<'_> {
    Json::String(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTACH: &str = r#"{"attemptId":"47be00cd-78aa-4e41-a41d-2517060e540e","operation":"resume","outputCursors":[],"sessionToken":"t","type":"resumeAttach","version":1}"#;

    fn checkpoint() -> Checkpoint {
        let record = r#"{"kind":"record","value":{"fields":[]}}"#;
        Checkpoint {
            schema_evidence: "ab12".into(),
            selector: format!(
                r#"{{"agentType":"a","application":"b","constructorParameters":{record},"environment":"c","method":"d"}}"#
            ),
            idempotency_key: "key \" with a quote".into(),
            session_token: Some("gai1_x".into()),
            delivered_output_cursors: BTreeMap::from([("s1".into(), "c1".into()), ("s2".into(), "c2".into())]),
            pending: Some(ATTACH.into()),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let written = checkpoint().write();
        assert!(written.ends_with("}\n") && written.contains("\n  \"version\": 1"), "{written}");
        assert_eq!(Checkpoint::read(written.as_bytes()), Ok(checkpoint()));
        let bare = Checkpoint { delivered_output_cursors: BTreeMap::new(), pending: None, ..checkpoint() };
        assert_eq!(Checkpoint::read(bare.write().as_bytes()), Ok(bare));
    }

    #[test]
    fn section_2_what_is_no_checkpoint_is_refused() {
        let code = |text: &str| Checkpoint::read(text.as_bytes()).err().map(|refusal| refusal.code);
        let bare = Checkpoint { session_token: None, pending: None, ..checkpoint() };
        assert_eq!(code(&bare.write()), Some(ErrorCode::ValidationError), "neither a session nor a start");
        let written = checkpoint().write();
        let changed = |from: &str, to: &str| {
            assert!(written.contains(from), "{from}");
            code(&written.replace(from, to))
        };
        assert_eq!(changed("\"version\": 1\n", "\"version\": 2\n"), Some(ErrorCode::UnsupportedVersion));
        assert_eq!(changed("\"protocolVersion\": 1", "\"protocolVersion\": 2"), Some(ErrorCode::UnsupportedVersion));
        assert_eq!(changed("\"schemaEvidence\"", "\"other\""), Some(ErrorCode::MalformedMessage));
        assert_eq!(changed("\"ab12\"", "\"\""), Some(ErrorCode::ValidationError));
        assert_eq!(changed("\"c1\"", "\"\""), Some(ErrorCode::ValidationError));
        assert_eq!(changed("\"agentType\": \"a\"", "\"agentType\": \"\""), Some(ErrorCode::ValidationError));
        assert_eq!(changed("resumeAttach", "inputStreamEnd"), Some(ErrorCode::MalformedMessage));
        assert_eq!(changed("\"s2\"", "\"s1\""), Some(ErrorCode::MalformedMessage), "the same name twice");
        assert_eq!(changed("\"s2\"", "\"\""), Some(ErrorCode::ValidationError), "a cursor of no stream");
        assert_eq!(changed("\"c2\"", "null"), Some(ErrorCode::MalformedMessage));
        assert_eq!(changed("\"gai1_x\"", "null"), Some(ErrorCode::MalformedMessage), "absent, not null");
        assert_eq!(changed("\"gai1_x\"", "\"\""), Some(ErrorCode::ValidationError));
        assert_eq!(changed("\"request\"", "\"message\""), Some(ErrorCode::MalformedMessage));
        assert_eq!(
            changed("\"version\": 1\n", "\"version\": 1,\n\"generation\": 1\n"),
            Some(ErrorCode::MalformedMessage)
        );
        assert_eq!(changed("  \"protocolVersion\": 1,\n", ""), Some(ErrorCode::UnsupportedVersion), "both are there");
        let useless = Checkpoint { session_token: None, ..checkpoint() };
        assert_eq!(code(&useless.write()), Some(ErrorCode::ValidationError), "an attach without a session");
        assert_eq!(code("{"), Some(ErrorCode::MalformedMessage));
    }
}
