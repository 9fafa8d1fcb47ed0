//! Every key of the journal, in one place; `docs/journal-layout.md` has the table.

mod invocations;
mod tuple;

use bytes::Bytes;
use store::KeyRange;

use crate::{Seq, SessionUid};
use tuple::{Tuple, TupleReader};

pub(crate) use invocations::*;

/// First element of every key, so that a store shared with something else is told apart.
const ROOT: &str = "as";

/// Families: the second element.
const FORMAT: u64 = 0;
const SESSION: u64 = 1;
const LISTING: u64 = 2;
const HARNESS: u64 = 3;
const RESERVED_HARNESS: u64 = 4;
const REGISTRY_CHANGES: u64 = 5;
const PENDING_LISTING: u64 = 6;
const IMPORT: u64 = 7;
const TOMBSTONE: u64 = 8;
const REMOVAL: u64 = 9;
const PIN: u64 = 10;
const INSTANCE_OF: u64 = 11;
const ATTEMPT: u64 = 12;
const HEARTBEAT: u64 = 13;
const RUN: u64 = 14;
const HELD: u64 = 15;
const TOKEN_KEY: u64 = 16;
const FINISHED: u64 = 17;

/// Rows of a session: the element after its uid. The two that make up its state are neighbours, read as one range. They
/// come right after the latest batch, so that an append changes one page of a B-tree instead of two.
const BATCH: u64 = 0;
const METADATA: u64 = 1;
const HEAD: u64 = 2;
const INSTANCE: u64 = 3;
const RUNNER: u64 = 4;
const QUEUE: u64 = 5;
const INVOCATION: u64 = 6;
const USED: u64 = 7;

fn family(family: u64) -> Tuple {
    Tuple::default().text(ROOT).uint(family)
}

/// The row that says which layout the journal has.
pub(crate) fn format() -> Bytes {
    family(FORMAT).key()
}

/// The registration of a harness.
pub(crate) fn harness(name: &str) -> Bytes {
    family(HARNESS).text(name).key()
}

/// The registrations whose names come after `name`; all of them if there is none.
pub(crate) fn harness_range(after: Option<&str>) -> KeyRange {
    let begin = after.map_or_else(|| family(HARNESS).key(), |name| after_key(&harness(name)));
    KeyRange::new(begin, family(HARNESS).end())
}

/// The least key after `key`.
fn after_key(key: &[u8]) -> Bytes {
    [key, &[0]].concat().into()
}

/// Reads a key of [`harness_range`] or of [`reserved_harnesses`].
pub(crate) fn decode_harness(key: &[u8]) -> Option<String> {
    let mut reader = TupleReader::new(key);
    reader.text()?;
    reader.uint()?;
    let name = reader.text()?;
    reader.is_empty().then_some(name)
}

/// The row that keeps a name from being registered.
pub(crate) fn reserved_harness(name: &str) -> Bytes {
    family(RESERVED_HARNESS).text(name).key()
}

/// The names that may not be registered, those after `name` if there is one.
pub(crate) fn reserved_harnesses(after: Option<&str>) -> KeyRange {
    let begin = after.map_or_else(|| family(RESERVED_HARNESS).key(), |name| after_key(&reserved_harness(name)));
    KeyRange::new(begin, family(RESERVED_HARNESS).end())
}

/// The counter that every change of a registration moves.
pub(crate) fn registry_changes() -> Bytes {
    family(REGISTRY_CHANGES).key()
}

/// The row that says which import is the latest.
pub(crate) fn import() -> Bytes {
    family(IMPORT).key()
}

/// The audit record of a deleted session.
pub(crate) fn tombstone(uid: &SessionUid) -> Bytes {
    family(TOMBSTONE).text(uid.as_str()).key()
}

/// The audit records of deleted sessions, those after that of `uid` if there is one.
pub(crate) fn tombstones(after: Option<&SessionUid>) -> KeyRange {
    let begin = after.map_or_else(|| family(TOMBSTONE).key(), |uid| after_key(&tombstone(uid)));
    KeyRange::new(begin, family(TOMBSTONE).end())
}

/// The row that says that records of a deleted session are still to be removed.
pub(crate) fn removal(uid: &SessionUid) -> Bytes {
    family(REMOVAL).text(uid.as_str()).key()
}

/// All rows that [`removal`] names.
pub(crate) fn removals() -> KeyRange {
    KeyRange::new(family(REMOVAL).key(), family(REMOVAL).end())
}

/// Reads a key of [`removals`] or of [`tombstones`].
pub(crate) fn decode_removal(key: &[u8]) -> Option<SessionUid> {
    let mut reader = TupleReader::new(key);
    reader.skip_text()?;
    reader.uint()?;
    let uid = reader.text()?;
    SessionUid::parse(&uid).ok().filter(|_| reader.is_empty())
}

/// The row by which a child keeps the records of an ancestor up to `up_to`.
pub(crate) fn pin(ancestor: &SessionUid, up_to: Seq, child: &SessionUid) -> Bytes {
    family(PIN).text(ancestor.as_str()).uint(u64::MAX - up_to.get()).text(child.as_str()).key()
}

/// What children keep of an ancestor, the one that keeps most first.
pub(crate) fn pins(ancestor: &SessionUid) -> KeyRange {
    let pins = family(PIN).text(ancestor.as_str());
    KeyRange::new(pins.clone().key(), pins.end())
}

/// The last record that a key of [`pins`] keeps.
pub(crate) fn decode_pin(key: &[u8]) -> Option<Seq> {
    let mut reader = TupleReader::new(key);
    reader.skip_text()?;
    reader.uint()?;
    reader.skip_text()?;
    Some(Seq::stored(u64::MAX - reader.uint()?))
}

/// The child that a key of [`pins`] keeps records for.
pub(crate) fn decode_pin_child(key: &[u8]) -> Option<SessionUid> {
    let mut reader = TupleReader::new(key);
    reader.skip_text()?;
    reader.uint()?;
    reader.skip_text()?;
    reader.uint()?;
    SessionUid::parse(&reader.text()?).ok().filter(|_| reader.is_empty())
}

/// The rows of all sessions, those that come after the rows of `uid` if there is one.
pub(crate) fn holders(after: Option<&SessionUid>) -> KeyRange {
    let begin = after.map_or_else(|| family(SESSION).key(), |uid| family(SESSION).text(uid.as_str()).end());
    KeyRange::new(begin, family(SESSION).end())
}

/// The session that a key of [`holders`] belongs to.
pub(crate) fn decode_holder(key: &[u8]) -> Option<SessionUid> {
    let mut reader = TupleReader::new(key);
    reader.skip_text()?;
    reader.uint()?;
    SessionUid::parse(&reader.text()?).ok()
}

/// What comes after every family that this version knows.
pub(crate) fn unknown_families() -> KeyRange {
    KeyRange::new(family(FINISHED).end(), Tuple::default().text(ROOT).end())
}

/// The keys of one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionKeys {
    uid: SessionUid,
    rows: Tuple,
}

impl SessionKeys {
    pub(crate) fn new(uid: &SessionUid) -> Self {
        Self { uid: uid.clone(), rows: family(SESSION).text(uid.as_str()) }
    }

    /// Whose they are.
    pub(crate) fn uid(&self) -> &SessionUid {
        &self.uid
    }

    /// What never changes after creation.
    pub(crate) fn metadata(&self) -> Bytes {
        self.rows.clone().uint(METADATA).key()
    }

    /// What every append moves.
    pub(crate) fn head(&self) -> Bytes {
        self.rows.clone().uint(HEAD).key()
    }

    /// The metadata and the head, in this order.
    pub(crate) fn state(&self) -> KeyRange {
        KeyRange::new(self.metadata(), self.rows.clone().uint(HEAD).end())
    }

    /// A batch of records that fits into one value, under the seq of its first record.
    pub(crate) fn batch(&self, first: Seq) -> Bytes {
        self.batches().uint(first.get()).key()
    }

    /// A piece of a batch that does not.
    pub(crate) fn piece(&self, first: Seq, piece: Piece) -> Bytes {
        self.batches().uint(first.get()).uint(piece.index).uint(piece.count).key()
    }

    /// Batches whose first record lies within `from..=to`, whole or in pieces.
    pub(crate) fn batch_range(&self, from: Seq, to: Seq) -> KeyRange {
        KeyRange::new(self.batch(from), self.batches().uint(to.get()).end())
    }

    /// Batches whose first record is `from` or a later one, whole or in pieces.
    pub(crate) fn batches_from(&self, from: Seq) -> KeyRange {
        KeyRange::new(self.batch(from), self.batches().end())
    }

    fn batches(&self) -> Tuple {
        self.rows.clone().uint(BATCH)
    }
}

/// Which part of a divided batch a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// From 0.
    pub(crate) index: u64,
    /// How many there are; at least 2.
    pub(crate) count: u64,
}

/// What the key of a batch row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchKey {
    pub(crate) first: Seq,
    /// `None` if the row is the whole batch.
    pub(crate) piece: Option<Piece>,
}

impl BatchKey {
    /// Reads a key of [`SessionKeys::batch_range`].
    pub(crate) fn decode(key: &[u8]) -> Option<Self> {
        let mut reader = TupleReader::new(key);
        reader.skip_text()?;
        reader.uint()?;
        reader.skip_text()?;
        reader.uint()?;
        let first = Seq::from_wire(i64::try_from(reader.uint()?).ok()?)?;
        let piece = match reader.is_empty() {
            true => None,
            false => Some(Piece { index: reader.uint()?, count: reader.uint()? }),
        };
        reader.is_empty().then_some(Self { first, piece })
    }
}

/// Which sessions of a project a listing holds, and what orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// All, by their creation.
    All,
    /// Those that wait for an approval, by the time at which they began to.
    Pending,
}

/// A place in the order of a listing: newest first, then by uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Unix nanoseconds.
    pub(crate) time: i64,
    /// Any text: a client's page token may name a session that never was.
    pub(crate) uid: String,
}

impl Listed {
    /// The row that lists a session under its project.
    pub(crate) fn key(&self, listing: Listing, project: &str) -> Bytes {
        listing.of(project).uint(descending(self.time)).text(&self.uid).key()
    }

    /// Reads a key of [`Listing::range`].
    pub(crate) fn decode(key: &[u8]) -> Option<Self> {
        let mut reader = TupleReader::new(key);
        reader.skip_text()?;
        reader.uint()?;
        reader.skip_text()?;
        let time = ascending(reader.uint()?);
        let uid = reader.text()?;
        reader.is_empty().then_some(Self { time, uid })
    }
}

impl Listing {
    /// The listed sessions of a project, those after a place if one is given.
    pub(crate) fn range(self, project: &str, after: Option<&Listed>) -> KeyRange {
        let begin = match after {
            Some(place) => [&place.key(self, project)[..], &[0]].concat().into(),
            None => self.of(project).key(),
        };
        KeyRange::new(begin, self.of(project).end())
    }

    fn of(self, project: &str) -> Tuple {
        let rows = match self {
            Self::All => LISTING,
            Self::Pending => PENDING_LISTING,
        };
        family(rows).text(project)
    }
}

/// Maps times so that later ones sort first. Its own inverse, up to the type.
fn descending(time: i64) -> u64 {
    i64::MAX.abs_diff(time)
}

fn ascending(mapped: u64) -> i64 {
    i64::MAX.wrapping_sub_unsigned(mapped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(uid: &str) -> SessionKeys {
        SessionKeys::new(&SessionUid::parse(uid).unwrap())
    }

    fn seq(number: i64) -> Seq {
        Seq::from_wire(number).unwrap()
    }

    #[test]
    fn state_range_holds_the_two_rows_and_no_batch() {
        let keys = keys("sess-a");
        assert!(keys.state().contains(&keys.metadata()));
        assert!(keys.state().contains(&keys.head()));
        assert!(!keys.state().contains(&keys.batch(seq(i64::MAX))));
    }

    #[test]
    fn holders_come_one_after_the_other_with_all_their_rows() {
        let (first, second) = (keys("sess-a"), keys("sess-ab"));
        for key in [first.metadata(), first.head(), first.batch(seq(i64::MAX))] {
            assert!(holders(None).contains(&key) && !holders(Some(first.uid())).contains(&key));
            assert_eq!(decode_holder(&key).as_ref(), Some(first.uid()));
        }
        assert!(holders(Some(first.uid())).contains(&second.metadata()));
    }

    #[test]
    fn sessions_whose_uids_extend_each_other_share_no_range() {
        let (short, long) = (keys("sess-a"), keys("sess-ab"));
        assert!(!short.batch_range(Seq::ZERO, seq(i64::MAX)).contains(&long.batch(Seq::FIRST)));
    }

    proptest! {
        #[test]
        fn registrations_read_back_in_the_order_of_their_names(left in "\\PC{0,8}", right in "\\PC{0,8}") {
            prop_assert_eq!(decode_harness(&harness(&left)), Some(left.clone()));
            prop_assert!(harness_range(None).contains(&harness(&left)));
            prop_assert_eq!(harness_range(Some(&left)).contains(&harness(&right)), right > left);
            prop_assert!(!harness_range(None).contains(&reserved_harness(&left)));
        }

        #[test]
        fn batch_ranges_hold_exactly_their_seqs(at in 0..i64::MAX, from in 0..i64::MAX, to in 0..i64::MAX) {
            let keys = keys("sess-a");
            let (at, from, to) = (seq(at), seq(from), seq(to));
            let range = keys.batch_range(from, to);
            prop_assert_eq!(range.contains(&keys.batch(at)), from <= at && at <= to);
            let piece = Piece { index: 1, count: 2 };
            prop_assert_eq!(range.contains(&keys.piece(at, piece)), from <= at && at <= to);
        }

        #[test]
        fn pins_read_back_and_the_one_that_keeps_most_is_first(left in 0..i64::MAX, right in 0..i64::MAX) {
            let (ancestor, child) = (SessionUid::parse("sess-a").unwrap(), SessionUid::parse("sess-b").unwrap());
            let key = |at| pin(&ancestor, seq(at), &child);
            prop_assert_eq!(decode_pin(&key(left)), Some(seq(left)));
            prop_assert_eq!(decode_pin_child(&key(left)), Some(child.clone()));
            prop_assert!(!unknown_families().contains(&key(left)) && unknown_families().contains(&family(FINISHED + 1).key()));
            prop_assert!(pins(&ancestor).contains(&key(left)) && !pins(&child).contains(&key(left)));
            prop_assert_eq!(key(left).cmp(&key(right)), right.cmp(&left));
            prop_assert!(removals().contains(&removal(&child)) && !removals().contains(&tombstone(&child)));
            prop_assert_eq!(decode_removal(&removal(&child)), Some(child));
        }

        #[test]
        fn batch_keys_read_back(first in 0..i64::MAX, index in 0..200_u64, count in 2..200_u64) {
            let (first, piece) = (seq(first), Piece { index, count });
            let keys = keys("sess-\u{1}");
            prop_assert_eq!(BatchKey::decode(&keys.batch(first)), Some(BatchKey { first, piece: None }));
            prop_assert_eq!(BatchKey::decode(&keys.piece(first, piece)), Some(BatchKey { first, piece: Some(piece) }));
        }

        #[test]
        fn listings_sort_newest_first_then_by_uid(
            left in (any::<i64>(), "[a-c]{0,3}"),
            right in (any::<i64>(), "[a-c]{0,3}"),
        ) {
            let key = |(time, uid): &(i64, String)| Listed { time: *time, uid: uid.clone() }.key(Listing::All, "p");
            let expected = right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1));
            prop_assert_eq!(key(&left).cmp(&key(&right)), expected);
        }

        #[test]
        fn listings_read_back_and_a_page_starts_after_its_place(time in any::<i64>(), uid in "\\PC{0,8}") {
            let place = Listed { time, uid };
            for (listing, other) in [(Listing::All, Listing::Pending), (Listing::Pending, Listing::All)] {
                let key = place.key(listing, "project");
                prop_assert_eq!(Listed::decode(&key), Some(place.clone()));
                prop_assert!(listing.range("project", None).contains(&key));
                prop_assert!(!listing.range("project", Some(&place)).contains(&key));
                prop_assert!(!listing.range("projects", None).contains(&key));
                prop_assert!(!other.range("project", None).contains(&key));
            }
        }
    }
}
