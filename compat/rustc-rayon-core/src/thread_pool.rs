//! A pool of worker threads, as its owner sees it: one of pool-std, whose jobs run with a value of
//! [`TLV`](crate::tlv::TLV).

use std::{error::Error, fmt};

use pool_std::{BroadcastContext, Yield};

use crate::{
    scope::{Scope, ScopeFifo},
    tlv::Value,
};

/// A pool of worker threads: [`pool_std::ThreadPool`], which documents the methods.
pub struct ThreadPool {
    pool: pool_std::ThreadPool,
}

impl ThreadPool {
    pub(crate) fn new_on(pool: pool_std::ThreadPool) -> Self {
        Self { pool }
    }

    /// Builds a pool: [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    ///
    /// # Errors
    /// As that function.
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        Ok(configuration.into_builder().build()?)
    }

    /// Runs a closure on one of the workers and waits for it: [`pool_std::ThreadPool::install`].
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        let value = Value::current();
        self.pool.install(move || value.with(op))
    }

    /// Runs a closure on each worker: [`pool_std::ThreadPool::broadcast`].
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        let value = Value::current();
        self.pool.broadcast(|context| value.with(|| op(context)))
    }

    /// Returns the number of workers: [`pool_std::ThreadPool::current_num_threads`].
    pub fn current_num_threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Returns the number of this thread in the pool:
    /// [`pool_std::ThreadPool::current_thread_index`].
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool.current_thread_index()
    }

    /// Whether this thread's deque holds jobs that no worker has started:
    /// [`pool_std::ThreadPool::current_thread_has_pending_tasks`].
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.pool.current_thread_has_pending_tasks()
    }

    /// Runs two closures, potentially in parallel: [`pool_std::ThreadPool::join`].
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| crate::join(oper_a, oper_b))
    }

    /// Runs a scope on this pool: [`pool_std::ThreadPool::scope`].
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope(op))
    }

    /// Runs a scope on this pool whose jobs start in order: [`pool_std::ThreadPool::scope_fifo`].
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope_fifo(op))
    }

    /// Runs a scope with the body on this thread: [`pool_std::ThreadPool::in_place_scope`].
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.pool.in_place_scope(Scope::body(op))
    }

    /// Runs a scope with the body on this thread, whose jobs start in order:
    /// [`pool_std::ThreadPool::in_place_scope_fifo`].
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.pool.in_place_scope_fifo(ScopeFifo::body(op))
    }

    /// Spawns a job: [`pool_std::ThreadPool::spawn`].
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn(move || Value::NULL.with(op));
    }

    /// Spawns a job; those of one worker start in order: [`pool_std::ThreadPool::spawn_fifo`].
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn_fifo(move || Value::NULL.with(op));
    }

    /// Spawns a job on each worker: [`pool_std::ThreadPool::spawn_broadcast`].
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.pool
            .spawn_broadcast(move |context| Value::NULL.with(|| op(context)));
    }

    /// Runs one job of the pool: [`pool_std::ThreadPool::yield_now`].
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool.yield_now()
    }

    /// Runs one job of this worker's own deque: [`pool_std::ThreadPool::yield_local`].
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool.yield_local()
    }
}

/// Finishes what was spawned and ends the pool; does not wait for that.
impl Drop for ThreadPool {
    fn drop(&mut self) {
        // Only the field is dropped. The impl is here because programs can see it: a pool cannot be
        // taken apart, and is used to the end of its scope.
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.pool.current_num_threads())
            .field("id", &self.pool.id())
            .finish()
    }
}
