//! Ways to start the threads of a pool.

use std::{fmt, io};

use super::thread::ThreadBuilder;

/// A way to start the threads of a pool.
pub trait ThreadSpawn: private::Sealed {
    /// Whether the pool can start threads without this value, when it has been built.
    #[doc(hidden)]
    fn is_on_demand(&self) -> bool {
        false
    }

    /// Whether the standard library starts the threads, with the name and the stack that the
    /// program asks for.
    #[doc(hidden)]
    fn is_standard(&self) -> bool {
        true
    }

    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads with the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn is_on_demand(&self) -> bool {
        true
    }

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.start()
    }
}

/// Starts threads with the user's closure.
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> fmt::Debug for CustomSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomSpawn").finish_non_exhaustive()
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn is_standard(&self) -> bool {
        false
    }

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// Starts threads in a scope of the standard library.
pub(crate) struct ScopedSpawn<F>(pub(crate) F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for ScopedSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::ScopedSpawn<F> {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}
