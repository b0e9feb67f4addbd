//! A pool, as its drivers know it, and the threads that they start for it.

use std::{
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use crate::{
    fork,
    panics::drop_quietly,
    platform::Registry,
    thread_pool::{id::PoolId, threads::Belonging},
    worker::current_worker_of,
};

/// A reference to a pool, for the pool's drivers. Does not keep the pool from ending.
///
/// # Examples
/// ```
/// use pool_std::driver::{self, Driver, Pool};
///
/// struct Nothing;
/// impl Driver for Nothing {}
///
/// driver::with(|| Nothing, |pool: Pool<'_>, _| println!("the current pool is {pool:?}"));
/// ```
#[derive(Clone, Copy)]
pub struct Pool<'p>(pub(crate) &'p Arc<Registry>);

impl Pool<'_> {
    /// Starts a thread that counts as a thread of the pool, although it is not a worker: a call
    /// that waits until the pool's threads have ended also waits for this one.
    /// [`Driver::end`](super::Driver::end) must make it end. A panic of `body` also ends the
    /// thread, but has no other effect: the driver continues without it.
    ///
    /// The standard library starts the thread, regardless of what [starts the
    /// workers](crate::ThreadPoolBuilder::spawn_handler).
    ///
    /// # Errors
    /// If the system refuses the thread.
    ///
    /// # Panics
    /// If the name contains a NUL.
    ///
    /// # Examples
    /// ```
    /// use std::{io, sync::mpsc, sync::Mutex};
    ///
    /// use pool_std::driver::{Driver, Pool};
    ///
    /// /// A thread beside the workers, which ends when the pool does.
    /// #[derive(Default)]
    /// struct Beside(Mutex<Option<mpsc::Sender<()>>>);
    ///
    /// impl Driver for Beside {
    ///     fn start(&self, pool: Pool<'_>) -> io::Result<()> {
    ///         let (send, receive) = mpsc::channel();
    ///         *self.0.lock().unwrap() = Some(send);
    ///         pool.spawn_thread("beside", move |_pool| _ = receive.recv())
    ///     }
    ///
    ///     fn end(&self) {
    ///         *self.0.lock().unwrap() = None;
    ///     }
    /// }
    ///
    /// let builder = pool_std::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.driver(|_workers| Ok(Beside::default())).build()?;
    /// pool.shutdown().expect("this thread is outside the pool");
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_thread(
        self,
        name: &str,
        body: impl FnOnce(Pool<'_>) + Send + 'static,
    ) -> io::Result<()> {
        struct Running(Arc<Registry>);

        impl Drop for Running {
            fn drop(&mut self) {
                self.0.data().threads.thread_has_stopped();
            }
        }

        let data = self.0.data();
        if fork::is_own_process(self.0) {
            // Or the system would keep the stack of each thread that has ended.
            data.threads.join_ended();
        }
        let _starting = data.threads.count_starting();
        data.threads.count_thread();
        // Dropped with the closure if the thread does not start.
        let running = Running(self.0.clone());
        let builder = thread::Builder::new().name(name.to_owned());
        data.threads.start_thread(builder, move || {
            // All of it is captured, and so is dropped here.
            let running = running;
            Belonging::begin_for_good(&running.0.data().threads);
            // Dropping a panic's payload runs code of the user, which may panic, too. The thread's
            // handle would then abort the process, or the panic would leave a call that waits for
            // the thread.
            let ended = catch_unwind(AssertUnwindSafe(|| body(Pool(&running.0))));
            drop_quietly(ended);
        })
    }

    /// Runs a user's closure for which no caller waits, as the pool runs a spawned job: if it
    /// panics, the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler) is called, or
    /// the process aborts. The message calls the closure `what`.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use pool_std::driver::{self, Driver};
    ///
    /// struct Nothing;
    /// impl Driver for Nothing {}
    ///
    /// let (send, receive) = mpsc::channel();
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .panic_handler(move |_payload| _ = send.send("handled"))
    ///     .build()?;
    /// pool.install(|| {
    ///     driver::with(
    ///         || Nothing,
    ///         |pool, _| pool.run_and_handle_panic("a callback", || panic!()),
    ///     );
    /// });
    /// assert_eq!(receive.recv().ok(), Some("handled"));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn run_and_handle_panic(self, what: &'static str, closure: impl FnOnce()) {
        let closure = || fork::abort_if_forked_in(self.0, &|| true, closure);
        self.0.data().handlers.run_and_handle_panic(what, closure);
    }

    /// Returns the calling thread's worker number, if the thread is a worker of this pool.
    ///
    /// # Examples
    /// ```
    /// use pool_std::driver::{self, Driver};
    ///
    /// struct Nothing;
    /// impl Driver for Nothing {}
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let worker = pool.install(|| driver::with(|| Nothing, |pool, _| pool.current_worker()));
    /// assert_eq!(worker, Some(0));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn current_worker(self) -> Option<usize> {
        current_worker_of(self.0).map(|worker| worker.index().get())
    }
}

/// Prints what [`ThreadPool::id`](crate::ThreadPool::id) prints.
impl fmt::Debug for Pool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PoolId::of(self.0).fmt(f)
    }
}
