//! Atomic operations.

use super::{assert_commits, assert_conflicts, begin, committed, get, put};
use crate::{AtomicOp, Engine};

async fn number(engine: &dyn Engine, key: &[u8]) -> u64 {
    let value = committed(engine, key).await.expect("a value");
    u64::from_le_bytes(value[..].try_into().expect("eight bytes"))
}

async fn apply(engine: &dyn Engine, op: AtomicOp, operand: u64) {
    let mut transaction = begin(engine).await;
    transaction.atomic(op, b"n", operand);
    assert_commits(transaction).await;
}

/// Atomic operations commute: none conflicts, none is lost.
pub async fn additions_of_concurrent_transactions_sum_up(engine: &dyn Engine) {
    let mut transactions = Vec::new();
    for operand in 1..=20 {
        let mut transaction = begin(engine).await;
        transaction.atomic(AtomicOp::Add, b"n", operand);
        transactions.push(transaction);
    }
    let outcomes = futures::future::join_all(transactions.into_iter().map(|each| each.commit())).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(number(engine, b"n").await, 210);
    apply(engine, AtomicOp::Add, u64::MAX).await;
    assert_eq!(number(engine, b"n").await, 209, "addition wraps");
}

/// The maximum keeps the larger of value and operand, compared as numbers.
pub async fn maximum_keeps_the_larger(engine: &dyn Engine) {
    for (operand, expected) in [(7, 7), (3, 7), (256, 256), (255, 256), (u64::MAX, u64::MAX)] {
        apply(engine, AtomicOp::Max, operand).await;
        assert_eq!(number(engine, b"n").await, expected);
    }
}

/// An absent value counts as 0 and becomes one.
pub async fn atomic_on_an_absent_key(engine: &dyn Engine) {
    apply(engine, AtomicOp::Max, 0).await;
    assert_eq!(number(engine, b"n").await, 0);
}

/// Operations apply in order to what the transaction has written before, and are seen by its reads.
pub async fn atomic_after_own_write_sees_it(engine: &dyn Engine) {
    put(engine, &[(b"n", &5_u64.to_le_bytes()), (b"m", &5_u64.to_le_bytes())]).await;
    let mut own = begin(engine).await;
    own.atomic(AtomicOp::Add, b"n", 1);
    own.atomic(AtomicOp::Add, b"n", 1);
    own.atomic(AtomicOp::Max, b"n", 3);
    own.clear(b"m");
    own.atomic(AtomicOp::Add, b"m", 2);
    assert_eq!(get(&mut own, b"n").await.as_deref(), Some(&7_u64.to_le_bytes()[..]));
    assert_eq!(get(&mut own, b"m").await.as_deref(), Some(&2_u64.to_le_bytes()[..]));
    assert_commits(own).await;
    assert_eq!((number(engine, b"n").await, number(engine, b"m").await), (7, 2));
}

/// An atomic operation is a write to whoever has read the key.
pub async fn atomic_write_conflicts_with_a_reader(engine: &dyn Engine) {
    let mut reader = begin(engine).await;
    get(&mut reader, b"n").await;
    reader.set(b"seen", b"0");
    apply(engine, AtomicOp::Add, 1).await;
    assert_conflicts(reader).await;
}

/// A value of another length is cut to the operand's eight bytes, or extended with zeros.
pub async fn atomic_operand_cuts_or_extends_the_value(engine: &dyn Engine) {
    for (value, expected) in [(&[1_u8][..], 2), (&[1, 0, 0, 0, 0, 0, 0, 0, 9], 2), (&[], 1)] {
        put(engine, &[(b"n", value)]).await;
        apply(engine, AtomicOp::Add, 1).await;
        assert_eq!(number(engine, b"n").await, expected);
    }
}
