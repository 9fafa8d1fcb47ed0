//! What makes two first messages the same (protocol.md 14.1).

use sha2::{Digest, Sha256};
use stream_session::json::{Json, Writer};
use stream_session::message::{Attach, ConfigEntry, Start};
use stream_session::value::Value;

/// Digest of a start, whose values were read.
pub(super) fn of_start(start: &Start<'_>, constructor_parameters: &Value, method_parameters: &Value) -> [u8; 32] {
    let mut to = Writer::default();
    to.open('{');
    to.text_member("attemptId", &start.attempt.to_string());
    to.name("config");
    to.array(&start.config, config_entry);
    to.text_member("idempotencyKey", &start.idempotency_key);
    to.name("methodParameters");
    method_parameters.write(&mut to);
    to.name("selector");
    to.open('{');
    to.text_member("agentType", &start.selector.agent_type);
    to.text_member("application", &start.selector.application);
    to.name("constructorParameters");
    constructor_parameters.write(&mut to);
    to.text_member("environment", &start.selector.environment);
    to.text_member("method", &start.selector.method);
    if let Some(phantom) = start.selector.phantom {
        to.text_member("phantomId", &phantom.to_string());
    }
    to.close('}');
    to.text_member("type", "invocationStart");
    to.close('}');
    Sha256::digest(to.finish()).into()
}

/// Digest of a resume or a takeover. The order of its cursors does not count.
pub(super) fn of_attach(attach: &Attach) -> [u8; 32] {
    let mut cursors: Vec<_> = attach.output_cursors.iter().collect();
    cursors.sort_unstable();
    let mut to = Writer::default();
    to.open('{');
    to.text_member("attemptId", &attach.attempt.to_string());
    to.text_member("operation", attach.operation.as_str());
    to.name("outputCursors");
    to.array(cursors, |to, cursor| to.string(cursor));
    to.text_member("sessionToken", &attach.session_token);
    to.text_member("type", "resumeAttach");
    to.close('}');
    Sha256::digest(to.finish()).into()
}

fn config_entry(to: &mut Writer, entry: &ConfigEntry<'_>) {
    to.open('{');
    to.name("path");
    to.array(&entry.path, |to, name| to.string(name));
    to.name("value");
    plain(to, &entry.value);
    to.close('}');
}

/// JSON in which a number is written in one way only, whatever its spelling was.
fn plain(to: &mut Writer, value: &Json<'_>) {
    match value {
        Json::Number(spelling) => to.raw(&number(spelling)),
        Json::Array(elements) => to.array(elements, plain),
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            to.open('{');
            for (name, value) in members {
                to.name(name);
                plain(to, value);
            }
            to.close('}');
        }
        other => to.value(other),
    }
}

/// The digits of a number without zeros at either end, and the power of ten that they are to be multiplied with.
fn number(spelling: &str) -> String {
    let (sign, unsigned) = spelling.strip_prefix('-').map_or(("", spelling), |rest| ("-", rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let dropped = digits.len() - significant.len();
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    // An exponent that no number can hold is told apart by its spelling.
    let exponent = match exponent.parse::<i64>() {
        Ok(exponent) => exponent.saturating_add(dropped as i64).saturating_sub(fraction.len() as i64).to_string(),
        Err(_) => format!("{exponent}+{dropped}-{}", fraction.len()),
    };
    format!("{sign}{significant}e{exponent}")
}

#[cfg(test)]
mod tests {
    use stream_session::message::Operation;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn numbers_are_the_same_if_they_are_equal() {
        for (one, other) in [("1", "1.0"), ("100", "1e2"), ("0.5", "5E-1"), ("-0", "0.00"), ("12.50", "125e-1")] {
            assert_eq!(number(one), number(other), "{one} {other}");
        }
        for (one, other) in [("1", "10"), ("1", "-1"), ("0.1", "0.01"), ("1e3", "1e4"), ("101", "11")] {
            assert_ne!(number(one), number(other), "{one} {other}");
        }
    }

    #[test]
    fn cursors_are_a_set() {
        let attach = |cursors: &[&str]| Attach {
            attempt: Uuid::from_u128(1),
            operation: Operation::Resume,
            session_token: "t".into(),
            output_cursors: cursors.iter().map(|cursor| (*cursor).to_owned()).collect(),
        };
        assert_eq!(of_attach(&attach(&["a", "b"])), of_attach(&attach(&["b", "a"])));
        assert_ne!(of_attach(&attach(&["a", "b"])), of_attach(&attach(&["a"])));
        let takeover = Attach { operation: Operation::Takeover, ..attach(&[]) };
        assert_ne!(of_attach(&takeover), of_attach(&attach(&[])));
    }
}
