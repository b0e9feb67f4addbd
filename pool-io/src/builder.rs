//! The setting that selects the backend of a pool's operations.

use pool_std::ThreadPoolBuilder;

use crate::backend::{IoBackend, PoolIo};

/// The setting of this crate for a [`ThreadPoolBuilder`].
///
/// # Examples
/// ```
/// use pool_io::{IoBackend, ThreadPoolBuilderExt as _};
///
/// let builder = pool_std::ThreadPoolBuilder::new().num_threads(2);
/// let pool = builder.io(IoBackend::HelperThreads).build()?;
/// # let _ = pool;
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub trait ThreadPoolBuilderExt: private::Sealed {
    /// Sets the backend that carries out the [operations](crate) of the pool, and creates it when
    /// the pool is built.
    ///
    /// Without this call, the first operation creates an [`IoBackend::HelperThreads`] backend. The
    /// backend's threads are started with the standard library, whatever [starts the
    /// workers](ThreadPoolBuilder::spawn_handler).
    ///
    /// It is the pool's [driver](pool_std::driver). If the system refuses it, the build returns the
    /// error [`BuildError::Driver`](pool_std::BuildError::Driver).
    ///
    /// # Examples
    /// ```
    /// use pool_io::{IoBackend, OpenOptions, ThreadPoolBuilderExt as _};
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().io(IoBackend::HelperThreads).build()?;
    /// let options = OpenOptions::new().read(true);
    /// let file = pool.install(|| pool_io::open("Cargo.toml", &options).wait());
    /// assert!(file.is_ok());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    fn io(self, backend: IoBackend) -> Self;
}

impl<S> ThreadPoolBuilderExt for ThreadPoolBuilder<S> {
    fn io(self, backend: IoBackend) -> Self {
        self.driver(move |workers| PoolIo::new(backend, workers))
    }
}

mod private {
    pub trait Sealed {}
    impl<S> Sealed for pool_std::ThreadPoolBuilder<S> {}
}
