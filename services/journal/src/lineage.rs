//! Which session holds which records of a log. A fork child inherits a prefix without copying it.

use store::{TransactError, Transaction};

use crate::error::{Corrupt, refuse};
use crate::keys;
use crate::rows::{Segment, SessionRow};
use crate::{Seq, SessionUid};

/// Consecutive records of a log that one session holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Who holds them.
    pub(crate) holder: SessionUid,
    /// The first record that the holder wrote itself, whether it is part of the stretch or not.
    pub(crate) begin: Seq,
    pub(crate) from: Seq,
    pub(crate) to: Seq,
    /// The holder is an ancestor.
    pub(crate) inherited: bool,
}

/// Where the records `from..=to` of a session are, in seq order.
pub(crate) fn stretches(uid: &SessionUid, row: &SessionRow, from: Seq, to: Seq) -> Result<Vec<Stretch>, Corrupt> {
    let mut begin = Seq::FIRST;
    let mut stretches = Vec::new();
    let mut add = |holder: SessionUid, end: Seq, inherited| {
        let stretch = Stretch { holder, begin, from: from.max(begin), to: to.min(end), inherited };
        begin = begin.max(end.next());
        if stretch.from <= stretch.to {
            stretches.push(stretch);
        }
    };
    for segment in &row.lineage {
        let holder = segment.uid().ok_or(Corrupt { what: "session" })?;
        add(holder, segment.up_to(), true);
    }
    add(uid.clone(), to, false);
    Ok(stretches)
}

/// The lineage of a child that inherits the records of a session up to `at`.
pub(crate) fn of_child(parent: &SessionUid, row: &SessionRow, at: Seq) -> Result<Vec<Segment>, Corrupt> {
    let inherited = stretches(parent, row, Seq::FIRST, at)?;
    Ok(inherited.iter().map(|stretch| Segment::new(&stretch.holder, stretch.to)).collect())
}

/// Keeps what a new child reads of its ancestors, even if they are deleted.
pub(crate) fn pin<E: From<Corrupt>>(
    transaction: &mut Transaction,
    child: &SessionUid,
    row: &SessionRow,
) -> Result<(), TransactError<E>> {
    for segment in &row.lineage {
        let ancestor = segment.uid().ok_or_else(|| refuse(Corrupt { what: "session" }))?;
        transaction.set(&keys::pin(&ancestor, segment.up_to(), child), &[]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn uid(name: &str) -> SessionUid {
        SessionUid::parse(name).unwrap()
    }

    fn seq(number: u64) -> Seq {
        Seq::stored(number)
    }

    fn held(uid: &SessionUid, row: &SessionRow, from: u64, to: u64) -> Vec<(String, u64, u64, u64, bool)> {
        let stretches = stretches(uid, row, seq(from), seq(to)).unwrap();
        let tuple = |s: Stretch| (s.holder.to_string(), s.begin.get(), s.from.get(), s.to.get(), s.inherited);
        stretches.into_iter().map(tuple).collect()
    }

    fn child_of(parent: &SessionUid, row: &SessionRow, at: u64) -> SessionRow {
        SessionRow { lineage: of_child(parent, row, seq(at)).unwrap(), ..SessionRow::default() }
    }

    #[test]
    fn a_session_without_parent_holds_its_own_log() {
        let row = SessionRow::default();
        assert_eq!(held(&uid("a"), &row, 3, 9), [("a".to_owned(), 1, 3, 9, false)]);
        assert_eq!(held(&uid("a"), &row, 9, 3), []);
        assert_eq!(held(&uid("a"), &row, 1, 0), []);
    }

    #[test]
    fn a_fork_of_a_fork_reads_through_both_ancestors() {
        let child = child_of(&uid("a"), &SessionRow::default(), 10);
        let grandchild = child_of(&uid("b"), &child, 15);
        assert_eq!(
            held(&uid("c"), &grandchild, 1, 20),
            [("a".to_owned(), 1, 1, 10, true), ("b".to_owned(), 11, 11, 15, true), ("c".to_owned(), 16, 16, 20, false),]
        );
        assert_eq!(held(&uid("c"), &grandchild, 12, 13), [("b".to_owned(), 11, 12, 13, true)]);
    }

    #[test]
    fn a_fork_inside_of_the_inherited_part_skips_the_parent() {
        let child = child_of(&uid("a"), &SessionRow::default(), 10);
        let grandchild = child_of(&uid("b"), &child, 4);
        assert_eq!(
            held(&uid("c"), &grandchild, 1, 5),
            [("a".to_owned(), 1, 1, 4, true), ("c".to_owned(), 5, 5, 5, false)]
        );
        let empty = child_of(&uid("b"), &child, 0);
        assert_eq!(held(&uid("c"), &empty, 1, 1), [("c".to_owned(), 1, 1, 1, false)]);
    }

    proptest! {
        #[test]
        fn stretches_tile_the_range(cuts in proptest::collection::vec(0..40_u64, 0..6), from in 1..50_u64, to in 0..50_u64) {
            let mut row = SessionRow::default();
            let mut head = 40;
            for (generation, at) in cuts.into_iter().enumerate() {
                let at = at.min(head);
                row = child_of(&uid(&format!("g{generation}")), &row, at);
                head = at + 5;
            }
            let stretches = stretches(&uid("last"), &row, seq(from), seq(to)).unwrap();
            let covered: Vec<u64> = stretches.iter().flat_map(|s| s.from.get()..=s.to.get()).collect();
            prop_assert_eq!(covered, (from..=to).collect::<Vec<_>>());
            prop_assert!(stretches.iter().all(|s| s.begin <= s.from));
        }
    }
}
