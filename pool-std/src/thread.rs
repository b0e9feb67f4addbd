//! The threads of a pool: how they are started, what they run, how their end is waited for.

use std::{
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use pool_core::WorkerIndex;

use crate::{
    clock::Activity,
    platform::{Registry, WorkerThread},
};

/// Called with the payload of a panic that nobody waits for.
pub(crate) type PanicHandler = dyn Fn(Box<dyn std::any::Any + Send>) + Send + Sync;
/// Called with the number of a worker.
pub(crate) type WorkerHandler = dyn Fn(usize) + Send + Sync;

/// What a pool keeps beside its workers.
#[derive(Default)]
pub(crate) struct PoolData {
    pub(crate) start_handler: Option<Box<WorkerHandler>>,
    pub(crate) exit_handler: Option<Box<WorkerHandler>>,
    pub(crate) panic_handler: Option<Box<PanicHandler>>,
    /// Held while a broadcast is queued, see `Registry::inject_broadcast`.
    pub(crate) broadcasting: Mutex<()>,
    running: Mutex<usize>,
    all_stopped: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A mutex of ours is never left half-changed by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PoolData {
    /// Runs a closure that nobody waits for. Its panic goes to the handler; without one, or if
    /// the handler panics too, the process ends: a panic must not vanish.
    pub(crate) fn run_and_handle_panic(&self, closure: impl FnOnce()) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(closure)) else {
            return;
        };
        let handled = self
            .panic_handler
            .as_ref()
            .is_some_and(|handler| catch_unwind(AssertUnwindSafe(|| handler(panic))).is_ok());
        if !handled {
            eprintln!("pool-std: a panic in a spawned job has no handler; aborting");
            std::process::abort();
        }
    }

    pub(crate) fn keep_thread(&self, thread: JoinHandle<()>) {
        lock(&self.threads).push(thread);
    }

    fn thread_will_run(&self) {
        *lock(&self.running) += 1;
    }

    fn thread_has_stopped(&self) {
        *lock(&self.running) -= 1;
        self.all_stopped.notify_all();
    }

    /// Waits until every thread of the pool has stopped, and its system thread has ended where we
    /// started it.
    pub(crate) fn wait_until_stopped(&self) {
        // Liveness: each thread that was started notifies when it stops, which it does once the
        // pool has no reference left; a `ThreadBuilder` that is dropped unrun counts as stopped.
        let running = lock(&self.running);
        drop(
            self.all_stopped
                .wait_while(running, |running| *running > 0)
                .unwrap_or_else(PoisonError::into_inner),
        );
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // Its panics were handled on the thread.
            let _ = thread.join();
        }
    }
}

/// A thread that a pool needs: what a [spawn handler](crate::ThreadPoolBuilder::spawn_handler) is
/// given.
///
/// The handler starts a thread that calls [`run`](Self::run).
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    index: WorkerIndex,
    registry: Arc<Registry>,
}

impl ThreadBuilder {
    pub(crate) fn new(
        registry: &Arc<Registry>,
        index: WorkerIndex,
        name: Option<String>,
        stack_size: Option<usize>,
    ) -> Self {
        registry.data().thread_will_run();
        Self {
            name,
            stack_size,
            index,
            registry: registry.clone(),
        }
    }

    /// The number of the worker.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index.get()
    }

    /// The name that the pool's builder gave the thread.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size of the stack in bytes that the pool's builder asked for.
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Makes the calling thread a worker. Returns when the pool has ended.
    pub fn run(self) {
        let registry = &self.registry;
        let data = registry.data();
        // SAFETY: 1. `self` holds the registry to the end of this function; 2. it is the `Arc`'s
        // pointer.
        let worker = unsafe { WorkerThread::new(Arc::as_ptr(registry), self.index) }
            .expect("each worker is started once");
        // SAFETY: 1. `worker` stays where it is until it leaves.
        unsafe { worker.enter() };
        if let Some(clock) = registry.sleep().slots()[self.index()].parker().clock() {
            clock.switch(Activity::Active);
        }
        if let Some(handler) = &data.start_handler {
            data.run_and_handle_panic(|| handler(self.index()));
        }
        worker.run_until_terminated();
        if let Some(handler) = &data.exit_handler {
            data.run_and_handle_panic(|| handler(self.index()));
        }
        worker.leave();
    }
}

impl Drop for ThreadBuilder {
    fn drop(&mut self) {
        self.registry.data().thread_has_stopped();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

/// How the threads of a pool are started.
pub trait ThreadSpawn: private::Sealed {
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads with the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let mut builder = thread::Builder::new();
        if let Some(name) = &thread.name {
            builder = builder.name(name.clone());
        }
        if let Some(size) = thread.stack_size {
            builder = builder.stack_size(size);
        }
        let registry = thread.registry.clone();
        registry.data().keep_thread(builder.spawn(|| thread.run())?);
        Ok(())
    }
}

/// Starts threads with the user's closure.
pub struct CustomSpawn<F>(pub(crate) F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}
