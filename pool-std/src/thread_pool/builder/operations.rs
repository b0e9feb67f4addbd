//! The setting of what carries out operations.

use super::ThreadPoolBuilder;
use crate::io::IoBackend;

impl<S> ThreadPoolBuilder<S> {
    /// Sets what carries out the [operations](crate::io) of the pool, and makes it when the pool is built.
    ///
    /// Without this call it is [`IoBackend::HelperThreads`], made by the first operation. The threads
    /// beside the workers are started with the standard library, whatever
    /// [starts the workers](Self::spawn_handler).
    ///
    /// If the system refuses it, the build returns the error
    /// [`BuildError::Io`](crate::BuildError::Io).
    ///
    /// # Examples
    /// ```
    /// use pool_std::io::{self, IoBackend, OpenOptions};
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().io(IoBackend::HelperThreads).build()?;
    /// let file = pool.install(|| io::open("Cargo.toml", &OpenOptions::new().read(true)).wait());
    /// assert!(file.is_ok());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn io(mut self, backend: IoBackend) -> Self {
        self.data.io.choose(backend);
        self
    }
}
