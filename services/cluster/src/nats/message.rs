//! What nodes say to each other over NATS. Protobuf, so that nodes of neighbouring versions understand each other: fields
//! that a node does not know are ignored, and a kind of message that it does not know reads as `None`.

use journal::{ExecutionId, Incarnation, Seq, SessionUid};
use prost::{Message, Oneof};
use thiserror::Error;

use super::directory::{Beat, NodeInfo};
use crate::{News, Node, Question};

/// Largest message that is sent, and that is looked at when it comes, in bytes.
pub(super) const MAX_BYTES: usize = 128 * 1024;

/// Longest text by which a node or a turn is called, in bytes.
const MAX_NAME: usize = 256;

/// A message that this protocol does not allow.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("the message cannot be decoded")]
pub(super) struct Undecodable;

/// What a node asks or tells one run of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Question(Question),
    Dispossessed(SessionUid),
}

#[derive(Message)]
struct BeatMessage {
    #[prost(fixed64, tag = "1")]
    incarnation: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    address: String,
    #[prost(string, tag = "4")]
    version: String,
    #[prost(uint64, tag = "5")]
    lost: u64,
    #[prost(bool, tag = "6")]
    farewell: bool,
}

#[derive(Message)]
struct ErrandMessage {
    #[prost(oneof = "ErrandKind", tags = "1, 2, 3")]
    kind: Option<ErrandKind>,
}

#[derive(Oneof)]
enum ErrandKind {
    #[prost(message, tag = "1")]
    Busy(BusyMessage),
    #[prost(message, tag = "2")]
    Cancel(CancelMessage),
    #[prost(message, tag = "3")]
    Dispossessed(DispossessedMessage),
}

#[derive(Message)]
struct BusyMessage {
    #[prost(string, tag = "1")]
    session: String,
}

#[derive(Message)]
struct CancelMessage {
    #[prost(string, tag = "1")]
    session: String,
    #[prost(string, optional, tag = "2")]
    execution: Option<String>,
    #[prost(string, tag = "3")]
    reason: String,
}

#[derive(Message)]
struct DispossessedMessage {
    #[prost(string, tag = "1")]
    session: String,
}

#[derive(Message)]
struct AnswerMessage {
    /// Absent: it cannot be told.
    #[prost(bool, optional, tag = "1")]
    yes: Option<bool>,
}

#[derive(Message)]
struct NewsMessage {
    #[prost(oneof = "NewsKind", tags = "1, 2, 3")]
    kind: Option<NewsKind>,
}

#[derive(Oneof)]
enum NewsKind {
    #[prost(message, tag = "1")]
    Appended(AppendedMessage),
    #[prost(message, tag = "2")]
    Delta(DeltaMessage),
    #[prost(message, tag = "3")]
    Streamed(StreamedMessage),
}

#[derive(Message)]
struct AppendedMessage {
    #[prost(int64, tag = "1")]
    last_seq: i64,
}

#[derive(Message)]
struct DeltaMessage {
    #[prost(string, tag = "1")]
    execution: String,
    #[prost(string, tag = "2")]
    text: String,
    #[prost(bool, tag = "3")]
    last: bool,
}

#[derive(Message)]
struct StreamedMessage {}

pub(super) fn encode_beat(beat: &Beat) -> Vec<u8> {
    let message = match beat {
        Beat::Alive { info, lost } => BeatMessage {
            incarnation: info.node.incarnation.number(),
            name: info.node.name.clone(),
            address: info.address.clone(),
            version: info.version.clone(),
            lost: *lost,
            farewell: false,
        },
        Beat::Farewell(incarnation) => {
            BeatMessage { incarnation: incarnation.number(), farewell: true, ..BeatMessage::default() }
        }
    };
    message.encode_to_vec()
}

pub(super) fn decode_beat(bytes: &[u8]) -> Result<Beat, Undecodable> {
    let message: BeatMessage = decode(bytes)?;
    let incarnation = Incarnation::from_number(message.incarnation).ok_or(Undecodable)?;
    if message.farewell {
        return Ok(Beat::Farewell(incarnation));
    }
    let node = Node { name: named(message.name)?, incarnation };
    let info = NodeInfo { node, address: named(message.address)?, version: named(message.version)? };
    Ok(Beat::Alive { info, lost: message.lost })
}

pub(super) fn encode_errand(errand: Errand) -> Vec<u8> {
    let text = |session: SessionUid| session.as_str().to_owned();
    let kind = match errand {
        Errand::Question(Question::Busy { session }) => ErrandKind::Busy(BusyMessage { session: text(session) }),
        Errand::Question(Question::Cancel { session, execution, reason }) => {
            let execution = execution.map(|execution| execution.as_str().to_owned());
            ErrandKind::Cancel(CancelMessage { session: text(session), execution, reason })
        }
        Errand::Dispossessed(session) => ErrandKind::Dispossessed(DispossessedMessage { session: text(session) }),
    };
    ErrandMessage { kind: Some(kind) }.encode_to_vec()
}

pub(super) fn decode_errand(bytes: &[u8]) -> Result<Option<Errand>, Undecodable> {
    let message: ErrandMessage = decode(bytes)?;
    let Some(kind) = message.kind else { return Ok(None) };
    let errand = match kind {
        ErrandKind::Busy(BusyMessage { session }) => Errand::Question(Question::Busy { session: uid(&session)? }),
        ErrandKind::Cancel(CancelMessage { session, execution, reason }) => {
            let execution = execution.map(named).transpose()?.map(|text| ExecutionId::new(&text));
            Errand::Question(Question::Cancel { session: uid(&session)?, execution, reason })
        }
        ErrandKind::Dispossessed(DispossessedMessage { session }) => Errand::Dispossessed(uid(&session)?),
    };
    Ok(Some(errand))
}

/// `None` says that it cannot be told.
pub(super) fn encode_answer(yes: Option<bool>) -> Vec<u8> {
    AnswerMessage { yes }.encode_to_vec()
}

pub(super) fn decode_answer(bytes: &[u8]) -> Result<Option<bool>, Undecodable> {
    decode::<AnswerMessage>(bytes).map(|message| message.yes)
}

pub(super) fn encode_news(news: News) -> Vec<u8> {
    let kind = match news {
        News::Appended { last_seq } => NewsKind::Appended(AppendedMessage { last_seq: last_seq.to_wire() }),
        News::Delta { execution, text, last } => {
            NewsKind::Delta(DeltaMessage { execution: execution.as_str().to_owned(), text, last })
        }
        News::Streamed => NewsKind::Streamed(StreamedMessage {}),
    };
    NewsMessage { kind: Some(kind) }.encode_to_vec()
}

pub(super) fn decode_news(bytes: &[u8]) -> Result<Option<News>, Undecodable> {
    let message: NewsMessage = decode(bytes)?;
    let Some(kind) = message.kind else { return Ok(None) };
    let news = match kind {
        NewsKind::Appended(AppendedMessage { last_seq }) => {
            News::Appended { last_seq: Seq::from_wire(last_seq).ok_or(Undecodable)? }
        }
        NewsKind::Delta(DeltaMessage { execution, text, last }) => {
            News::Delta { execution: ExecutionId::new(&named(execution)?), text, last }
        }
        NewsKind::Streamed(StreamedMessage {}) => News::Streamed,
    };
    Ok(Some(news))
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Undecodable> {
    if bytes.len() > MAX_BYTES {
        return Err(Undecodable);
    }
    M::decode(bytes).map_err(|_malformed| Undecodable)
}

fn uid(text: &str) -> Result<SessionUid, Undecodable> {
    SessionUid::parse(text).map_err(|_invalid| Undecodable)
}

fn named(text: String) -> Result<String, Undecodable> {
    if text.len() > MAX_NAME { Err(Undecodable) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn incarnation() -> impl Strategy<Value = Incarnation> {
        (1..=u64::MAX).prop_map(|number| Incarnation::from_number(number).unwrap())
    }

    fn session() -> impl Strategy<Value = SessionUid> {
        "[^\0]{1,60}".prop_map(|text| SessionUid::parse(&text).unwrap())
    }

    fn beat() -> impl Strategy<Value = Beat> {
        let alive = (incarnation(), ".{0,60}", ".{0,20}", ".{0,20}", any::<u64>());
        let alive = alive.prop_map(|(incarnation, name, address, version, lost)| {
            let info = NodeInfo { node: Node { name, incarnation }, address, version };
            Beat::Alive { info, lost }
        });
        prop_oneof![alive, incarnation().prop_map(Beat::Farewell)]
    }

    fn errand() -> impl Strategy<Value = Errand> {
        let cancel =
            (session(), proptest::option::of("[0-9a-f]{0,32}"), ".*").prop_map(|(session, execution, reason)| {
                let execution = execution.map(|text| ExecutionId::new(&text));
                Errand::Question(Question::Cancel { session, execution, reason })
            });
        prop_oneof![
            session().prop_map(|session| Errand::Question(Question::Busy { session })),
            cancel,
            session().prop_map(Errand::Dispossessed),
        ]
    }

    fn news() -> impl Strategy<Value = News> {
        let delta = ("[0-9a-f]{0,32}", ".*", any::<bool>());
        prop_oneof![
            (0..=i64::MAX).prop_map(|seq| News::Appended { last_seq: Seq::from_wire(seq).unwrap() }),
            delta.prop_map(|(id, text, last)| News::Delta { execution: ExecutionId::new(&id), text, last }),
            Just(News::Streamed),
        ]
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read(beat in beat(), errand in errand(), news in news(), yes in any::<Option<bool>>()) {
            prop_assert_eq!(decode_beat(&encode_beat(&beat)), Ok(beat));
            prop_assert_eq!(decode_errand(&encode_errand(errand.clone())), Ok(Some(errand)));
            prop_assert_eq!(decode_news(&encode_news(news.clone())), Ok(Some(news)));
            prop_assert_eq!(decode_answer(&encode_answer(yes)), Ok(yes));
        }

        #[test]
        fn no_bytes_make_a_node_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (decode_beat(&bytes), decode_errand(&bytes), decode_news(&bytes), decode_answer(&bytes));
        }
    }

    #[test]
    fn what_a_later_version_adds_is_ignored() {
        // Field 15, length-delimited, one byte.
        let later = [0x7a, 1, 0];
        assert_eq!(decode_errand(&later), Ok(None));
        assert_eq!(decode_news(&later), Ok(None));
        assert_eq!(decode_answer(&later), Ok(None));
        let farewell = Beat::Farewell(Incarnation::from_number(7).unwrap());
        assert_eq!(decode_beat(&[encode_beat(&farewell), later.to_vec()].concat()), Ok(farewell));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!(decode_beat(&[]), Err(Undecodable), "no incarnation");
        assert_eq!(decode_errand(&[0x0a, 0]), Err(Undecodable), "no session");
        let negative = NewsMessage { kind: Some(NewsKind::Appended(AppendedMessage { last_seq: -1 })) };
        assert_eq!(decode_news(&negative.encode_to_vec()), Err(Undecodable));
        let long = News::Delta { execution: ExecutionId::default(), text: "x".repeat(MAX_BYTES), last: false };
        assert_eq!(decode_news(&encode_news(long)), Err(Undecodable));
    }
}
