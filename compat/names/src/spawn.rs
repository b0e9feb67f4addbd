//! Two ways to start the threads of a pool, and what waits for threads that borrow.

use std::{fmt, io, thread};

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

/// Waits for the threads of a pool when it is dropped, by a panic too. The scope of the threads
/// would wait as well, but without telling the pool's handlers that this thread waits. The pool
/// itself must be dropped before.
#[derive(Debug)]
pub struct StoppedAtEnd(pub PoolHandle);

impl Drop for StoppedAtEnd {
    fn drop(&mut self) {
        // An error says that this thread would wait for itself. Then only the scope waits.
        _ = self.0.wait_until_stopped();
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}
