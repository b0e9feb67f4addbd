//! Two ways to start the threads of a pool, and what waits for threads that borrow.

use std::{
    cell::OnceCell,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use pool_std::{PoolHandle, ThreadBuilder, driver::Process};

/// A way to start the threads of a pool.
pub trait ThreadSpawn: private::Sealed {
    /// Whether the user's own code starts the threads.
    #[doc(hidden)]
    const IS_CUSTOM: bool;

    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads with the standard library, which replaces a stack size that is too small by the
/// smallest that the system allows.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    const IS_CUSTOM: bool = false;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        standard(&thread).spawn(|| thread.run()).map(drop)
    }
}

/// Starts threads with the user's closure.
pub struct CustomSpawn<F>(pub F);

impl<F> fmt::Debug for CustomSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomSpawn").finish_non_exhaustive()
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    const IS_CUSTOM: bool = true;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// Returns a builder of the standard library with the name and the stack size of a thread.
pub fn standard(thread: &ThreadBuilder) -> thread::Builder {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(size) = thread.stack_size() {
        builder = builder.stack_size(size);
    }
    builder
}

/// The threads of a pool that may borrow, and what waits for them.
#[derive(Debug, Default)]
pub struct ScopedThreads {
    /// The pool that they serve. It is set before the first thread may run, because the build may
    /// fail after that.
    pool: OnceCell<PoolHandle>,
}

impl ScopedThreads {
    /// Starts a thread that runs a wrapper.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub fn spawn<'scope, 'env>(
        &'env self,
        scope: &'scope thread::Scope<'scope, 'env>,
        thread: ThreadBuilder,
        wrapper: &'scope (impl Fn(ThreadBuilder) + Sync),
    ) -> io::Result<()> {
        self.pool.get_or_init(|| thread.pool());
        let builder = standard(&thread);
        builder.spawn_scoped(scope, || wrapper(thread)).map(drop)
    }

    /// Sets the pool, if it has started no thread: an adopted one may be its only worker.
    pub fn note_pool(&self, pool: impl FnOnce() -> PoolHandle) {
        self.pool.get_or_init(pool);
    }

    /// Calls a closure that builds a pool and owns it, and waits for the threads of the pool then,
    /// also if the closure panics. The scope of the threads would wait as well, but without telling
    /// the pool's handlers that this thread waits.
    ///
    /// A child of this process would wait for threads of its parent, and is aborted.
    pub fn until_stopped<R>(&self, closure: impl FnOnce() -> R) -> R {
        let process = Process::current();
        // Jobs that run in the wait must not find that this thread is panicking.
        let result = catch_unwind(AssertUnwindSafe(closure));
        if let Some(pool) = self.pool.get() {
            process.abort_if_forked();
            // An error says that this thread would wait for itself. Then only the scope waits.
            _ = pool.wait_until_stopped();
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}
