//! Two ways to start the threads of a pool.

use std::{fmt, io, thread};

use pool_std::ThreadBuilder;

/// A way to start the threads of a pool.
pub trait ThreadSpawn: private::Sealed {
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads with the standard library, which replaces a stack size that is too small by the
/// smallest that the system allows.
#[derive(Debug)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        standard(&thread).spawn(|| thread.run()).map(drop)
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
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// Returns a builder of the standard library with the name and the stack size of a thread.
pub(crate) fn standard(thread: &ThreadBuilder) -> thread::Builder {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(size) = thread.stack_size() {
        builder = builder.stack_size(size);
    }
    builder
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}

#[cfg(all(test, not(target_env = "musl")))]
mod tests {
    use crate::ThreadPoolBuilder;

    // pool-std refuses such a stack, but rayon leaves it to the system, which rounds up: with musl to
    // a page, which is too little for a worker.
    #[test]
    fn a_stack_of_any_smallness() {
        let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(1);
        assert_eq!(builder.build().unwrap().install(|| 7), 7);
    }
}
