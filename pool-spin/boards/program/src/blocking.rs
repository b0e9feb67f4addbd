//! The tests of a pool that detects deadlocks: cores that wait for a device.
//!
//! The device is the timer of the core that boots. Its handler unblocks that core and others.

use core::{hint::spin_loop, ptr, time::Duration};

use pool_spin::{
    ExitReason, InterruptLock, SpinPool,
    deadlock::{Completion, DetectingCores, Report, Ticket},
    lock_api::{Mutex, RawMutex},
};
use portable_atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::{
    board::Board,
    cores::sleep_forever,
    tests::timed,
    timer::{INTERVAL, set_action},
};

/// The number of jobs that each worker's deque has room for. Some boards have little memory.
const JOBS: usize = 16;
/// How often each test repeats its step.
const ROUNDS: usize = 50;
/// How often all cores spin until they are resumed. Where QEMU runs them in turns, each spins
/// through its whole turn, so a round takes a third of a second.
const ALL_BLOCKED_ROUNDS: usize = 10;

type Lock<B> = InterruptLock<<B as Board>::Interrupts>;
type Chip<B, const CORES: usize> = DetectingCores<B, Lock<B>, CORES, JOBS>;
type Worker<'w, B, const CORES: usize> = pool_spin::Worker<'w, Chip<B, CORES>>;

/// A board's pool that detects deadlocks.
pub type DetectingPool<B, const CORES: usize> = SpinPool<Chip<B, CORES>>;

/// Creates a board's pool that detects deadlocks.
#[must_use]
pub const fn detecting_pool<B: Board, const CORES: usize>() -> DetectingPool<B, CORES> {
    SpinPool::with_deadlock_handler(handle_deadlock::<B, CORES>)
}

/// The tests of such a pool, and the state that they share with handlers.
pub struct Blocking<B: Board, const CORES: usize> {
    pool: &'static DetectingPool<B, CORES>,
    /// The event for which the core that boots waits.
    timer: Completion<Chip<B, CORES>>,
    /// Whether the timer's interrupt has occurred.
    has_come: AtomicBool,
    /// The number of reports.
    reports: AtomicUsize,
    /// Whether a report spawns a job that completes the wait.
    report_spawns: AtomicBool,
    /// The tickets of the workers in the last report.
    tickets: Mutex<Lock<B>, [Option<Ticket>; CORES]>,
    /// The number of times that the handler has resumed all cores.
    resumed: AtomicUsize,
}

/// The tests that run, for the handler of deadlocks.
static CURRENT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

impl<B: Board, const CORES: usize> Blocking<B, CORES> {
    /// Creates the tests of a pool.
    #[must_use]
    pub const fn new(pool: &'static DetectingPool<B, CORES>) -> Self {
        Self {
            pool,
            timer: Completion::new(pool),
            has_come: AtomicBool::new(false),
            reports: AtomicUsize::new(0),
            report_spawns: AtomicBool::new(false),
            tickets: Mutex::const_new(<Lock<B> as RawMutex>::INIT, [None; CORES]),
            resumed: AtomicUsize::new(0),
        }
    }

    /// Runs all tests, on the core that boots.
    pub(crate) fn run(&'static self) {
        // Ordering: Release pairs with `handle_deadlock`.
        CURRENT.store(ptr::from_ref(self).cast_mut().cast(), Ordering::Release);
        while self.on_boot_core(|_| self.pool.broadcast(|_| ()).contains(&None)) {
            spin_loop();
        }
        if CORES == 1 {
            timed::<B>("wait_for_a_device", || self.wait_alone());
        } else {
            timed::<B>("wait_for_a_device", || self.wait_for_a_device());
            timed::<B>("report_a_wait_without_end", || {
                self.report_a_wait_without_end();
            });
        }
        timed::<B>("report_all_blocked", || self.report_all_blocked());
        self.pool.end();
    }

    /// Runs a worker on another core until the tests have ended.
    pub(crate) fn run_worker(&'static self, worker: usize) -> ! {
        assert_eq!(self.pool.run_worker(worker), Ok(ExitReason::Ended));
        sleep_forever::<B>()
    }

    fn on_boot_core<R>(&'static self, body: impl FnOnce(Worker<'_, B, CORES>) -> R) -> R {
        self.pool.run_with(0, body).expect("the place is free")
    }

    fn reports(&self) -> usize {
        // Ordering: Acquire pairs with `handle_deadlock`.
        self.reports.load(Ordering::Acquire)
    }

    /// Halts the core that boots until the timer interrupts it.
    fn wait_for_timer(&'static self, core: Worker<'_, B, CORES>, delay: Duration) {
        set_action(self, Some(complete::<B, CORES>));
        B::interrupt_after(delay);
        core.wait_for(&self.timer).expect("no other core waits");
    }

    /// Lets the core that boots wait for the timer while another one works: no report.
    fn wait_for_a_device(&'static self) {
        for round in 0..ROUNDS as u64 {
            self.has_come.store(false, Ordering::Relaxed);
            self.on_boot_core(|core| {
                core.join(
                    // Some delays are so short that the timer is first.
                    |core| self.wait_for_timer(core, Duration::from_micros(round * 20)),
                    |core| {
                        // Ordering: Acquire pairs with `complete`.
                        while !self.has_come.load(Ordering::Acquire) {
                            core.join(|_| (), |_| ());
                        }
                    },
                );
            });
        }
        assert_eq!(self.reports(), 0, "a core worked all the time");
    }

    /// Lets the only core wait for the timer: one report, and the timer still ends the wait.
    fn wait_alone(&'static self) {
        let mut delay = INTERVAL;
        for round in 0..ROUNDS {
            // A timer that comes before the wait leaves nothing to report.
            while self.reports() == round {
                self.on_boot_core(|core| self.wait_for_timer(core, delay));
                delay *= 2 - u32::from(self.reports() > round);
            }
            assert_eq!(self.reports(), round + 1);
        }
    }

    /// Makes the core that boots wait for an event that never occurs, while all others sleep: one
    /// report, whose handler spawns a job that ends the wait.
    fn report_a_wait_without_end(&'static self) {
        self.report_spawns.store(true, Ordering::Relaxed);
        for _ in 0..ROUNDS {
            let before = self.reports();
            self.on_boot_core(|core| core.wait_for(&self.timer).expect("no other core waits"));
            assert_eq!(self.reports(), before + 1);
        }
        self.report_spawns.store(false, Ordering::Relaxed);
    }

    /// Blocks all cores, each in its own loop: one report. The timer's handler resumes them.
    fn report_all_blocked(&'static self) {
        // These are the tickets of earlier reports.
        *self.tickets.lock() = [None; CORES];
        for round in 1..=ALL_BLOCKED_ROUNDS {
            let before = self.reports();
            set_action(self, Some(resume_if_reported::<B, CORES>));
            B::interrupt_after(INTERVAL);
            let ends = self.on_boot_core(|_| {
                self.pool.broadcast(|core| {
                    core.blocking(|_| {
                        // Ordering: Acquire pairs with `resume_if_reported`.
                        while self.resumed.load(Ordering::Acquire) < round {
                            spin_loop();
                        }
                    })
                })
            });
            assert!(ends.iter().all(|end| *end == Some(Ok(()))));
            assert_eq!(self.reports(), before + 1);
        }
    }
}

/// Returns the tests that a handler was set for.
fn subject<B: Board, const CORES: usize>(tests: *const ()) -> &'static Blocking<B, CORES> {
    // SAFETY: `set_action` and `CURRENT` got it from a static of this type.
    unsafe { &*tests.cast() }
}

/// Completes the wait of the core that boots; runs in the timer's handler.
fn complete<B: Board, const CORES: usize>(tests: *const ()) {
    let tests = subject::<B, CORES>(tests);
    tests.timer.complete();
    // Ordering: Release pairs with `wait_for_a_device`: that core may stop working now.
    tests.has_come.store(true, Ordering::Release);
}

/// Resumes all cores if they have been reported, or tries later; runs in the timer's handler.
fn resume_if_reported<B: Board, const CORES: usize>(tests: *const ()) {
    let tests = subject::<B, CORES>(tests);
    let mut last = tests.tickets.lock();
    let is_reported = !last.contains(&None);
    let tickets = if is_reported {
        core::mem::replace(&mut *last, [None; CORES])
    } else {
        [None; CORES]
    };
    // Before the marks: `handle_deadlock` takes this lock with that of the accounting held.
    drop(last);
    if !is_reported {
        B::interrupt_after(INTERVAL);
        return;
    }
    let marked = tests.pool.mark_all_unblocked(tickets.into_iter().flatten());
    marked.expect("all are blocked");
    // Ordering: Release pairs with `report_all_blocked`.
    tests.resumed.fetch_add(1, Ordering::Release);
}

/// Handles a deadlock: records it, and passes the work to a job if the test requests that.
fn handle_deadlock<B: Board, const CORES: usize>(report: &Report<'_>) {
    // Ordering: Acquire pairs with `run`.
    let tests = subject::<B, CORES>(CURRENT.load(Ordering::Acquire));
    if tests.report_spawns.load(Ordering::Relaxed) {
        assert_eq!((report.num_blocked(), report.num_asleep()), (1, CORES - 1));
        let spawned = tests.pool.spawn(|_| tests.timer.complete());
        assert!(spawned.is_ok(), "there is room");
    } else {
        // All cores wait. Their tickets are for `resume_if_reported`.
        assert_eq!(report.num_blocked(), CORES);
        let mut tickets = tests.tickets.lock();
        for (place, ticket) in tickets.iter_mut().zip(report.blocked()) {
            *place = Some(ticket);
        }
    }
    // Ordering: Release pairs with `reports`.
    tests.reports.fetch_add(1, Ordering::Release);
}
