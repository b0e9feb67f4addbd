//! The settings that rustc's pool has and rayon-core does not.

use std::fmt;

use rayon_names::settings::closure;

use crate::builder::ThreadPoolBuilder;

#[derive(Default)]
pub(crate) struct Handlers {
    deadlock_handler: Option<Box<Handler>>,
    acquire_thread_handler: Option<Box<Handler>>,
    release_thread_handler: Option<Box<Handler>>,
}

type Handler = dyn Fn() + Send + Sync;

impl Handlers {
    /// Adds the handlers to the builder of a pool.
    pub(crate) fn add_to(
        self,
        builder: pool_std::ThreadPoolBuilder,
    ) -> pool_std::ThreadPoolBuilder {
        // In a compiler, the thread that calls into the pool holds a token of the jobserver.
        let mut builder = builder.thread_handlers_for_callers();
        if let Some(handler) = self.deadlock_handler {
            builder = builder.deadlock_handler(move |_| handler());
        }
        if let Some(handler) = self.acquire_thread_handler {
            builder = builder.acquire_thread_handler(handler);
        }
        if let Some(handler) = self.release_thread_handler {
            builder = builder.release_thread_handler(handler);
        }
        builder
    }

    pub(crate) fn debug(&self, output: &mut fmt::DebugStruct<'_, '_>) {
        output
            .field("deadlock_handler", &closure(&self.deadlock_handler))
            .field(
                "acquire_thread_handler",
                &closure(&self.acquire_thread_handler),
            )
            .field(
                "release_thread_handler",
                &closure(&self.release_thread_handler),
            );
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets a closure that receives reports of deadlocks: every worker is
    /// [blocked](crate::mark_blocked) or asleep, at least one is blocked, and no job is queued that
    /// a sleeping worker may run. The closure is called once, and once more only after a worker was
    /// unblocked.
    ///
    /// The closure runs on a worker, with the pool's accounting locked, so it must not unblock
    /// workers itself. It should hand over to another thread and return.
    ///
    /// # Examples
    /// ```
    /// use std::{sync::mpsc, thread};
    ///
    /// use rayon_core::{Registry, ThreadPoolBuilder, mark_blocked, mark_unblocked};
    ///
    /// let (resume, resumed) = mpsc::channel();
    /// let pool = ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .deadlock_handler(move || {
    ///         let (registry, resume) = (Registry::current(), resume.clone());
    ///         thread::spawn(move || {
    ///             mark_unblocked(&registry);
    ///             resume.send("a cycle was broken").unwrap();
    ///         });
    ///     })
    ///     .build()?;
    /// let answer = pool.install(move || {
    ///     mark_blocked();
    ///     resumed.recv().unwrap()
    /// });
    /// assert_eq!(answer, "a cycle was broken");
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn deadlock_handler<H>(mut self, deadlock_handler: H) -> Self
    where
        H: Fn() + Send + Sync + 'static,
    {
        self.handlers.deadlock_handler = Some(Box::new(deadlock_handler));
        self
    }

    /// Sets a closure that a thread calls before it runs: a worker when it starts and when it has
    /// slept, and a thread outside every pool when it has waited for a call that a worker has run
    /// for it, such as `install`, or for the threads of a scoped pool. It does not when it has
    /// waited at the end of an `in_place_scope` or for a broadcast. The closure may wait, for a
    /// token of a jobserver. In it the thread does not count as a worker.
    pub fn acquire_thread_handler<H>(mut self, acquire_thread_handler: H) -> Self
    where
        H: Fn() + Send + Sync + 'static,
    {
        self.handlers.acquire_thread_handler = Some(Box::new(acquire_thread_handler));
        self
    }

    /// Sets a closure that a thread calls before it waits: a worker before it sleeps and when it
    /// ends, and a thread outside every pool before it waits as said for
    /// [`acquire_thread_handler`](Self::acquire_thread_handler). In the closure the thread does not
    /// count as a worker.
    pub fn release_thread_handler<H>(mut self, release_thread_handler: H) -> Self
    where
        H: Fn() + Send + Sync + 'static,
    {
        self.handlers.release_thread_handler = Some(Box::new(release_thread_handler));
        self
    }
}
