//! How many workers are worth waking for the jobs of joins, and when.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use pool_core::{WaitingJob, accounting::State};

use crate::{
    platform::Registry,
    sync::{Mutex, OnceLock, lock},
    system::process_time,
};

/// How often the watchdog checks. Some systems update the processor time of running threads only
/// every 4 ms.
const INTERVAL: Duration = Duration::from_millis(10);
/// After this many checks in a row have found the same job waiting, the watchdog wakes a worker in
/// any case. It ends when a check finds no job, and more than this many checks were made since a
/// new job was last found.
const PATIENCE: u32 = 10;
/// How long workers are woken for each job after the watchdog has found idle processors. Doubles
/// each time that it does so in a row.
const SHORT_RELIEF: Duration = Duration::from_millis(100);
const LONG_RELIEF: Duration = Duration::from_secs(10);

pub(crate) mod short_calls;
#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
mod tests;

use short_calls::ShortCalls;

/// No worker watches, so that workers are woken for each job.
const UNWATCHED: u8 = 0;
/// One sleeping worker is the watchdog.
const WATCHED: u8 = 1;
/// Processors were idle while jobs waited, so workers are woken for each job for some time.
const RELIEVED: u8 = 2;

/// Decides how many workers are worth waking for the jobs of joins, which their posters run
/// themselves if no thief comes: one for each processor.
///
/// That is true only while the awake workers actually run. A worker that waits in a system call
/// gives up its processor, and the pool is not notified. So one of the sleeping workers is the
/// *watchdog*: it wakes up from time to time, while the protocol still counts it as asleep, and
/// checks whether jobs wait while processors are idle.
///
/// - *Unwatched*: there is no limit. A worker that falls asleep while others are active, or while
///   [short calls](ShortCalls) are expected, becomes the watchdog.
/// - *Watched*: the limit is the number of processors. If the watchdog is woken, or if it is no
///   longer needed, the pool becomes unwatched. If it finds that a job has waited from one check to
///   the next while a processor was idle, the pool becomes relieved.
/// - *Relieved*: there is no limit. After some time, the next worker that falls asleep while others
///   are active becomes the watchdog.
///
/// So no job of a join waits for much longer than two checks while a processor is idle, nor for
/// much longer than [`PATIENCE`] checks while a worker sleeps.
///
/// In a pool with a processor for each worker, there is no limit, and there is a watchdog only
/// while short calls are expected.
pub(crate) struct Crowd {
    num_workers: usize,
    /// Changes in a pool that follows the number of processors.
    processors: AtomicUsize,
    short_calls: ShortCalls,
    mode: AtomicU8,
    relief: Mutex<Relief>,
    /// Set when the pool is built.
    registry: OnceLock<Weak<Registry>>,
}

/// The last relief.
struct Relief {
    ends: Option<Instant>,
    duration: Duration,
}

impl Crowd {
    /// Creates the state of a pool whose workers share this number of processors.
    pub(crate) fn new(num_workers: usize, processors: usize) -> Arc<Self> {
        Arc::new(Self {
            num_workers,
            processors: AtomicUsize::new(processors),
            short_calls: ShortCalls::new(),
            mode: AtomicU8::new(UNWATCHED),
            relief: Mutex::new(Relief {
                ends: None,
                duration: SHORT_RELIEF,
            }),
            registry: OnceLock::new(),
        })
    }

    /// Sets the pool. Only the first call has an effect.
    pub(crate) fn set_registry(&self, registry: &Weak<Registry>) {
        self.registry.get_or_init(|| registry.clone());
    }

    /// Records that the workers share another number of processors from now on.
    pub(crate) fn set_processors(&self, registry: &Registry, processors: usize) {
        // Ordering: Relaxed. A worker executes a fence before it reads this, which pairs with the
        // one in `reconsider_wakes`: the worker sees this number, or is made to read it again.
        self.processors.store(processors, Ordering::Relaxed);
        registry.reconsider_wakes();
    }

    fn processors(&self) -> usize {
        // Ordering: Relaxed, see `set_processors`.
        self.processors.load(Ordering::Relaxed)
    }

    /// Whether there are more workers than processors.
    fn is_crowded(&self) -> bool {
        self.num_workers > self.processors()
    }

    /// Returns how many workers of the pool can make progress at a time, see
    /// [`Platform::parallelism`](pool_core::Platform::parallelism).
    pub(crate) fn parallelism(&self, registry: &Registry) -> usize {
        if !self.is_crowded() || !self.is_watched() {
            return usize::MAX;
        }
        // The protocol counts these workers as awake.
        let absent = registry.num_workers() - registry.data().active.count();
        self.processors() + absent + num_blocked(registry)
    }

    fn is_watched(&self) -> bool {
        // Ordering: Relaxed. A worker executes a fence before it reads this, which pairs with the
        // one in `Registry::reconsider_wakes`, called after each change to another mode. So the
        // worker sees that mode, or the thread that has changed it sees what the worker has queued
        // before.
        self.mode.load(Ordering::Relaxed) == WATCHED
    }

    fn registry(&self) -> Option<Arc<Registry>> {
        self.registry.get()?.upgrade()
    }

    /// Ends the duty of a worker that continues to sleep.
    fn end_watch(&self) {
        // A worker that had not seen the new mode yet may have left a job to the watchdog.
        let registry = self.stop_watch();
        if let Some(registry) = registry.filter(|it| it.waiting_job().is_some()) {
            registry.announce_jobs(1);
        }
    }

    /// Ends the duty of a worker. Returns the pool if the worker had the duty.
    fn stop_watch(&self) -> Option<Arc<Registry>> {
        // Ordering: Relaxed, see `is_watched`.
        let was_watched =
            self.mode
                .compare_exchange(WATCHED, UNWATCHED, Ordering::Relaxed, Ordering::Relaxed);
        let registry = was_watched.ok().and_then(|_| self.registry())?;
        registry.reconsider_wakes();
        // If all other workers wait, only those in isolated waits may run the jobs.
        registry.wake_isolated_waiters();
        Some(registry)
    }

    /// Begins a relief: wakes a worker, which wakes others as long as there are jobs.
    fn relieve(&self, registry: &Registry) {
        self.short_calls.expect_long();
        let mut relief = lock(&self.relief);
        relief.ends = Some(Instant::now() + relief.duration);
        relief.duration = LONG_RELIEF.min(relief.duration * 2);
        drop(relief);
        // Ordering: Relaxed, see `is_watched`.
        self.mode.store(RELIEVED, Ordering::Relaxed);
        registry.reconsider_wakes();
        registry.announce_jobs(registry.num_workers());
        registry.wake_isolated_waiters();
    }
}

/// Returns how many workers are in sections that they have marked as blocked.
fn num_blocked(registry: &Registry) -> usize {
    if !registry.data().sections.are_used() {
        return 0;
    }
    let workers = (0..registry.num_workers()).filter_map(|index| registry.worker(index).ok());
    let states = workers.map(|worker| registry.deadlock().state(worker));
    states.filter(|&state| state == State::Blocked).count()
}

/// The duty of one sleeping worker. Dropping the value ends it.
pub(crate) struct Watchdog<'c> {
    crowd: &'c Crowd,
    next_check: Instant,
    /// What the last check found.
    last: Option<Finding>,
    /// The number of checks since the one that last found a new waiting job.
    checks: u32,
    /// Whether the duty has ended, so that another worker may have it.
    has_ended: bool,
}

/// What a check finds.
struct Finding {
    /// A job that waits, if there is one.
    job: Option<WaitingJob>,
    time: Instant,
    /// The processor time that the process has used.
    used: Duration,
}

impl<'c> Watchdog<'c> {
    /// Takes the duty for a worker that falls asleep. None if another worker has it, or if no
    /// watchdog is needed now.
    pub(crate) fn begin(crowd: &'c Crowd) -> Option<Self> {
        // Ordering: Relaxed here and below; the mode guards no memory.
        let mode = crowd.mode.load(Ordering::Relaxed);
        match mode {
            WATCHED => return None,
            RELIEVED if !lock(&crowd.relief).is_over() => return None,
            _ => {}
        }
        let expects_short_calls = crowd.short_calls.are_expected();
        if !crowd.is_crowded() && !expects_short_calls {
            return None;
        }
        let registry = crowd.registry()?;
        let begins = (expects_short_calls || is_active(&registry))
            && crowd
                .mode
                .compare_exchange(mode, WATCHED, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        begins.then(|| Self {
            crowd,
            next_check: Instant::now() + INTERVAL,
            last: None,
            checks: 0,
            has_ended: false,
        })
    }

    /// Checks, if it is time to. Returns for how long the worker may sleep until the next check, or
    /// `None` if its duty has ended.
    pub(crate) fn remaining(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if now >= self.next_check {
            self.next_check = now + INTERVAL;
            if !self.check(now) {
                self.has_ended = true;
                self.crowd.end_watch();
                return None;
            }
        }
        Some(self.next_check - now)
    }

    /// Returns whether the duty continues.
    fn check(&mut self, time: Instant) -> bool {
        let any_delayed = self.crowd.short_calls.take_any_delayed();
        let is_needed = |registry: &Arc<_>| any_delayed || is_active(registry);
        let Some(registry) = self.crowd.registry().filter(is_needed) else {
            return false;
        };
        let Some(used) = process_time() else {
            return false;
        };
        let old_job = self.last.as_ref().and_then(|last| last.job);
        let old_job = old_job.filter(|&job| registry.still_waits(job));
        let job = old_job.or_else(|| registry.waiting_job());
        match self.judge(Finding { job, time, used }, old_job.is_some()) {
            Verdict::Watch => true,
            Verdict::WakeOne => {
                self.crowd.short_calls.expect_long();
                registry.announce_jobs(1);
                registry.wake_isolated_waiters();
                true
            }
            Verdict::Relieve => {
                self.crowd.relieve(&registry);
                false
            }
            Verdict::End => false,
        }
    }

    /// Decides what follows from a finding. `is_old_job` says whether its job is that of the last
    /// finding.
    fn judge(&mut self, finding: Finding, is_old_job: bool) -> Verdict {
        let last = self.last.replace(finding);
        let finding = self.last.as_ref().expect("set just now");
        let is_new_job = finding.job.is_some() && !is_old_job;
        self.checks = if is_new_job { 0 } else { self.checks + 1 };
        match last.filter(|_| is_old_job) {
            Some(last) if finding.leaves_idle(&last, self.crowd.processors()) => Verdict::Relieve,
            Some(_) => {
                lock(&self.crowd.relief).duration = SHORT_RELIEF;
                if self.checks.is_multiple_of(PATIENCE) {
                    Verdict::WakeOne
                } else {
                    Verdict::Watch
                }
            }
            None if finding.job.is_none() && self.checks > PATIENCE => Verdict::End,
            None => Verdict::Watch,
        }
    }
}

/// What the watchdog does after a check.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The watchdog continues.
    Watch,
    /// The watchdog wakes a worker for a job that has waited for a long time, and continues.
    WakeOne,
    /// The watchdog begins a relief.
    Relieve,
    /// The worker sleeps like any other one.
    End,
}

impl Drop for Watchdog<'_> {
    fn drop(&mut self) {
        // Another worker may have begun since this one has ended.
        if !self.has_ended {
            // A worker that was woken searches, and finds the jobs that were left to its watch.
            self.crowd.stop_watch();
        }
    }
}

impl Relief {
    fn is_over(&self) -> bool {
        self.ends.is_none_or(|end| Instant::now() >= end)
    }
}

impl Finding {
    /// Whether, since an earlier finding, at least half a processor of this number was idle.
    fn leaves_idle(&self, earlier: &Self, processors: usize) -> bool {
        let used = self.used.saturating_sub(earlier.used).as_secs_f64();
        let time = (self.time - earlier.time).as_secs_f64();
        used < time * (processors as f64 - 0.5)
    }
}

/// Whether any worker neither sleeps nor searches.
fn is_active(registry: &Registry) -> bool {
    registry.num_inactive() < registry.num_workers()
}
