//! A barrier that one thread has all others of the process execute.

mod price;
mod system;

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, AtomicU8, Ordering, compiler_fence, fence},
    time::Duration,
};

use pool_core::{ProcessFence, progress::Barrier};

/// Fences for thread progress and for deques that cost readers and owners next to nothing, where
/// the system offers the other half: `membarrier` on Linux, which interrupts the processors on which threads of this process
/// run. Elsewhere, and where the system refuses it (an old kernel, a sandbox), full fences.
///
/// # Examples
/// ```
/// use pool_std::ProcessBarrier;
/// use sleep_core::progress::{Line, Progress};
/// # use sleep_core::Parker;
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// println!("the system helps: {}", ProcessBarrier::is_by_system());
/// let lines = [Line::new(Core), Line::new(Core)];
/// let progress: Progress<Core, _, ProcessBarrier> = Progress::from_array(lines);
/// let mut this_thread = progress.register()?;
/// drop(this_thread.activate()); // no fence
/// # Ok::<(), sleep_core::progress::NoFreeLine>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ProcessBarrier;

/// A process that ends sooner must not wait for the system's answer: it cannot end before.
const SHORT_LIFE: Duration = Duration::from_millis(100);

/// Nobody has asked the system yet.
const UNKNOWN: u8 = 0;
/// The system does the heavy half.
const BY_SYSTEM: u8 = 1;
/// Both halves are fences.
const BY_FENCES: u8 = 2;

static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);

// SAFETY: 1. if a light fence is one for the compiler alone, the process has registered before, and
// every heavy one asks the system, which executes a full barrier, and has each other thread execute
// one between two of its instructions: what the thread did before is visible after the call, and it sees, from
// then on, what was done before the call. A light fence that is a real one does no less. Before
// the answer is known, and if it is no, both are sequentially consistent fences; a heavy one waits
// for the answer.
unsafe impl Barrier for ProcessBarrier {
    #[inline]
    fn light() {
        // Ordering: Relaxed; whoever sees that the system does it sees what is true since before.
        if KIND.load(Ordering::Relaxed) != BY_SYSTEM {
            own_fence();
        }
        compiler_fence(Ordering::SeqCst);
    }

    fn heavy() {
        if Self::is_by_system() {
            compiler_fence(Ordering::SeqCst);
            price::timed(system::barrier);
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }
}

/// Out of the way of those who need none.
#[cold]
#[inline(never)]
fn own_fence() {
    fence(Ordering::SeqCst);
}

// SAFETY: 1. as above: a compiler fence is what a light one is once the system does it, and before
// that nobody asks for a process fence, since there is no price; 2. what goes wrong ends the process.
unsafe impl ProcessFence for ProcessBarrier {
    fn fence_all(&self) {
        Self::heavy();
    }

    fn price(&self) -> Option<NonZeroU32> {
        // Ordering: Relaxed; whoever sees that the system does it sees what is true since before.
        (KIND.load(Ordering::Relaxed) == BY_SYSTEM).then(price::in_fences)
    }
}

impl ProcessBarrier {
    /// Whether the system does the heavy half. Asks it at the first call, or at the first heavy
    /// fence; until then light ones are full fences.
    ///
    /// In a process that has several threads by then, Linux takes some ten milliseconds for the
    /// first answer. So call it early, or let it be asked for where nobody waits; a pool that is
    /// built does the one or the other.
    #[must_use]
    pub fn is_by_system() -> bool {
        // Ordering: Relaxed, the answer is the same for everybody.
        match KIND.load(Ordering::Relaxed) {
            UNKNOWN => {
                let kind = if system::register() {
                    price::measure();
                    BY_SYSTEM
                } else {
                    BY_FENCES
                };
                // The first answer counts: nobody may find a heavy fence lighter than a light one
                // that somebody else relies on.
                let first =
                    KIND.compare_exchange(UNKNOWN, kind, Ordering::Relaxed, Ordering::Relaxed);
                first.map_or_else(|kind| kind, |_| kind) == BY_SYSTEM
            }
            kind => kind == BY_SYSTEM,
        }
    }

    /// Asks the system, at once if that is quick, or else a little later on a thread of its own.
    pub(crate) fn prepare() {
        static ASKED: AtomicBool = AtomicBool::new(false);
        // Ordering: Relaxed here and below, nothing else depends on it.
        if KIND.load(Ordering::Relaxed) != UNKNOWN || ASKED.swap(true, Ordering::Relaxed) {
            return;
        }
        let ask = || {
            let _is_known = Self::is_by_system();
        };
        if system::answers_at_once() {
            ask();
        } else {
            // If there can be no thread, the first heavy fence asks.
            let thread = std::thread::Builder::new().name("pool-std barrier".to_owned());
            let _detached = thread.spawn(move || {
                std::thread::sleep(SHORT_LIFE);
                ask();
            });
        }
    }

    /// For humans.
    pub(crate) fn description() -> &'static str {
        // Ordering: Relaxed, for looking on.
        match KIND.load(Ordering::Relaxed) {
            UNKNOWN => "own, the system is being asked",
            BY_SYSTEM => "by the system",
            _ => "own",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier as Meeting,
            atomic::{AtomicUsize, Ordering::Relaxed},
        },
        thread,
    };

    use super::*;

    /// The two halves order as Dekker's algorithm needs it: not both sides miss the other.
    #[test]
    fn a_light_and_a_heavy_fence_order() {
        const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
        println!("by the system: {}", ProcessBarrier::is_by_system());
        let (left, right) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let meeting = Meeting::new(2);
        for _ in 0..ROUNDS {
            let (light_saw, heavy_saw) = thread::scope(|scope| {
                let light = scope.spawn(|| {
                    meeting.wait();
                    left.store(1, Relaxed);
                    ProcessBarrier::light();
                    right.load(Relaxed)
                });
                meeting.wait();
                right.store(1, Relaxed);
                ProcessBarrier::heavy();
                let heavy_saw = left.load(Relaxed);
                (light.join().unwrap(), heavy_saw)
            });
            assert!(light_saw + heavy_saw > 0);
            left.store(0, Relaxed);
            right.store(0, Relaxed);
        }
    }
}
