//! A fence that one thread executes on behalf of all threads of the process.

mod price;
mod registration;

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU8, Ordering, compiler_fence, fence},
};

use deque_core::IS_MULTI_COPY_ATOMIC;
use pool_core::{FencePrice, progress::AsymmetricFence};

use crate::{system, thread_pool::environment};

pub(crate) use registration::{Watch, register_if_due};

/// An asymmetric fence (as in the asymmetric form of Dekker's algorithm) for thread progress and
/// deques.
///
/// The light half costs readers and owners next to nothing if the system provides the heavy half:
/// `membarrier` on Linux and `FlushProcessWriteBuffers` on Windows, which interrupt the processors
/// on which threads of this process run. Elsewhere (macOS, and Wine, whose function does nothing),
/// and if the system refuses the call (an old kernel, a sandbox), both halves are full fences.
///
/// If a process later enters a sandbox that refuses the call, pools continue with full fences, and
/// the jobs of a deque that was in use can be stolen after its owner's next pop. However, thread
/// progress stops, and what it would have freed is freed with its instance.
///
/// In a sandbox that kills each process that calls `membarrier`, set the environment variable
/// `POOL_STD_MEMBARRIER=0`. The call is then never made, and both halves are full fences.
///
/// # Examples
/// ```
/// use pool_std::ProcessBarrier;
/// use progress_core::{Participant, Progress};
/// # use sleep_core::Parker;
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// println!("the system helps: {}", ProcessBarrier::is_by_system());
/// let participants = [Participant::new(Core), Participant::new(Core)];
/// let progress: Progress<(Core, _, ProcessBarrier)> = Progress::new(participants);
/// let mut this_thread = progress.register()?;
/// drop(this_thread.activate()); // no fence
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ProcessBarrier;

/// No thread has asked the system yet.
const UNKNOWN: u8 = 0;
/// The system does the heavy half.
const BY_SYSTEM: u8 = 1;
/// Both halves are fences.
const BY_FENCES: u8 = 2;
/// The system did the heavy half, and refuses it now. From now on light halves are fences, but
/// earlier ones were not. So there is no heavy half any more.
const REFUSED: u8 = 3;

static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);

// SAFETY: obligations 1 and 2: while a light fence is one for the compiler alone, the process is
// registered, and every heavy fence that returns true asks the system. The system executes a full
// barrier, and makes each other thread execute one between two of its instructions: what that
// thread did before is visible after the call, and from then on the thread sees what was done
// before the call. A light fence that is a real one does no less. Before the answer is known, and
// if it is no, both are sequentially consistent fences; a heavy one waits for the answer.
// Obligation 3: neither function unwinds.
unsafe impl AsymmetricFence for ProcessBarrier {
    #[inline]
    fn light() {
        // Ordering: Relaxed; the system did it before this value was stored, so a thread that reads
        // the value reads the truth.
        if KIND.load(Ordering::Relaxed) != BY_SYSTEM {
            own_fence();
        }
        compiler_fence(Ordering::SeqCst);
    }

    fn heavy() -> bool {
        if Self::is_by_system() {
            compiler_fence(Ordering::SeqCst);
            let is_done = price::timed(system::process_fence);
            compiler_fence(Ordering::SeqCst);
            if !is_done {
                // Ordering: Relaxed; a thread that does not see it yet asks the system itself.
                KIND.store(REFUSED, Ordering::Relaxed);
            }
            is_done
        } else {
            fence(Ordering::SeqCst);
            // Ordering: Relaxed; when it was `BY_SYSTEM`, it was so above, and is `REFUSED` since.
            KIND.load(Ordering::Relaxed) == BY_FENCES
        }
    }
}

/// Whether the environment lets the process ask the system. An invalid value counts as no: the call
/// could end the process, and each build returns an error for that value.
fn is_allowed() -> bool {
    environment::membarrier().is_ok_and(|is_allowed| is_allowed.unwrap_or(true))
}

/// Executes a fence, out of the way of the callers that need none.
#[cold]
#[inline(never)]
fn own_fence() {
    fence(Ordering::SeqCst);
}

// SAFETY: 1. as above: a compiler fence is what a light one is once the system does it, and before
// that no thread asks for a process fence, since there is no price; 2. nothing that it calls can
// panic.
unsafe impl FencePrice for ProcessBarrier {
    fn price() -> Option<NonZeroU32> {
        // Ordering: Relaxed; the system did it before this value was stored, so a thread that reads
        // the value reads the truth.
        match KIND.load(Ordering::Relaxed) {
            BY_SYSTEM => Some(price::in_fences()),
            UNKNOWN => {
                // An owner asks this after ten thousand pops: its pool may never have slept.
                registration::register_if_due();
                None
            }
            _ => None,
        }
    }
}

impl ProcessBarrier {
    /// Whether the system executes the heavy half. Asks the system at the first call, or at the
    /// first heavy fence; until then, light fences are full fences.
    ///
    /// If the process has several threads by then, Linux takes some ten milliseconds for the first
    /// answer. So call this early, or leave it to a pool: the pool asks at once if that is quick;
    /// otherwise, one of its workers asks when it sleeps.
    #[must_use]
    pub fn is_by_system() -> bool {
        // Ordering: Relaxed; the answer is the same for all threads.
        match KIND.load(Ordering::Relaxed) {
            UNKNOWN => {
                // Elsewhere a light half would have to be a fence, see `AsymmetricFence`.
                let is_asked = IS_MULTI_COPY_ATOMIC && is_allowed();
                let kind = if is_asked && system::register_process_fence() && price::measure() {
                    BY_SYSTEM
                } else {
                    BY_FENCES
                };
                // The first answer counts: no thread may find a heavy fence lighter than a light
                // fence on which another thread relies.
                let first =
                    KIND.compare_exchange(UNKNOWN, kind, Ordering::Relaxed, Ordering::Relaxed);
                first.map_or_else(|kind| kind, |_| kind) == BY_SYSTEM
            }
            kind => kind == BY_SYSTEM,
        }
    }

    /// Whether the system does the heavy half at this moment. False if it has not been asked yet.
    pub(crate) fn is_at_hand() -> bool {
        // Ordering: Relaxed, as in `is_by_system`.
        KIND.load(Ordering::Relaxed) == BY_SYSTEM
    }

    /// Executes the heavy half if the system does it, so that a light half may be a fence for the
    /// compiler alone. Returns whether it did. Never asks the system for the first time, which
    /// takes long.
    pub(crate) fn heavy_by_system() -> bool {
        // If the system refuses from now on, `heavy` returns false.
        Self::is_at_hand() && Self::heavy()
    }

    /// Whether the system has been asked.
    fn is_known() -> bool {
        // Ordering: Relaxed; the answer is the same for all threads.
        KIND.load(Ordering::Relaxed) != UNKNOWN
    }

    /// Asks the system, at once if that is quick, or else leaves it to a worker, a little later.
    pub(crate) fn prepare() {
        if Self::is_known() {
            return;
        }
        if system::registers_at_once() {
            let _is_known = Self::is_by_system();
        } else {
            registration::begin();
        }
    }

    /// Returns a description for debug output.
    pub(crate) fn description() -> &'static str {
        // Ordering: Relaxed; debug output only.
        match KIND.load(Ordering::Relaxed) {
            UNKNOWN => "own, the system is being asked",
            BY_SYSTEM => "by the system",
            REFUSED => "own, the system refuses them now",
            _ => "own",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        hint,
        sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst},
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    /// Reproduces a bug: on POWER, reads of thread progress would have relied on it.
    #[test]
    fn the_system_fences_only_where_stores_reach_all_processors_at_once() {
        let is_power_or_old_arm = cfg!(any(
            target_arch = "powerpc",
            target_arch = "powerpc64",
            target_arch = "arm",
        ));
        assert!(!(IS_MULTI_COPY_ATOMIC && is_power_or_old_arm));
        assert!(IS_MULTI_COPY_ATOMIC || !ProcessBarrier::is_by_system());
    }

    /// What one side of Dekker's algorithm has written, and read of the other side. In cache lines
    /// of its own, so that a store takes long.
    #[derive(Default)]
    #[repr(align(128))]
    struct Side {
        written: AtomicUsize,
        read: AtomicUsize,
    }

    impl Side {
        fn play(&self, other: &Self, round: usize, fence: impl FnOnce()) {
            self.written.store(round, Relaxed);
            fence();
            self.read.store(other.written.load(Relaxed), Relaxed);
        }
    }

    fn spin_until(round: &AtomicUsize, least: usize) -> usize {
        let mut spins = 0_u32;
        loop {
            let now = round.load(SeqCst);
            if now >= least {
                break now;
            }
            spins = spins.wrapping_add(1);
            // There may be one processor.
            if cfg!(miri) || spins.is_multiple_of(1_000) {
                thread::yield_now();
            }
            hint::spin_loop();
        }
    }

    // Dekker's algorithm: at least one side sees the other's store. The sides meet by spinning, so
    // that their stores are often on the way at the same time.
    #[test]
    fn a_light_and_a_heavy_fence_order_stores_and_loads() {
        const ROUNDS: usize = if cfg!(miri) { 20 } else { 1_000_000 };
        const MOST: Duration = Duration::from_millis(500);
        const END: usize = usize::MAX;
        println!("by the system: {}", ProcessBarrier::is_by_system());
        let (light, heavy) = (Side::default(), Side::default());
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1.. {
                    if spin_until(&begun, round) == END {
                        break;
                    }
                    light.play(&heavy, round, ProcessBarrier::light);
                    ended.store(round, SeqCst);
                }
            });
            let start = Instant::now();
            let (mut unseen, mut refused) = (Vec::new(), 0);
            for round in (1..=ROUNDS).take_while(|_| start.elapsed() < MOST) {
                begun.store(round, SeqCst);
                // As long as the other side takes to see it, more or less.
                (0..round % 256).for_each(|step| _ = hint::black_box(step));
                heavy.play(&light, round, || {
                    refused += u32::from(!ProcessBarrier::heavy())
                });
                spin_until(&ended, round);
                let reads = [&light, &heavy].map(|side| side.read.load(Relaxed));
                unseen.extend((!reads.contains(&round)).then_some(round));
            }
            begun.store(END, SeqCst);
            assert_eq!(refused, 0, "heavy fences");
            assert_eq!(unseen, [], "rounds in which neither side saw the other");
        });
    }
}
