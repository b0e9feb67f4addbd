//! The fence of protocols outside this crate.

use crate::primitive::{Ordering, fence};

/// Executes a sequentially consistent fence, for your own protocol.
///
/// It is `core::sync::atomic::fence(SeqCst)`, and with the feature `testing` the checks of the
/// module `testing` see it. They cannot see any other kind of fence, and report it as missing.
///
/// A protocol needs it in two places: in `no_work_found`, after the worker has registered as a
/// sleeper and before its last look; and in a call that announces jobs, before it looks for
/// sleepers. See [Implementing one](crate::SleepProtocol#implementing-one).
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
///
/// /// Announces a job that was queued before: the half of a protocol that a poster executes.
/// fn announce(sleepers: &AtomicUsize) -> bool {
///     sleep_core::protocol::full_fence();
///     sleepers.load(Ordering::Relaxed) > 0
/// }
///
/// /// Whether a worker may sleep: the half that a worker executes.
/// fn may_sleep(sleepers: &AtomicUsize, queue: &AtomicBool) -> bool {
///     sleepers.fetch_add(1, Ordering::Relaxed);
///     sleep_core::protocol::full_fence();
///     !queue.load(Ordering::Relaxed)
/// }
/// # assert!(may_sleep(&AtomicUsize::new(0), &AtomicBool::new(false)));
/// # assert!(announce(&AtomicUsize::new(1)));
/// ```
#[inline]
pub fn full_fence() {
    // Ordering: SeqCst, which is what the caller asks for; the caller says what it pairs with.
    fence(Ordering::SeqCst);
}
