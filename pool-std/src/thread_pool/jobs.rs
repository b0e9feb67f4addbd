//! The jobs of a pool: what runs on its workers, and what waits for it.

use super::{ThreadPool, guests};
use crate::api::{
    CurrentPool,
    broadcast::{self, BroadcastContext},
    scope::{self, Scope, ScopeFifo},
    spawn,
};

impl ThreadPool {
    /// Runs a closure on one of the workers and waits for it. `join`, `scope` and the other free
    /// functions use this pool inside the closure.
    ///
    /// A worker of another pool runs jobs of that pool while it waits.
    ///
    /// # Panics
    /// Continues the closure's panic.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let workers = pool.install(|| {
    ///     assert!(pool_std::current_thread_index().is_some());
    ///     pool_std::current_num_threads()
    /// });
    /// assert_eq!(workers, 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn install<F, R>(&self, closure: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.in_worker(|_, _| closure())
    }

    /// Runs a closure on the calling thread, as a worker of this pool. `join`, `scope` and the
    /// other free functions use this pool inside the closure, and other workers steal from it
    /// at once.
    ///
    /// Unlike [`install`](Self::install) this neither passes the closure to another thread nor
    /// wakes one: the caller takes the place of a worker that sleeps between jobs, and that
    /// worker's thread sleeps on. So the number of threads that run jobs never exceeds the number
    /// of workers. The closure is installed instead if all workers are awake, if the caller is a
    /// worker of another pool, or if the pool [has no guests](crate::ThreadPoolBuilder::guests). On
    /// a worker of this pool the closure runs at once.
    ///
    /// # What the closure finds
    ///
    /// - It is on its caller's thread, with that thread's stack and thread-locals, or else on a
    ///   thread of the pool. Do not rely on either.
    /// - It is a worker: [`current_thread_index`](crate::current_thread_index) is the number of the
    ///   worker whose place it has. A start handler was called for that worker, but on that
    ///   worker's own thread.
    /// - In its joins and scopes it runs other jobs of the pool, as every worker does. So do not
    ///   hold a lock that jobs of the pool take while you make the call.
    /// - While it runs, what only this worker may run waits: its job of a broadcast, unless the
    ///   closure waits for other jobs and runs it, and the worker's [request to
    ///   park](Self::set_active_workers). A closure that blocks for a long time delays them. It
    ///   should call [`block_in_place`](crate::block_in_place()), or be [installed](Self::install)
    ///   by a thread that can wait.
    /// - The [metrics](Self::metrics) count for that worker what the closure does. Its time counts
    ///   as asleep until it first searches for jobs, because a look at the clock costs as much as a
    ///   short call.
    ///
    /// Jobs that the closure has spawned are left to the pool when it ends. A process that calls
    /// [`exit`](std::process::exit) in the closure ends, as it does in a job. The child of a
    /// process that forks has none of the pool's threads, so it must not use the pool, neither
    /// by a call nor otherwise.
    ///
    /// # Panics
    /// Continues the closure's panic, when the worker has its place back.
    ///
    /// # Complexity
    /// Without a thread that must be woken: three looks at each worker, and no system call. About a
    /// hundred nanoseconds, and up to some microseconds if other workers have begun to run jobs
    /// since the last call.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let numbers: Vec<u64> = (0..1000).collect();
    /// let (left, right) = numbers.split_at(500);
    /// let sums = pool.call(|| pool_std::join(|| left.iter().sum::<u64>(), || right.iter().sum::<u64>()));
    /// assert_eq!(sums.0 + sums.1, 499_500);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    ///
    /// Source: the "call" of the project's fourth draft; Chili and Cilk run a caller's thread as a
    /// worker too.
    #[doc(alias = "install")]
    #[doc(alias = "guest")]
    pub fn call<F, R>(&self, closure: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.registry.data().guests.are_for(CurrentPool::OWN) {
            let visit = self.visit();
            guests::call(&self.registry, |_, _| {
                let _visit = visit;
                closure()
            })
        } else {
            self.install(closure)
        }
    }

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
        self.in_worker(|worker, migrated| worker.join_context(|_| a(), |_| b(), migrated))
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
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// // The body runs here, so it may use what is not `Send`.
    /// let count = std::rc::Rc::new(3);
    /// let sum = std::sync::atomic::AtomicUsize::new(0);
    /// pool.in_place_scope(|scope| {
    ///     for number in 0..*count {
    ///         let sum = &sum;
    ///         scope.spawn(move |_| _ = sum.fetch_add(number, std::sync::atomic::Ordering::Relaxed));
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
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.while_visiting(|registry| scope::in_place_scope_fifo_on(registry, body))
    }

    /// Spawns a job as [`spawn`](crate::spawn()) does, on this pool.
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
    /// As [`spawn_many`](crate::spawn_many).
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
    pub fn spawn_fifo<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add_reference();
        spawn::spawn_fifo_on(&self.registry, job);
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
        let visit = self.visit_each();
        broadcast::broadcast_on(&self.registry, |context| {
            let _visit = visit();
            job(context)
        })
    }

    /// Spawns a job on each worker as [`spawn_broadcast`](crate::spawn_broadcast) does, on this
    /// pool.
    pub fn spawn_broadcast<F>(&self, job: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        let _visit = self.hold();
        broadcast::spawn_broadcast_on(&self.registry, job);
    }
}
