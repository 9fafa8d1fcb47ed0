//! What every engine must do, as test cases.
//!
//! An engine's own tests call [`conformance_tests!`](crate::conformance_tests) with an expression that makes an empty
//! engine, or `None` where the engine cannot run; the cases then do nothing. Each case is also a public function, for
//! engines that need another harness. A case that fails panics.

pub mod atomics;
pub mod bounds;
pub mod isolation;
pub mod own_writes;
pub mod paging;
pub mod presumptions;
pub mod serial;
pub mod versionstamps;
pub mod watches;

use bytes::Bytes;

use crate::{CommitError, Engine, EngineTransaction, Isolation, KeyRange, Page, RangeRead};

/// Makes one test of every case; `$engine` makes an empty engine, if it can, inside a tokio runtime.
#[macro_export]
macro_rules! conformance_tests {
    ($engine:expr) => {
        $crate::conformance_tests!(@cases $engine;
            atomics: additions_of_concurrent_transactions_sum_up, maximum_keeps_the_larger, atomic_on_an_absent_key,
                atomic_after_own_write_sees_it, atomic_write_conflicts_with_a_reader,
                atomic_operand_cuts_or_extends_the_value;
            bounds: largest_key_fits_and_one_byte_more_does_not, largest_value_fits_and_one_byte_more_does_not,
                largest_transaction_fits_and_one_byte_more_does_not, system_keys_are_refused,
                inverted_ranges_are_refused, a_refused_write_commits_nothing;
            isolation: reads_see_one_instant, a_new_transaction_sees_every_earlier_commit, lost_update_is_prevented,
                write_skew_is_prevented, phantom_in_a_range_conflicts, removal_in_a_range_conflicts,
                change_behind_a_full_page_does_not_conflict, change_within_a_full_page_conflicts,
                snapshot_reads_do_not_conflict, blind_writes_do_not_conflict, read_only_transactions_do_not_conflict,
                dropped_transactions_leave_nothing, clear_range_removes_the_range_only;
            own_writes: get_sees_own_writes, ranges_see_own_writes, pages_over_own_writes_hold_every_row_once,
                own_clears_hide_committed_rows, a_set_after_clear_range_stays, overlapping_clear_ranges_merge;
            paging: pages_follow_each_other_forward, pages_follow_each_other_backward, byte_limit_ends_a_page,
                empty_range_is_an_empty_page, prefix_range_holds_exactly_the_prefix, binary_keys_keep_byte_order;
            presumptions: true_presumption_commits, false_presumption_conflicts, presumed_absence_holds,
                presumed_absence_fails_on_a_value, presumption_that_became_false_conflicts,
                read_only_presumption_is_checked, presumption_on_an_own_write_is_checked, presumed_value_is_replaced,
                replacement_needs_every_read;
            versionstamps: versionstamps_ascend_with_commits, a_stamped_key_holds_the_stamp_answered,
                stamped_keys_of_one_commit_share_its_stamp;
            watches: a_later_commit_fires_a_watch, an_own_write_does_not_fire_a_watch,
                a_change_before_the_watching_commit_fires_it, clear_range_fires_a_watch,
                other_keys_do_not_fire_a_watch, a_watch_of_a_dropped_transaction_fails;
        );

        #[test]
        fn interleavings_are_serializable() {
            $crate::conformance::serial::interleavings_are_serializable(|| async { $engine });
        }
    };
    (@cases $engine:expr; $($module:ident: $($case:ident),+;)+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let Some(engine) = $engine else { return };
                $crate::conformance::$module::$case(&engine).await;
            }
        )+)+
    };
}

async fn begin(engine: &dyn Engine) -> Box<dyn EngineTransaction> {
    engine.begin().await.expect("begin")
}

async fn put(engine: &dyn Engine, rows: &[(&[u8], &[u8])]) {
    let mut transaction = begin(engine).await;
    for (key, value) in rows {
        transaction.set(key, value);
    }
    transaction.commit().await.expect("commit");
}

async fn get(transaction: &mut Box<dyn EngineTransaction>, key: &[u8]) -> Option<Bytes> {
    transaction.get(key, Isolation::Serializable).await.expect("get")
}

async fn committed(engine: &dyn Engine, key: &[u8]) -> Option<Bytes> {
    get(&mut begin(engine).await, key).await
}

async fn page(transaction: &mut Box<dyn EngineTransaction>, read: &RangeRead) -> Page {
    transaction.get_range(read, Isolation::Serializable).await.expect("get_range")
}

/// Every row from `a` to `z`, as keys.
async fn committed_keys(engine: &dyn Engine) -> Vec<Bytes> {
    keys(&page(&mut begin(engine).await, &RangeRead::forward(letters())).await)
}

fn keys(page: &Page) -> Vec<Bytes> {
    page.rows.iter().map(|row| row.key.clone()).collect()
}

fn letters() -> KeyRange {
    KeyRange::new(&b"a"[..], &b"z"[..])
}

async fn assert_commits(transaction: Box<dyn EngineTransaction>) {
    transaction.commit().await.expect("commit");
}

async fn assert_conflicts(transaction: Box<dyn EngineTransaction>) {
    let outcome = transaction.commit().await;
    assert!(matches!(outcome, Err(CommitError::Conflict)), "expected a conflict, got {outcome:?}");
}
