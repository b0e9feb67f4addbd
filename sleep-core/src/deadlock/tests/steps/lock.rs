//! When the accounting has its lock.

use super::*;

/// Otherwise a worker could be unmarked between the check and the report, which would be false
/// then.
#[test]
fn the_handler_is_called_with_the_lock_held() {
    static ACCOUNTING: Accounting<StdLock, [WorkerEntry; 3], fn(&Report<'_>)> =
        Accounting::new([const { WorkerEntry::new() }; 3], handle);
    static REPORTS: AtomicUsize = AtomicUsize::new(0);
    fn handle(_: &Report<'_>) {
        assert!(is_locked(&ACCOUNTING), "the lock is free");
        REPORTS.fetch_add(1, SeqCst);
    }
    let latch = CoreLatch::new();
    let [first, second, third] = [0, 1, 2].map(worker);
    // Each call that makes the last worker inactive.
    let calls: [fn(&CoreLatch); 4] = [
        |_| _ = ACCOUNTING.mark_blocked(worker(2), |_| false).unwrap(),
        |latch| ACCOUNTING.fall_asleep(worker(2), latch, |_| false),
        |_| ACCOUNTING.leave(worker(2), |_| false),
        |latch| {
            ACCOUNTING.begin_outside();
            ACCOUNTING.fall_asleep(worker(2), latch, |_| false);
            ACCOUNTING.end_outside(|_| false);
        },
    ];
    for (before, call) in calls.into_iter().enumerate() {
        for worker in [first, second, third] {
            ACCOUNTING.arrive(worker);
        }
        ACCOUNTING.mark_blocked(first, |_| false).unwrap();
        ACCOUNTING.fall_asleep(second, &latch, |_| false);
        assert_eq!(REPORTS.load(SeqCst), before, "a worker is active");
        call(&latch);
        assert_eq!(REPORTS.load(SeqCst), before + 1);
        assert!(!is_locked(&ACCOUNTING));
        // While the second worker sleeps and may run something, this makes no deadlock.
        for worker in [third, first, second] {
            ACCOUNTING.leave(worker, |_| true);
        }
    }
}

/// A lock that is free shows the counts in debug output.
fn is_locked<H>(accounting: &Accounting<StdLock, [WorkerEntry; 3], H>) -> bool {
    !format!("{accounting:?}").contains("counts")
}

/// A lock that can be tried.
struct StdLock(std::sync::atomic::AtomicBool);

// SAFETY: the flag is true exactly while a caller has the lock.
unsafe impl RawMutex for StdLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self(std::sync::atomic::AtomicBool::new(false));
    type GuardMarker = GuardSend;

    fn lock(&self) {
        assert!(self.try_lock(), "the lock is held");
    }

    fn try_lock(&self) -> bool {
        !self.0.swap(true, std::sync::atomic::Ordering::Acquire)
    }

    unsafe fn unlock(&self) {
        self.0.store(false, std::sync::atomic::Ordering::Release);
    }
}

/// Otherwise one of the workers could block again, and be reported, before the next one is
/// unmarked.
#[test]
fn a_batch_is_unmarked_under_one_lock() {
    let accounting = Accounting::<StdLock, _, _>::new([const { WorkerEntry::new() }; 3], NoHandler);
    let tickets = [0, 1, 2].map(|index| {
        accounting.arrive(worker(index));
        accounting.mark_blocked(worker(index), |_| false).unwrap()
    });
    accounting.mark_unblocked(tickets[1]).unwrap();
    let watched = tickets
        .into_iter()
        .inspect(|_| assert!(is_locked(&accounting)));
    assert_eq!(
        accounting.mark_all_unblocked(watched),
        Err(NotBlocked { worker: 1 })
    );
    assert!(!is_locked(&accounting));
    assert_eq!(accounting.state(worker(2)), Active);
}

/// Without a handler, workers that sleep and setters of latches take no lock.
#[test]
fn without_a_handler_sleeping_takes_no_lock() {
    let accounting = Accounting::<StdLock, _, _>::new([const { WorkerEntry::new() }; 3], NoHandler);
    accounting.arrive(worker(0));
    let latch = CoreLatch::new();
    // The lock fails if it is held.
    let held = accounting.counts.lock();
    accounting.fall_asleep(worker(0), &latch, |_| unreachable!());
    accounting.will_wake(worker(0));
    accounting.wake_up(worker(0));
    drop(held);
    // Marks are kept all the same.
    accounting
        .mark_blocked(worker(0), |_| unreachable!())
        .unwrap();
    assert_eq!(accounting.state(worker(0)), Blocked);
}
