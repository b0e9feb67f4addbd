//! The settings of a pool, and how its threads start.

// rustdoc shows the methods of a type in the order of the modules. What is used first comes first.
mod build;

mod threads;

mod blocking;
mod driver;
mod elastic;
mod guests;
mod seeded_pool;
mod sleep;
mod waits;

use std::{
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use deque_core::{Deque, Order};
use pool_core::{
    IdlePolicy, Injectors, WorkerIndex, WorkerShared,
    progress::{Participant, Progress},
};

use build::Unfinished;

use crate::{
    blocking::{
        deadlock::{Reporter, accounting},
        handlers::DeadlockHandler,
        sections::Sections,
    },
    driver::Pool as DriverPool,
    fence::ProcessBarrier,
    fork,
    parker::{OsParker, ParkerKind},
    platform::{Counters, Queue, Registry, Std},
    seeded::{self, Membership, TurnObserver, Turns},
    sleep::SleepKind,
    thread_pool::{
        active::ActiveWorkers,
        environment::{self, default_num_threads},
        error::BuildError,
        follow::Follower,
        handlers::Handlers,
        lazy::{LazyThread, LazyThreads},
        parts::PoolParts,
        processors,
        waits::Waits,
    },
    tracer::{PoolRings, WorkerTracer},
    worker::{
        adopted,
        spawn::{DefaultSpawn, ThreadSpawn},
        thread::{Role, ThreadBuilder},
    },
};

#[cfg(feature = "pinning")]
use crate::thread_pool::pins::Pins;
use driver::MakeDriver;
use seeded_pool::FirstTurn;

/// The greatest number that the counters of `sleep-core` can hold on this target.
pub(crate) const MAX_THREADS: usize = if cfg!(target_has_atomic = "64") {
    u16::MAX as usize
} else {
    u8::MAX as usize
};

/// Configures and builds a [`ThreadPool`](crate::ThreadPool) or the global pool.
///
/// Environment variables configure what the program does not set. The page "Environment variables"
/// of the book, `docs/src/environment.md`, lists all of them in one table.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new()
///     .num_threads(3)
///     .thread_name(|index| format!("worker-{index}"))
///     .build()?;
/// assert_eq!(pool.current_num_threads(), 3);
/// pool.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    pub(crate) settings: Settings,
    spawn: S,
}

/// The settings that a program may choose, except how threads are started.
#[derive(Default)]
pub(crate) struct Settings {
    num_threads: usize,
    active_workers: Option<usize>,
    max_blocking_threads: usize,
    stack_size: Option<usize>,
    use_current_thread: bool,
    lazy_threads: bool,
    follow_processors: bool,
    #[cfg(feature = "pinning")]
    pin_workers: bool,
    is_breadth_first: bool,
    sleep: Option<SleepKind>,
    overlook_no_jobs: Option<bool>,
    guests: Option<bool>,
    idle_policy: Option<IdlePolicy>,
    turns: Option<Arc<Turns>>,
    /// How many events each worker keeps.
    pub(crate) trace: Option<usize>,
    parker: ParkerKind,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    deadlock_handler: Option<Box<DeadlockHandler>>,
    driver: Option<Box<MakeDriver>>,
    waits: Waits,
    handlers: Handlers,
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Starts a pool. The caller owns its only reference.
    pub(crate) fn start(mut self) -> Result<Arc<Registry>, BuildError> {
        let builder = ThreadPoolBuilder::<&mut dyn ThreadSpawn> {
            settings: self.settings,
            spawn: &mut self.spawn,
        };
        let result = builder.start_pool();
        let spawn = self.spawn;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(spawn))) {
            // No caller gets the pool, which would never end.
            drop(result.as_ref().map(Unfinished));
            resume_unwind(panic);
        }
        result
    }
}

/// A builder that starts threads through a trait object, so that the code that builds a pool is
/// compiled once in this crate, and not again in each program.
impl ThreadPoolBuilder<&mut dyn ThreadSpawn> {
    fn start_pool(mut self) -> Result<Arc<Registry>, BuildError> {
        fork::watch();
        environment::check_features()?;
        #[cfg(all(unix, feature = "signal"))]
        let state_signal = environment::state_signal()?;
        // Before the pool's workers are created, because whether they record events for viewers is
        // decided then.
        #[cfg(feature = "live")]
        if environment::is_live()? {
            crate::live::serve_or_warn();
        }
        let turns = self.turns()?;
        let num_threads = self.checked_num_threads(turns.is_some())?;
        if let Some(size) = self
            .settings
            .stack_size
            .filter(|_| self.spawn.is_standard())
        {
            threads::check_stack_size(size)?;
        }
        let followed = self.followed(turns.is_some());
        let registry = self.registry(num_threads, turns, followed)?;
        let first_turn = FirstTurn::prepare(&registry);
        if self.settings.use_current_thread {
            adopted::adopt(&registry)?;
        }
        // Lazy threads may be starting while another thread ends the pool.
        registry.data().threads.count_end();
        let unfinished = Unfinished(&registry);
        // Before the workers, whose start handlers may begin operations already.
        if let Some(driver) = registry.data().drivers.first() {
            let started = driver.start(DriverPool(&registry));
            started.map_err(|source| BuildError::Driver { source })?;
        }
        if !registry.data().lazy.are_pending() {
            self.start_threads(&registry, followed)?;
        }
        // The drop of the program's closure may panic. Then the build fails.
        drop(self.settings.thread_name.take());
        std::mem::forget(unfinished);
        #[cfg(all(unix, any(feature = "live", feature = "signal")))]
        crate::thread_pool::pools::list(&registry);
        #[cfg(all(unix, feature = "signal"))]
        if let Some(signal) = state_signal {
            crate::thread_pool::signal::listen_once(signal);
        }
        if let Some(first_turn) = first_turn {
            first_turn.give(&registry, !self.spawn.is_on_demand());
        }
        Ok(registry)
    }

    fn checked_num_threads(&self, is_seeded: bool) -> Result<usize, BuildError> {
        let requested = if self.settings.num_threads > 0 {
            self.settings.num_threads
        } else {
            default_num_threads(|| {
                if is_seeded {
                    Some(seeded::NUM_THREADS)
                } else if self.settings.follow_processors {
                    processors::count().max(processors::of_machine())
                } else {
                    processors::count()
                }
            })?
        };
        for number in [requested, self.settings.max_blocking_threads] {
            if number > MAX_THREADS {
                return Err(BuildError::TooManyThreads {
                    requested: number,
                    maximum: MAX_THREADS,
                });
            }
        }
        Ok(requested)
    }

    fn registry(
        &mut self,
        num_threads: usize,
        turns: Option<Arc<Turns>>,
        followed: Option<usize>,
    ) -> Result<Arc<Registry>, BuildError> {
        let mut parts = PoolParts {
            turns: turns.map(|turns| Membership::new(turns, num_threads)),
            drivers: self.make_driver(num_threads)?,
            handlers: Arc::new(std::mem::take(&mut self.settings.handlers)),
            waits: self.settings.waits,
            overlooks_no_jobs: self.prepare_fences()?,
            rings: PoolRings::new(num_threads, self.settings.trace)?,
            ..PoolParts::default()
        };
        let processors = processors::count();
        if !parts.overlooks_no_jobs && parts.turns.is_none() {
            parts.crowd = Self::crowd(&parts.drivers, num_threads, processors);
        }
        if parts.turns.is_some() {
            // The depth decides, and not the stack, whose use differs between machines.
            let max_nesting = &mut parts.waits.max_nesting;
            max_nesting.get_or_insert(seeded::MAX_NESTING);
        }
        let sleep = self.sleep_protocol(&parts, num_threads, processors)?;
        parts.guests = self.chosen_guests(&parts, sleep.kind());
        let workers = self.workers(&parts, num_threads);
        let participants =
            (0..num_threads).map(|_| Participant::new(OsParker::new(self.settings.parker)));
        let progress = Progress::new(participants.collect());
        let default = followed.map_or(num_threads, |processors| processors.min(num_threads));
        let active = self.settings.active_workers.unwrap_or(default);
        parts.active =
            ActiveWorkers::new(active, num_threads).map_err(BuildError::ActiveWorkers)?;
        parts.spares = self.spares(num_threads)?;
        #[cfg(feature = "pinning")]
        if self.settings.pin_workers {
            parts.pins = Pins::here();
        }
        parts.sections = Sections::new(num_threads);
        parts.lazy = self.lazy_threads_of(&parts, num_threads)?;
        let handler = self.settings.deadlock_handler.take();
        Ok(Arc::new_cyclic(|registry| {
            let deadlock = accounting(num_threads, Reporter::new(handler, registry));
            let injectors = Injectors::new(Queue::new(), Queue::new(), Queue::new());
            if let Some(crowd) = &parts.crowd {
                crowd.set_registry(registry);
            }
            Registry::new(sleep, workers, progress, injectors, deadlock, parts)
        }))
    }

    /// Creates what each worker shares with the others.
    fn workers(&self, parts: &PoolParts, num_threads: usize) -> Box<[WorkerShared<Std>]> {
        let order = if self.settings.is_breadth_first {
            Order::Fifo
        } else {
            Order::Lifo
        };
        // How often an owner biases its deque depends on what a fence costs, and what a thief takes
        // on whether it is biased.
        let is_seeded = parts.turns.is_some();
        let deque = || match Deque::growable(order) {
            deque if is_seeded => deque,
            deque => deque.with_process_fence::<ProcessBarrier>(),
        };
        let shared = |worker| {
            let turns = TurnObserver::new(&parts.turns, worker);
            let tracer = WorkerTracer::new(&parts.rings, worker);
            let observer = (Counters::new(), (turns, tracer));
            // SAFETY: 1. the deque is new.
            unsafe { WorkerShared::new(deque(), Queue::new(), Queue::new(), observer) }
        };
        (0..num_threads).map(shared).collect()
    }

    fn start_threads(
        &mut self,
        registry: &Arc<Registry>,
        followed: Option<usize>,
    ) -> Result<(), BuildError> {
        if let Some(name) = &mut self.settings.thread_name
            && self.settings.use_current_thread
        {
            // The thread keeps its name. The closure is called anyway, so that one that counts its
            // calls gives the others the same names.
            drop(name(0));
        }
        for index in usize::from(self.settings.use_current_thread)..registry.num_workers() {
            self.start_thread(registry, index)?;
        }
        self.start_spares(registry)?;
        registry.data().threads.finish_build().map_err(|index| {
            let source = io::Error::other("it was dropped before it ran");
            BuildError::Spawn { index, source }
        })?;
        match followed {
            Some(processors) => {
                let index = registry.num_workers() + self.settings.max_blocking_threads;
                let started = Follower::start(registry, processors);
                started.map_err(|source| BuildError::Spawn { index, source })
            }
            None => Ok(()),
        }
    }

    /// Returns how many processors the process may use, if the pool follows their number.
    fn followed(&self, is_seeded: bool) -> Option<usize> {
        let follows = self.settings.follow_processors && !is_seeded;
        follows.then(processors::count).flatten()
    }

    fn start_thread(&mut self, registry: &Arc<Registry>, index: usize) -> Result<(), BuildError> {
        let name = self.name_of(index)?;
        let worker = registry.worker(index).expect("counted");
        let thread = ThreadBuilder::new(
            registry,
            Role::Worker(worker),
            name,
            self.settings.stack_size,
        );
        let result = self.spawn.spawn(thread);
        result.map_err(|source| BuildError::Spawn { index, source })
    }

    /// Returns the threads that the pool starts at its first use, or none if it starts them at
    /// once.
    fn lazy_threads_of(
        &mut self,
        parts: &PoolParts,
        num_threads: usize,
    ) -> Result<LazyThreads, BuildError> {
        let is_lazy = self.settings.lazy_threads
            && self.spawn.is_on_demand()
            && !self.settings.follow_processors
            && !self.settings.use_current_thread
            && parts.drivers.first().is_none()
            && parts.turns.is_none();
        let threads = (0..num_threads).filter(|_| is_lazy).map(|index| {
            Ok(LazyThread {
                index: WorkerIndex::new(index, num_threads).expect("counted"),
                name: self.name_of(index)?,
                stack_size: self.settings.stack_size,
            })
        });
        Ok(LazyThreads::new(threads.collect::<Result<_, _>>()?))
    }

    /// Returns the name of a thread, if the threads have names.
    fn name_of(&mut self, index: usize) -> Result<Option<String>, BuildError> {
        match self.settings.thread_name.as_mut().map(|name| name(index)) {
            // The standard library would panic when the thread is started. A spawn handler may give
            // it another name.
            Some(name) if self.spawn.is_standard() && name.contains('\0') => {
                Err(BuildError::ThreadName { index, name })
            }
            name => Ok(name),
        }
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.settings.num_threads)
            .field("active_workers", &self.settings.active_workers)
            .field("max_blocking_threads", &self.settings.max_blocking_threads)
            .field("stack_size", &self.settings.stack_size)
            .field("use_current_thread", &self.settings.use_current_thread)
            .field("lazy_threads", &self.settings.lazy_threads)
            .field("follow_processors", &self.settings.follow_processors)
            .field("is_breadth_first", &self.settings.is_breadth_first)
            .field("sleep", &self.settings.sleep)
            .field("overlook_no_jobs", &self.settings.overlook_no_jobs)
            .field("guests", &self.settings.guests)
            .field("idle_policy", &self.settings.idle_policy)
            .field("is_seeded", &self.settings.turns.is_some())
            .field("parker", &self.settings.parker)
            .finish_non_exhaustive()
    }
}
