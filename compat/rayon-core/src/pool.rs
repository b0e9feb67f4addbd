//! A pool in the user's hands.

use std::{error::Error, fmt};

use pool_std::{BroadcastContext, Scope, ScopeFifo, Yield};

/// A pool of worker threads: [`pool_std::ThreadPool`], where its methods are described.
pub struct ThreadPool {
    pool: pool_std::ThreadPool,
}

impl ThreadPool {
    pub(crate) fn new_on(pool: pool_std::ThreadPool) -> Self {
        Self { pool }
    }

    /// See [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        Ok(configuration.into_builder().build()?)
    }

    /// See [`pool_std::ThreadPool::install`].
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.install(op)
    }

    /// See [`pool_std::ThreadPool::broadcast`].
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.pool.broadcast(op)
    }

    /// See [`pool_std::ThreadPool::current_num_threads`].
    pub fn current_num_threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// See [`pool_std::ThreadPool::current_thread_index`].
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool.current_thread_index()
    }

    /// See [`pool_std::ThreadPool::current_thread_has_pending_tasks`].
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.pool.current_thread_has_pending_tasks()
    }

    /// See [`pool_std::ThreadPool::join`].
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.pool.join(oper_a, oper_b)
    }

    /// See [`pool_std::ThreadPool::scope`].
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.pool.scope(op)
    }

    /// See [`pool_std::ThreadPool::scope_fifo`].
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.pool.scope_fifo(op)
    }

    /// See [`pool_std::ThreadPool::in_place_scope`].
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.pool.in_place_scope(op)
    }

    /// See [`pool_std::ThreadPool::in_place_scope_fifo`].
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.pool.in_place_scope_fifo(op)
    }

    /// See [`pool_std::ThreadPool::spawn`].
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn(op);
    }

    /// See [`pool_std::ThreadPool::spawn_fifo`].
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn_fifo(op);
    }

    /// See [`pool_std::ThreadPool::spawn_broadcast`].
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.pool.spawn_broadcast(op);
    }

    /// See [`pool_std::ThreadPool::yield_now`].
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool.yield_now()
    }

    /// See [`pool_std::ThreadPool::yield_local`].
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool.yield_local()
    }
}

/// Lets the workers finish what was spawned, and end; does not wait for them.
impl Drop for ThreadPool {
    fn drop(&mut self) {
        // What is dropped is the field. The impl is here because programs can see that it is: a
        // pool cannot be taken apart, and is used to the end of its scope.
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
