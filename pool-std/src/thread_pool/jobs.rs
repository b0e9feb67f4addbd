//! The jobs of a pool: what runs on its workers, and what waits for it.

use pool_core::Priority;

use super::ThreadPool;
use crate::api::{
    broadcast::{self, BroadcastContext},
    priority,
    scope::{self, Scope, ScopeFifo},
    spawn,
};
use crate::job_context::follow_half;

impl ThreadPool {
    /// Runs two closures as [`join`](crate::join()) does, on this pool.
    ///
    /// # Panics
    /// As [`join`](crate::join()).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sum, product) = pool.join(|| 2 + 3, || 2 * 3);
    /// assert_eq!((sum, product), (5, 6));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.in_worker(|worker, migrated| {
            worker.join_context(|_| a(), follow_half(|_| b()), migrated)
        })
    }

    /// Runs a scope as [`scope`](crate::scope()) does, on this pool.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut words = ["a", "b"].map(str::to_owned);
    /// pool.scope(|scope| {
    ///     for word in &mut words {
    ///         scope.spawn(|_| word.push('!'));
    ///     }
    /// });
    /// assert_eq!(words, ["a!", "b!"]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope(body))
    }

    /// Runs a scope as [`scope_fifo`](crate::scope_fifo) does, on this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (mut first, mut second) = (0, 0);
    /// pool.scope_fifo(|scope| {
    ///     scope.spawn_fifo(|_| first = 1);
    ///     scope.spawn_fifo(|_| second = 2);
    /// });
    /// assert_eq!((first, second), (1, 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope_fifo(body))
    }

    /// Runs a scope as [`in_place_scope`](crate::in_place_scope) does; its jobs run on this pool.
    ///
    /// # Examples
    /// ```
    /// use std::{rc::Rc, sync::atomic::{AtomicUsize, Ordering}};
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// // The body runs here, so it may use what is not `Send`.
    /// let count = Rc::new(3);
    /// let sum = AtomicUsize::new(0);
    /// pool.in_place_scope(|scope| {
    ///     for number in 0..*count {
    ///         let sum = &sum;
    ///         scope.spawn(move |_| _ = sum.fetch_add(number, Ordering::Relaxed));
    ///     }
    /// });
    /// assert_eq!(sum.into_inner(), 3);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        self.while_visiting(|registry| scope::in_place_scope_on(registry, body))
    }

    /// Runs a scope as [`in_place_scope_fifo`](crate::in_place_scope_fifo) does; its jobs run on
    /// this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut sum = 0;
    /// pool.in_place_scope_fifo(|scope| scope.spawn_fifo(|_| sum = 1 + 2));
    /// assert_eq!(sum, 3);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.while_visiting(|registry| scope::in_place_scope_fifo_on(registry, body))
    }

    /// Spawns a job as [`spawn`](crate::spawn()) does, on this pool.
    ///
    /// # Panics
    /// If the pool has been shut down.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send("done").unwrap());
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add_reference();
        spawn::spawn_on(&self.registry, job);
    }

    /// Spawns jobs as [`spawn_many`](crate::spawn_many) does, on this pool.
    ///
    /// # Panics
    /// If the pool has been shut down, and as [`spawn_many`](crate::spawn_many).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_many((0..10).map(|number| {
    ///     let sender = sender.clone();
    ///     move || sender.send(number).unwrap()
    /// }));
    /// drop(sender);
    /// assert_eq!(receiver.iter().sum::<u32>(), 45);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_many<I>(&self, jobs: I)
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        self.while_visiting(|registry| spawn::spawn_many_on(registry, jobs));
    }

    /// Spawns a job as [`spawn_fifo`](crate::spawn_fifo) does, on this pool.
    ///
    /// # Panics
    /// If the pool has been shut down.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (send, receive) = mpsc::channel();
    /// // Begun after those that this worker has spawned before.
    /// pool.spawn_fifo(move || _ = send.send(1));
    /// assert_eq!(receive.recv().ok(), Some(1));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_fifo<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add_reference();
        spawn::spawn_fifo_on(&self.registry, job);
    }

    /// Spawns a job as [`spawn_urgent`](crate::spawn_urgent) does, on this pool.
    ///
    /// # Panics
    /// If the pool has been shut down.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (send, receive) = mpsc::channel();
    /// // Begun before all others that wait.
    /// pool.spawn_urgent(move || _ = send.send(1));
    /// assert_eq!(receive.recv().ok(), Some(1));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_urgent<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add_reference();
        priority::spawn_with_priority_on(&self.registry, Priority::Urgent, job);
    }

    /// Spawns a job as [`spawn_background`](crate::spawn_background) does, on this pool.
    ///
    /// # Panics
    /// If the pool has been shut down.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (send, receive) = mpsc::channel();
    /// // Begun after all others that wait.
    /// pool.spawn_background(move || _ = send.send(1));
    /// assert_eq!(receive.recv().ok(), Some(1));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_background<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add_reference();
        priority::spawn_with_priority_on(&self.registry, Priority::Background, job);
    }

    /// Runs a closure on each worker as [`broadcast`](crate::broadcast()) does, on this pool.
    ///
    /// # Panics
    /// As [`broadcast`](crate::broadcast()).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let squares = pool.broadcast(|context| context.index() * context.index());
    /// assert_eq!(squares, [0, 1]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn broadcast<F, R>(&self, job: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_on(&self.registry, self.visit_each(), job)
    }

    /// Spawns a job on each worker as [`spawn_broadcast`](crate::spawn_broadcast) does, on this
    /// pool.
    ///
    /// # Panics
    /// If the pool has been shut down.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (send, receive) = mpsc::channel();
    /// pool.spawn_broadcast(move |context| _ = send.send(context.index()));
    /// let mut workers: Vec<_> = receive.iter().collect();
    /// workers.sort_unstable();
    /// assert_eq!(workers, [0, 1]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_broadcast<F>(&self, job: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        let _visit = self.hold();
        broadcast::spawn_broadcast_on(&self.registry, job);
    }
}
