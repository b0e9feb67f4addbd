//! Any settings: a pool in which any program works, or an error that names a setting which is bad.

use std::{
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process,
    sync::{
        Arc, Mutex, Weak,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use pool_std::{
    BuildError, IdlePolicy, Isolation, ParkerKind, SleepKind, ThreadPool, ThreadPoolBuilder,
    max_num_threads,
};
use proptest::prelude::*;

mod counts;
mod found;
mod program;
mod run;

use counts::{Counts, caught};
use program::{Call, End, Program, program};

/// A program takes milliseconds.
const LIMIT: Duration = Duration::from_secs(120);

const ISOLATIONS: [Isolation; 3] = [Isolation::Anything, Isolation::Subtree, Isolation::Nothing];

/// Settings of a builder, good ones and bad ones.
#[derive(Debug, Clone)]
struct Settings {
    num_threads: usize,
    stack_size: Option<usize>,
    name: Option<&'static str>,
    active_workers: Option<usize>,
    max_blocking_threads: usize,
    max_nesting: Option<usize>,
    sleep: Option<SleepKind>,
    /// The schedule of a seeded pool.
    seed: Option<u64>,
    parker: ParkerKind,
    policy: IdlePolicy,
    isolation: Isolation,
    flags: Flags,
    spawn: Spawn,
}

#[derive(Debug, Clone)]
struct Flags {
    guests: bool,
    lazy_threads: bool,
    breadth_first: bool,
    overlook_no_jobs: bool,
    use_current_thread: bool,
}

/// Who makes the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spawn {
    ByPool,
    ByProgram,
    /// Likewise, and it fails from this thread on.
    Failing(usize),
}

fn settings() -> impl Strategy<Value = Settings> {
    use prop::{option::of, sample::select};

    let threads = prop_oneof![
        8 => 0..5_usize,
        1 => select(&[70_000, usize::MAX][..]),
        1 => Just(()).prop_map(|()| max_num_threads() + 1),
    ];
    let stack = of(prop_oneof![4 => Just(1 << 18), 1 => select(&[0, 1, 1_000][..])]);
    let name = of(prop_oneof![4 => Just("worker"), 1 => Just("work\0er"), 1 => Just("")]);
    let active = of(prop_oneof![4 => 1..3_usize, 1 => select(&[0, 100, usize::MAX][..])]);
    let nesting = of(select(&[0, 1, 100, usize::MAX][..]));
    let sleep = of(select(
        &[
            SleepKind::Jec,
            SleepKind::Sockets,
            SleepKind::Classic,
            SleepKind::Hints,
            SleepKind::Seeded,
        ][..],
    ));
    let seed = prop_oneof![3 => Just(None), 1 => any::<u64>().prop_map(Some)];
    let policies = [
        IdlePolicy::DEFAULT,
        IdlePolicy::IMMEDIATE,
        IdlePolicy::LATENCY,
    ];
    let flags = any::<[bool; 5]>().prop_map(|flags| {
        let [
            guests,
            lazy_threads,
            breadth_first,
            overlook_no_jobs,
            use_current_thread,
        ] = flags;
        Flags {
            guests,
            lazy_threads,
            breadth_first,
            overlook_no_jobs,
            use_current_thread,
        }
    });
    let spawn = prop_oneof![
        4 => Just(Spawn::ByPool),
        2 => Just(Spawn::ByProgram),
        1 => (0..4_usize).prop_map(Spawn::Failing),
    ];
    let numbers = (threads, stack, active, 0..3_usize, nesting);
    let parker = select(&[ParkerKind::Futex, ParkerKind::Condvar][..]);
    let kinds = (
        sleep,
        seed,
        parker,
        select(policies.to_vec()),
        select(ISOLATIONS.to_vec()),
    );
    (numbers, kinds, name, flags, spawn).prop_map(|(numbers, kinds, name, flags, spawn)| {
        let (num_threads, stack_size, active_workers, max_blocking_threads, max_nesting) = numbers;
        let (sleep, seed, parker, policy, isolation) = kinds;
        Settings {
            num_threads,
            stack_size,
            name,
            active_workers,
            max_blocking_threads,
            max_nesting,
            sleep,
            seed,
            parker,
            policy,
            isolation,
            flags,
            spawn,
        }
    })
}

impl Settings {
    fn build(&self) -> Result<ThreadPool, BuildError> {
        let Flags {
            guests,
            lazy_threads,
            breadth_first,
            overlook_no_jobs,
            use_current_thread,
        } = self.flags;
        let mut builder = ThreadPoolBuilder::new()
            .num_threads(self.num_threads)
            .max_blocking_threads(self.max_blocking_threads)
            .parker(self.parker)
            .idle_policy(self.policy)
            .isolation(self.isolation)
            .panic_handler(caught)
            .guests(guests)
            .overlook_no_jobs(overlook_no_jobs);
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        if let Some(name) = self.name {
            builder = builder.thread_name(move |_| name.to_owned());
        }
        if let Some(count) = self.active_workers {
            builder = builder.active_workers(count);
        }
        if let Some(depth) = self.max_nesting {
            builder = builder.max_nesting(depth);
        }
        if let Some(sleep) = self.sleep {
            builder = builder.sleep(sleep);
        }
        if let Some(seed) = self.seed {
            builder = builder.seeded(seed);
        }
        if lazy_threads {
            builder = builder.lazy_threads();
        }
        if breadth_first {
            builder = builder.breadth_first();
        }
        if use_current_thread {
            builder = builder.use_current_thread();
        }
        let fails_from = match self.spawn {
            Spawn::ByPool => return builder.build(),
            Spawn::ByProgram => usize::MAX,
            Spawn::Failing(first) => first,
        };
        let mut spawned = 0;
        let spawn = move |worker: pool_std::ThreadBuilder| {
            spawned += 1;
            if spawned > fails_from {
                return Err(io::Error::other("as it should"));
            }
            let name = worker.name().map(|name| name.replace('\0', ""));
            let named = name.map_or_else(thread::Builder::new, |name| {
                thread::Builder::new().name(name)
            });
            named.spawn(move || worker.run()).map(drop)
        };
        builder.spawn_handler(spawn).build()
    }

    /// Whether an error names a setting that is bad.
    fn explain(&self, error: &BuildError) -> bool {
        match error {
            BuildError::TooManyThreads { requested, maximum } => {
                *requested == self.num_threads && requested > maximum
            }
            BuildError::StackTooSmall { requested, minimum } => {
                Some(*requested) == self.stack_size && requested < minimum
            }
            BuildError::ThreadName { name, .. } => name.contains('\0'),
            BuildError::ActiveWorkers(error) => {
                assert!(!error.to_string().is_empty());
                let fits = |count| (1..=self.num_threads).contains(&count);
                self.active_workers.is_some_and(|count| !fits(count))
            }
            BuildError::Spawn { source, .. } => {
                matches!(self.spawn, Spawn::Failing(_)) && source.to_string() == "as it should"
            }
            _ => false,
        }
    }

    /// Whether all settings are good ones, whatever the number of processors.
    fn are_good(&self) -> bool {
        let threads = 1..=4;
        threads.contains(&self.num_threads)
            && self.stack_size.is_none_or(|size| size > 1_000)
            && (matches!(self.spawn, Spawn::ByProgram)
                || self.name.is_none_or(|name| !name.contains('\0')))
            && self
                .active_workers
                .is_none_or(|count| (1..=self.num_threads).contains(&count))
            && !matches!(self.spawn, Spawn::Failing(_))
    }
}

/// When a program is over.
#[derive(Debug, Clone, Copy)]
enum Finish {
    Idle,
    Shutdown,
    /// What has not begun is discarded.
    ShutdownNow,
}

/// Runs programs in a pool, one on this thread and the others on threads of their own, and waits
/// until the pool has nothing to do.
fn work(pool: &Arc<ThreadPool>, programs: &[Program], finish: Finish, counts: &Counts) {
    thread::scope(|threads| {
        let run = |program| {
            let run = AssertUnwindSafe(|| run::run(pool, program, counts));
            let _ = catch_unwind(run).map_err(caught);
        };
        let (first, others) = programs.split_first().unwrap();
        let others: Vec<_> = others
            .iter()
            .map(|it| threads.spawn(move || run(it)))
            .collect();
        run(first);
        // This thread may be a worker that the others need.
        while !others.iter().all(|it| it.is_finished()) {
            pool.yield_now();
            thread::yield_now();
        }
    });
    let discarded = match finish {
        Finish::Idle => pool.wait_idle().map(|()| 0).unwrap(),
        Finish::Shutdown => pool.shutdown_timeout(LIMIT).map(|()| 0).unwrap(),
        Finish::ShutdownNow => {
            counts.begin_to_discard();
            pool.shutdown_now(LIMIT).unwrap()
        }
    };
    counts.check_all(discarded);
}

/// Calls a closure with a pool, if there is one, on a thread that the pool may adopt.
fn within_limit<R: Send + 'static>(
    description: String,
    closure: impl FnOnce(&mut dyn FnMut(&Arc<ThreadPool>)) -> R + Send + 'static,
) -> R {
    let (sender, ended) = mpsc::channel();
    let pool = Arc::new(Mutex::new(Weak::new()));
    let seen = pool.clone();
    let thread = thread::spawn(move || {
        let mut show = |pool: &Arc<ThreadPool>| *seen.lock().unwrap() = Arc::downgrade(pool);
        sender.send(closure(&mut show)).unwrap();
    });
    match ended.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => {
            // What is printed by a macro is kept until the test ends.
            let state = pool.lock().unwrap().upgrade().map(|pool| pool.state());
            let _ = writeln!(io::stderr(), "{description} does not end: {state:?}");
            process::abort();
        }
        Err(RecvTimeoutError::Disconnected) => resume_unwind(thread.join().unwrap_err()),
    }
}

/// The check of what a program has done.
#[test]
fn a_future_that_is_aborted_may_have_run_its_closure() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let pool = Arc::new(pool);
    let counts = Counts::new(Isolation::Anything, true);
    let closure = counts.closure(&pool, &Program::new());
    let (sender, has_run) = mpsc::channel();
    let (go_on, receiver) = mpsc::channel();
    let job = pool.spawn_future(async move {
        closure();
        sender.send(()).unwrap();
        receiver.recv().unwrap();
    });
    has_run.recv().unwrap();
    assert!(run::end(&pool, job, End::Abort, &counts));
    counts.abort_future();
    go_on.send(()).unwrap();
    pool.wait_idle().unwrap();
    counts.check_all(0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// And in the pool any program ends, each of whose closures has run once.
    #[test]
    fn any_settings_make_a_pool_that_works_or_an_error_that_names_one(
        settings in settings(),
        programs in prop::collection::vec(program(), 1..3),
        finish in prop::sample::select(&[Finish::Idle, Finish::Shutdown, Finish::ShutdownNow][..]),
    ) {
        let good = settings.are_good();
        let description = format!("{settings:?} {programs:?} {finish:?}");
        let error = within_limit(description, move |show| match settings.build() {
            Ok(pool) => {
                let pool = Arc::new(pool);
                show(&pool);
                work(&pool, &programs, finish, &Counts::new(settings.isolation, true));
                None
            }
            Err(error) => Some((settings.explain(&error), error)),
        });
        if let Some((explained, error)) = error {
            prop_assert!(!good && explained, "{error:?}");
        }
    }

    /// In a seeded pool, the closures of any program run in the same order each time, and on the
    /// same workers.
    #[test]
    fn any_program_has_one_order_for_a_seed(
        (seed, threads) in (any::<u64>(), 1..5_usize),
        isolation in prop::sample::select(ISOLATIONS.to_vec()),
        nesting in prop::option::of(0..4_usize),
        breadth_first: bool,
        program in program(),
    ) {
        let settings = (seed, threads, isolation, nesting, breadth_first);
        let description = format!("{settings:?} {program:?}");
        let orders = within_limit(description, move |show| {
            [(); 2].map(|()| {
                let builder = ThreadPoolBuilder::new().num_threads(threads).seeded(seed);
                let mut builder = builder.isolation(isolation).panic_handler(caught);
                if let Some(depth) = nesting {
                    builder = builder.max_nesting(depth);
                }
                if breadth_first {
                    builder = builder.breadth_first();
                }
                let pool = Arc::new(builder.build().unwrap());
                show(&pool);
                let counts = Counts::new(isolation, false);
                // From outside, each call would come at a time of its own.
                let programs = [vec![Call::Install(program.clone())]];
                work(&pool, &programs, Finish::Shutdown, &counts);
                counts.take_order()
            })
        });
        prop_assert_eq!(&orders[0], &orders[1]);
    }
}
