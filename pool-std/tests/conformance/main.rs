//! One suite for every sleep protocol on every parker: workers fall asleep and are woken in each way that a
//! pool knows. A lost wake-up makes a test hang, which the watchdog turns into a failure that names it.
//!
//! In each cycle a pool whose workers all sleep is woken. As many more calls follow that do not wait until the
//! workers sleep, so that they come in the middle. So a cycle wakes several workers. [Short](short) cycles follow,
//! until so many workers were woken as `SLEEP_CYCLES` says, for each protocol, parker and idle policy; the default suits
//! a quick run. The suite prints how many were woken. `SLEEP_PROCESSOR` [pins](pinned) all workers to a processor.

mod pinned;
mod short;
mod watchdog;

use std::{
    collections::HashSet,
    process,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Instant,
};

use pool_std::{IdlePolicy, ParkerKind, SleepKind, ThreadPool, ThreadPoolBuilder, join, spawn};

/// Where the workers sleep.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Condvar,
    Futex,
    /// Each in its ring of the kernel.
    #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
    Ring,
}

impl Place {
    fn choose(self, builder: ThreadPoolBuilder) -> ThreadPoolBuilder {
        match self {
            Self::Condvar => builder.parker(ParkerKind::Condvar),
            Self::Futex => builder.parker(ParkerKind::Futex),
            #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
            Self::Ring => builder.io(pool_std::io::IoBackend::Ring),
        }
    }

    /// Whether the system has it. Asks the kernel itself, not the code under test.
    fn is_available(self) -> bool {
        #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
        if self == Self::Ring {
            // Miri does not know the call.
            let has_rings = !cfg!(miri) && {
                // SAFETY: the kernel refuses a structure at address zero, or does not know the call.
                unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null_mut::<u8>()) };
                std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
            };
            if !has_rings {
                eprintln!("io_uring is refused here: rings are not tested");
            }
            return has_rings;
        }
        true
    }
}

macro_rules! suite {
    ($($(#[$attribute:meta])* $name:ident: $kind:ident, $place:ident;)*) => {
        $(
            #[test]
            $(#[$attribute])*
            fn $name() {
                if Place::$place.is_available() {
                    conforms(stringify!($name), SleepKind::$kind, Place::$place);
                }
            }
        )*

        #[test]
        fn the_suite_has_every_protocol() {
            let tested = HashSet::from([$(SleepKind::$kind),*]);
            assert!(SleepKind::ALL.iter().all(|kind| tested.contains(kind)));
        }
    };
}

suite! {
    jec_condvar: Jec, Condvar;
    jec_futex: Jec, Futex;
    classic_condvar: Classic, Condvar;
    classic_futex: Classic, Futex;
    hints_condvar: Hints, Condvar;
    hints_futex: Hints, Futex;
    #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
    jec_ring: Jec, Ring;
    #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
    classic_ring: Classic, Ring;
    #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
    hints_ring: Hints, Ring;
}

/// How many wake-ups of workers a test asks for.
fn wakes() -> u64 {
    let default = if cfg!(miri) { 6 } else { 600 };
    std::env::var("SLEEP_CYCLES").map_or(default, |wakes| {
        wakes.parse().expect("SLEEP_CYCLES is a number")
    })
}

/// How many cycles are not short.
fn cycles(policy: IdlePolicy) -> u64 {
    let least = match policy {
        _ if cfg!(miri) => 2,
        IdlePolicy::IMMEDIATE => 160,
        // Each takes longer, since workers yield many times before they sleep.
        _ => 40,
    };
    least.max(wakes() / 1_000)
}

fn conforms(name: &str, kind: SleepKind, place: Place) {
    for (policy, policy_name) in [
        (IdlePolicy::IMMEDIATE, "no rounds"),
        (IdlePolicy::DEFAULT, "default rounds"),
    ] {
        let name = format!("{name}, {policy_name}");
        watchdog::watch(&name, |progress| {
            let cycles = cycles(policy);
            let start = Instant::now();
            let per_pool = (cycles / 8).clamp(1, 64) as usize;
            let mut woken = 0;
            for (number, first) in (0..cycles).step_by(per_pool).enumerate() {
                let pool = Pool::new(number, kind, place, policy);
                for cycle in (first..cycles).take(per_pool) {
                    pool.cycle(cycle);
                    progress.step();
                }
                woken += pool.end(number);
            }
            let time = start.elapsed();
            println!("{name}: {cycles} cycles, {woken} wakes of workers, in {time:?}");

            let start = Instant::now();
            let total = short_cycles(kind, place, policy, progress);
            let (time, short::Total { cycles, wakes }) = (start.elapsed(), total);
            println!("{name}: {cycles} short cycles, {wakes} wakes of workers, in {time:?}");
        });
    }
}

/// Shares the wake-ups among pools of one to three workers, with and without process fences.
fn short_cycles(
    kind: SleepKind,
    place: Place,
    policy: IdlePolicy,
    progress: &watchdog::Progress,
) -> short::Total {
    const POOLS: usize = 6;
    let mut sum = short::Total::default();
    for number in 0..POOLS {
        let builder = builder(number % 3 + 1, kind, place, policy).overlook_no_jobs(number >= 3);
        let pool = pinned::build(if cfg!(feature = "metrics") {
            // The metrics tell which workers sleep, without the lock that an account takes at each sleep.
            builder
        } else {
            builder.deadlock_handler(|_| process::abort())
        });
        let total = short::cycles(&pool, wakes().div_ceil(POOLS as u64), progress);
        sum.cycles += total.cycles;
        sum.wakes += total.wakes;
        pool.shutdown().unwrap();
    }
    assert!(sum.wakes >= wakes());
    sum
}

fn builder(workers: usize, kind: SleepKind, place: Place, policy: IdlePolicy) -> ThreadPoolBuilder {
    place
        .choose(ThreadPoolBuilder::new())
        .num_threads(workers)
        .sleep(kind)
        .idle_policy(policy)
}

/// Waits until so many workers sleep. That they do is a fact that comes true: no other thread uses the pool.
fn wait_for_asleep(pool: &ThreadPool, workers: usize) {
    while pool.state().asleep().count() < workers {
        thread::yield_now();
    }
}

/// A pool, and another one whose worker calls it.
struct Pool {
    pool: ThreadPool,
    caller: ThreadPool,
    workers: usize,
}

impl Pool {
    /// Builds pools of each number of workers, with and without process fences.
    fn new(number: usize, kind: SleepKind, place: Place, policy: IdlePolicy) -> Self {
        let build = |workers| {
            let builder = builder(workers, kind, place, policy)
                .overlook_no_jobs(number % 8 >= 4)
                // The handler makes the pool keep an account of which workers sleep. No job blocks.
                .deadlock_handler(|_| process::abort());
            pinned::build(builder)
        };
        let workers = number % 4 + 1;
        Self {
            pool: build(workers),
            caller: build(1),
            workers,
        }
    }

    fn cycle(&self, cycle: u64) {
        wait_for_asleep(&self.pool, self.workers);
        self.wake(cycle, true);
        // In another order, so that each comes after each.
        self.wake(cycle * 3 + cycle / 7, self.pool.overlooks_no_jobs());
    }

    /// Ends the pool, every second time when its workers sleep. Returns how often its workers were woken.
    fn end(self, number: usize) -> u64 {
        if number.is_multiple_of(2) {
            wait_for_asleep(&self.pool, self.workers);
        }
        let wakes = self.pool.metrics().sum().wakes + self.caller.metrics().sum().wakes;
        self.pool.shutdown().unwrap();
        self.caller.shutdown().unwrap();
        wakes
    }

    /// Wakes the pool in one of the ways. `is_seen` says whether a sleeping worker cannot overlook the second
    /// half of a join.
    fn wake(&self, way: u64, is_seen: bool) {
        match way % 7 {
            0 => assert_eq!(self.pool.install(|| way), way),
            1 => self.spawn_from_outside((way / 7 % 5) as usize + 1),
            2 => self.join(is_seen),
            3 => self.set_latch_of_sleeper(),
            4 => self.call_from_another_pool(),
            5 => self.spawn_in_a_scope(),
            _ => assert_eq!(
                self.pool.broadcast(|context| context.index()).len(),
                self.workers
            ),
        }
    }

    fn spawn_from_outside(&self, jobs: usize) {
        let (sender, receiver) = mpsc::channel();
        for job in 0..jobs {
            let sender = sender.clone();
            self.pool.spawn(move || {
                // One more, by a worker that does not wait for it.
                spawn(move || sender.send(job).unwrap());
            });
        }
        drop(sender);
        assert_eq!(receiver.iter().sum::<usize>(), jobs * (jobs - 1) / 2);
    }

    /// Joins. If the second half is seen, the first half waits until another worker has begun it.
    fn join(&self, is_seen: bool) {
        let has_begun = AtomicBool::new(false);
        let waits = is_seen && self.workers > 1;
        let first = || {
            while waits && !has_begun.load(SeqCst) {
                thread::yield_now();
            }
        };
        self.pool
            .install(|| join(first, || has_begun.store(true, SeqCst)));
        assert!(has_begun.into_inner());
    }

    /// Makes a worker sleep until another one has run a job, and all others sleep as well.
    fn set_latch_of_sleeper(&self) {
        self.pool.install(|| {
            let caller = self.pool.current_thread_index().unwrap();
            let last = (caller + 1) % self.workers;
            let done = AtomicUsize::new(0);
            self.pool.broadcast(|context| {
                if self.workers > 1 && context.index() == last {
                    wait_for_asleep(&self.pool, self.workers - 1);
                }
                done.fetch_add(1, SeqCst);
            });
            assert_eq!(done.into_inner(), self.workers);
        });
    }

    /// Makes a worker of another pool wait for a latch that a worker of this pool sets.
    fn call_from_another_pool(&self) {
        let sum = self
            .caller
            .install(|| self.pool.install(|| join(|| 1, || 2)));
        assert_eq!(sum, (1, 2));
    }

    fn spawn_in_a_scope(&self) {
        let done = AtomicUsize::new(0);
        self.pool.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|scope| {
                    scope.spawn(|_| _ = done.fetch_add(1, SeqCst));
                    done.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(done.into_inner(), 6);
    }
}
