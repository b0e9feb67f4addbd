//! The threads of a pool: how they start, and what they run.

use std::{fmt, io, sync::Arc, thread};

use pool_core::WorkerIndex;

use crate::{
    panics::abort_with,
    platform::{Registry, WorkerThread},
    progress::run_deferred,
    seeded::Present,
    thread_pool::{
        active::NextStep, handle::PoolHandle, id::PoolId, spares::Spare, threads::Belonging,
    },
};

/// A thread that a pool needs, for a [spawn handler](crate::ThreadPoolBuilder::spawn_handler).
///
/// The handler starts a thread that calls [`run`](Self::run).
///
/// A value that is dropped unrun makes [`build`](crate::ThreadPoolBuilder::build) return an error.
/// If the build has returned already, the pool starts the thread of a worker with the standard
/// library instead, because its callers rely on every worker. If the system refuses that thread,
/// the process aborts.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .spawn_handler(|thread| {
///         let name = format!("worker {}", thread.index());
///         std::thread::Builder::new().name(name).spawn(|| thread.run())?;
///         Ok(())
///     })
///     .build()?;
/// assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    role: Role,
    registry: Arc<Registry>,
    has_run: bool,
    /// Whether the pool starts the thread because another one was dropped unrun.
    is_replacement: bool,
}

/// What a thread of a pool is for.
pub(crate) enum Role {
    /// It is a worker.
    Worker(WorkerIndex),
    /// It is a spare.
    Spare {
        /// Its number among the spares.
        number: usize,
        spare: Arc<Spare>,
        start: SpareStart,
    },
}

/// Where a spare thread begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpareStart {
    /// It is put into the list of free spares.
    Free,
    /// It is in use by the worker that has started it.
    Taken,
}

impl ThreadBuilder {
    pub(crate) fn new(
        registry: &Arc<Registry>,
        role: Role,
        name: Option<String>,
        stack_size: Option<usize>,
    ) -> Self {
        registry.data().threads.count_thread();
        Self {
            name,
            stack_size,
            role,
            registry: registry.clone(),
            has_run: false,
            is_replacement: false,
        }
    }

    /// Returns the number of the worker. [Spare](Self::is_spare) threads have the numbers after
    /// those of the workers.
    pub fn index(&self) -> usize {
        match self.role {
            Role::Worker(index) => index.get(),
            Role::Spare { number, .. } => self.registry.num_workers() + number,
        }
    }

    /// Whether this is a spare thread, which is a worker only while the thread of a worker
    /// [blocks](crate::block_in_place()).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .spawn_handler(|thread| {
    ///         assert!(!thread.is_spare(), "the pool allows no spare threads");
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn is_spare(&self) -> bool {
        matches!(self.role, Role::Spare { .. })
    }

    /// Returns the name that the pool's builder gave the thread.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the size of the stack in bytes that the pool's builder asked for.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .stack_size(1 << 20)
    ///     .spawn_handler(|thread| {
    ///         let size = thread.stack_size().expect("it was set");
    ///         std::thread::Builder::new().stack_size(size).spawn(|| thread.run()).map(drop)
    ///     })
    ///     .build()?;
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Returns a handle to the pool. The pool may not be built yet, and the build may fail.
    ///
    /// # Examples
    /// What a scope of threads waits for, if the build fails when some of them have started:
    /// ```
    /// let mut started = None;
    /// let built = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| match thread.index() {
    ///         0 => {
    ///             started = Some(thread.pool());
    ///             std::thread::Builder::new().spawn(|| thread.run()).map(drop)
    ///         }
    ///         _ => Err(std::io::Error::other("refused")),
    ///     })
    ///     .build();
    /// assert!(built.is_err());
    /// started.unwrap().wait_until_stopped()?;
    /// # Ok::<(), pool_std::ShutdownError>(())
    /// ```
    pub fn pool(&self) -> PoolHandle {
        PoolHandle::of(&self.registry)
    }

    /// Returns the pool.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns a builder of the standard library with the name and the stack size of this thread.
    pub(crate) fn standard(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        // With a NUL in it the standard library would panic. It was meant for a spawn handler.
        if let Some(name) = self.name.as_ref().filter(|name| !name.contains('\0')) {
            builder = builder.name(name.clone());
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }

    /// Starts the thread with the standard library.
    pub(crate) fn start(self) -> io::Result<()> {
        let builder = self.standard();
        let registry = self.registry.clone();
        let _starting = registry.data().threads.count_starting();
        registry.data().threads.start_thread(builder, move || {
            Belonging::begin_for_good(&self.registry.data().threads);
            self.run();
        })
    }

    /// Makes the calling thread a worker, or a spare thread, and returns when the pool has ended. A
    /// pool that could not be built has already ended: a worker then only calls its start and exit
    /// handlers.
    ///
    /// While [fewer workers are active](crate::ThreadPool::set_active_workers) the thread may be
    /// parked in this call.
    ///
    /// # Panics
    /// If the thread is already a worker of some pool.
    pub fn run(mut self) {
        // SAFETY: 1. the reference is only compared.
        let current = unsafe { WorkerThread::current() };
        assert!(current.is_none(), "this thread is already a worker");
        self.has_run = true;
        let belonging = Belonging::begin(&self.registry.data().threads);
        let mut present = None;
        match &self.role {
            Role::Worker(index) => self.run_worker(*index, &mut present),
            Role::Spare { spare, start, .. } => self.run_spare(spare, *start),
        }
        // Those that wait for the thread are notified in its turn.
        drop(self);
        drop(present);
        drop(belonging);
    }

    /// Starts another thread for the worker. Jobs, and callers that wait for them, may depend on
    /// that worker.
    #[cold]
    fn replace(&self, index: WorkerIndex) {
        if self.is_replacement {
            abort_with(&format!(
                "pool-std: the thread of worker {} was dropped, and no other one can be started; aborting",
                index.get()
            ));
        }
        let role = Role::Worker(index);
        let mut thread = Self::new(&self.registry, role, self.name.clone(), self.stack_size);
        thread.is_replacement = true;
        // If the system refuses the thread, this has dropped the value, which has ended the
        // process.
        let _started = thread.start();
    }

    /// Runs the worker until the pool has ended. In a seeded pool, stores the worker's presence in
    /// `present`, so that it outlives this call.
    fn run_worker(&self, index: WorkerIndex, present: &mut Option<Present>) {
        let data = self.registry.data();
        let membership = data.turns.as_ref();
        let arrive = || membership.map(|it| it.turns.arrive(it.member(index)));
        *present = arrive();
        // Before its first job, and before the start handler, which may pin it in another way.
        #[cfg(feature = "pinning")]
        data.pins.pin(index.get());
        let mut has_started = false;
        while self.run_until_parked(index, has_started) {
            has_started = true;
            *present = None;
            data.active.wait_until_revived(index);
            *present = arrive();
        }
    }

    fn run_spare(&self, spare: &Arc<Spare>, start: SpareStart) {
        let data = self.registry.data();
        if start == SpareStart::Free {
            data.spares.put_back(spare.clone());
        }
        // The start handler may wait for the pool. So the thread must be the worker by then, whose
        // place would be empty meanwhile.
        let mut has_started = false;
        spare.run(|| {
            let is_first = !std::mem::replace(&mut has_started, true);
            if is_first {
                data.handlers.call_start(self.index());
            }
        });
        // The pool has ended, so the handler cannot wait for it.
        if has_started {
            data.handlers.call_exit(self.index());
        }
    }

    /// Makes the calling thread a worker until it is to park, or until the pool has ended. Returns
    /// whether it is to park.
    fn run_until_parked(&self, index: WorkerIndex, has_started: bool) -> bool {
        let data = self.registry.data();
        // SAFETY: 1. `self` holds the registry longer than this function runs; 2. it is the `Arc`'s
        // pointer.
        let worker = unsafe { WorkerThread::new(Arc::as_ptr(&self.registry), index) }
            .expect("each worker is started once, and revived when it has parked");
        // SAFETY: 1. `worker` stays where it is until it leaves.
        unsafe { worker.enter() };
        if !has_started {
            data.handlers.call_start(self.index());
        }
        while worker.reset_stop() {
            // The jobs of a broadcast are what a parked worker is revived for.
            worker.run_inbox_jobs();
            worker.run_leftovers();
            // SAFETY: 1. it was entered above, and stays.
            match unsafe { data.active.next_step(&worker) } {
                // SAFETY: 1. this frame keeps the worker to itself, and the calls above have
                // returned.
                NextStep::Run => unsafe { worker.run_until_stopped() },
                NextStep::LookAgain => {}
                NextStep::Park => return true,
            }
        }
        // The pool has ended, and finishes what is queued.
        while worker.yield_now() {}
        run_deferred(&self.registry);
        data.handlers.call_exit(self.index());
        worker.leave();
        false
    }
}

impl Drop for ThreadBuilder {
    fn drop(&mut self) {
        let data = self.registry.data();
        // A spare that is started on demand may be missing.
        let is_needed = !matches!(
            self.role,
            Role::Spare {
                start: SpareStart::Taken,
                ..
            }
        );
        let is_late = is_needed && !self.has_run && data.threads.thread_is_dropped(self.index());
        match &self.role {
            Role::Worker(index) if is_late && self.registry.has_references() => {
                self.replace(*index);
            }
            // The pool has counted the worker as there; it may have been dropped without a run.
            Role::Worker(index) => self.registry.mark_absent(*index),
            // A worker may have lent its place already, and waits.
            Role::Spare { spare, .. } => spare.mark_gone(),
        }
        data.threads.thread_has_stopped();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &PoolId::of(&self.registry))
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}
