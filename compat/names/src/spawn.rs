//! Two ways to start the threads of a pool, and what waits for threads that borrow.

use std::{
    cell::OnceCell,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use pool_std::{PoolHandle, ThreadBuilder};

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
#[derive(Debug)]
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

/// Calls a closure that builds a pool and owns it, and waits for the threads of the pool then, also
/// if the closure panics. The scope of the threads would wait as well, but without telling the
/// pool's handlers that this thread waits.
///
/// The closure sets `pool` before the first thread may run, because the build may fail after that.
pub fn until_stopped<R>(pool: &OnceCell<PoolHandle>, closure: impl FnOnce() -> R) -> R {
    // Jobs that run in the wait must not find that this thread is panicking.
    let result = catch_unwind(AssertUnwindSafe(closure));
    // An error says that this thread would wait for itself. Then only the scope waits.
    _ = pool.get().map(PoolHandle::wait_until_stopped);
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}
