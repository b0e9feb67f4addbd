//! What the sleep protocol needs of the platform.

use crate::primitive::spin_loop;

/// Blocks one worker until it is unparked. A parker holds at most one token.
///
/// [`unpark`](Self::unpark) makes the token available, [`park`](Self::park) waits for it and takes
/// it. It does not matter which comes first, so no wake-up is lost between deciding to park and
/// parking. A second `unpark` before the `park` makes no second token; but what both of them wrote
/// before is visible to the `park` that takes it, so a token is given by an exchange, not by a
/// plain store.
///
/// `park` may return without a token (a spurious wake-up): the protocol checks its own state and
/// parks again. An implementation must never keep `park` from returning after an `unpark`;
/// otherwise a worker sleeps forever.
///
/// No method may panic, because they are called from frames that other threads use. If one does, a
/// pool ends the process. Otherwise, after a panic of `park`, the worker would count as asleep
/// forever; after a panic of `unpark`, a worker that was released would continue to sleep.
///
/// Typical parkers: a futex, a mutex with a condition variable, `std::thread::park` and a handle of
/// the thread (as in the example `three_threads`), `WFE` and `SEV`, `WFI` and an inter-processor
/// interrupt. The simplest possible one spins:
///
/// ```
/// use core::sync::atomic::{AtomicBool, Ordering};
/// use sleep_core::Parker;
///
/// struct SpinParker(AtomicBool);
///
/// impl Parker for SpinParker {
///     fn park(&self) {
///         while !self.0.swap(false, Ordering::Acquire) {
///             core::hint::spin_loop();
///         }
///     }
///     fn unpark(&self) {
///         self.0.swap(true, Ordering::Release);
///     }
/// }
/// ```
pub trait Parker {
    /// Waits for the token and takes it. Called by one worker only, the one it belongs to.
    fn park(&self);

    /// Makes the token available. Called by any thread, also before `park` and long after it.
    ///
    /// Must not allocate, nor wait for the worker; where wake-ups come from interrupts, it must be
    /// callable from one. A mutex that is held for a few instructions is fine among threads, and
    /// not in interrupts.
    fn unpark(&self);

    /// Lets others run between two searches of an idle worker, for
    /// [`Relax::Yield`](crate::Relax::Yield): give up the rest of the time slice if there is a
    /// scheduler, otherwise what the default does, a hint to the processor.
    fn relax(&self) {
        spin_loop();
    }

    /// Returns the time in nanoseconds since some moment, or `None` if there is no clock, as by
    /// default.
    ///
    /// An [`IdlePolicy`](crate::IdlePolicy) with a time limit or with adaptive rounds needs it: a
    /// worker calls this between two searches. So it should take some ten nanoseconds at most.
    /// The values of one worker must not decrease.
    ///
    /// A thread that wakes a worker calls this on the worker's parker right after
    /// [`unpark`](Self::unpark), so that the worker can tell how long there was no work from how
    /// long its own wake-up took. So it must not block, and must be safe to call in the interrupt
    /// handlers that wake workers. A thread outside that has waited for a job calls it on the first
    /// worker's parker, see [`LendSeats::caller_resumed`](crate::LendSeats::caller_resumed). If the
    /// clock of that thread is not the worker's, the worker does more or fewer rounds, and nothing
    /// else goes wrong.
    fn now(&self) -> Option<u64> {
        None
    }

    /// Waits for the token of a guest, as [`park`](Self::park) does for the worker's own.
    ///
    /// A guest is a thread that has borrowed the place of this worker while the worker sleeps, see
    /// [`LendSeats::borrow_sleeper`](crate::LendSeats::borrow_sleeper). At that moment the worker's
    /// own thread waits in `park`. So a guest has a token of its own, and at most one thread is the
    /// guest.
    ///
    /// The default [relaxes](Self::relax) and returns without a token: a guest that sleeps keeps
    /// its processor busy. A pool that has guests implements this and
    /// [`unpark_guest`](Self::unpark_guest).
    fn park_guest(&self) {
        self.relax();
    }

    /// Makes the token of a guest available, as [`unpark`](Self::unpark) does the worker's own.
    ///
    /// The default does nothing, which is right for the default of
    /// [`park_guest`](Self::park_guest).
    fn unpark_guest(&self) {}
}
