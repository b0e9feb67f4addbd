//! What carries out the operations of a pool.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock, Weak},
};

use pool_std::driver::{Driver, Pool, WorkerParker};

use crate::{
    helpers::Helpers,
    operation::Operation,
    request::Request,
    ring::{parker::RingParker, rings::Rings},
    system::lock,
};

/// What carries out the operations of a pool, see
/// [`ThreadPoolBuilderExt::io`](crate::ThreadPoolBuilderExt::io).
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
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoBackend {
    /// Rings of the kernel (`io_uring`), one per worker, and a thread that looks after those whose
    /// workers are busy. A worker sleeps in its ring, so it wakes for its own operations as well as
    /// for jobs; [`parker`](pool_std::ThreadPoolBuilder::parker) has no effect on it.
    ///
    /// Needs Linux 5.19 with `io_uring` allowed. Many containers forbid it.
    Ring,
    /// A few threads that make blocking system calls, and one that waits for pipes and sockets. On
    /// every kernel.
    #[default]
    HelperThreads,
}

/// The operations of a pool.
#[derive(Default)]
pub(crate) struct PoolIo {
    kind: IoBackend,
    /// Made when the pool is built if the builder was asked for one, and else by the first
    /// operation.
    backend: OnceLock<Backend>,
    /// Held while the backend is being started by the first operation.
    starting: Mutex<()>,
}

/// What carries out operations.
#[derive(Clone)]
pub(crate) enum Backend {
    Helpers(Arc<Helpers>),
    Ring(Arc<Rings>),
}

/// What carries out an operation, as the operation knows it: a handle that outlives the pool keeps
/// no descriptor of it open.
pub(super) enum WeakBackend {
    Helpers(Weak<Helpers>),
    Ring(Weak<Rings>),
}

impl PoolIo {
    /// Makes the rings, if they are chosen, before the pool is built.
    ///
    /// # Errors
    /// If the system refuses them.
    pub(crate) fn new(kind: IoBackend, workers: usize) -> io::Result<Self> {
        let backend = match kind {
            IoBackend::Ring => OnceLock::from(Backend::Ring(Rings::new(workers)?)),
            IoBackend::HelperThreads => OnceLock::new(),
        };
        Ok(Self {
            kind,
            backend,
            starting: Mutex::default(),
        })
    }

    pub(crate) fn kind(&self) -> IoBackend {
        self.kind
    }

    /// Starts an operation. The caller keeps the pool from ending.
    pub(super) fn start(&self, pool: Pool<'_>, request: Request) -> Arc<Operation> {
        let backend = match self.backend(pool) {
            Ok(backend) => backend.clone(),
            Err(error) => {
                let operation = Operation::new(None, request);
                operation.fail(error.raw_os_error().unwrap_or(libc::EAGAIN));
                return operation;
            }
        };
        let operation = Operation::new(Some(backend.downgrade()), request);
        if !operation.try_at_once() {
            backend.submit(pool, operation.clone());
        }
        operation
    }

    fn backend(&self, pool: Pool<'_>) -> io::Result<&Backend> {
        if let Some(backend) = self.backend.get() {
            return Ok(backend);
        }
        let _starting = lock(&self.starting);
        if let Some(backend) = self.backend.get() {
            return Ok(backend);
        }
        let helpers = Helpers::new()?;
        helpers.start(pool)?;
        Ok(self.backend.get_or_init(|| Backend::Helpers(helpers)))
    }

    /// Returns the backend, if there is one.
    #[cfg(test)]
    pub(crate) fn existing(&self) -> Option<&Backend> {
        self.backend.get()
    }
}

impl Driver for PoolIo {
    /// With rings, each worker sleeps in its own.
    fn parker(&self, worker: usize) -> Option<Box<dyn WorkerParker>> {
        match self.backend.get()? {
            Backend::Ring(rings) => Some(Box::new(RingParker::new(rings.clone(), worker))),
            Backend::Helpers(_) => None,
        }
    }

    fn start(&self, pool: Pool<'_>) -> io::Result<()> {
        match self.backend(pool)? {
            Backend::Ring(rings) => rings.start(pool),
            Backend::Helpers(_) => Ok(()),
        }
    }

    /// Ends the threads of the backend, and cancels what is in flight.
    fn end(&self) {
        if let Some(backend) = self.backend.get() {
            backend.end();
        }
    }
}

impl Backend {
    fn submit(&self, pool: Pool<'_>, operation: Arc<Operation>) {
        match self {
            Self::Helpers(helpers) => {
                if !operation.try_stream_or_poll() {
                    helpers.submit(operation);
                }
            }
            Self::Ring(rings) => {
                rings.submit(pool.current_worker(), operation);
            }
        }
    }

    fn downgrade(&self) -> WeakBackend {
        match self {
            Self::Helpers(helpers) => WeakBackend::Helpers(Arc::downgrade(helpers)),
            Self::Ring(rings) => WeakBackend::Ring(Arc::downgrade(rings)),
        }
    }

    fn end(&self) {
        match self {
            Self::Helpers(helpers) => helpers.end(),
            Self::Ring(rings) => rings.end(),
        }
    }
}

impl WeakBackend {
    /// Asks the backend to end an operation early. A backend that is gone has concluded all of
    /// them.
    pub(super) fn cancel(&self, operation: &Arc<Operation>) {
        match self {
            Self::Helpers(helpers) => {
                if let Some(helpers) = helpers.upgrade() {
                    helpers.cancel(operation);
                }
            }
            Self::Ring(rings) => {
                if let Some(rings) = rings.upgrade() {
                    rings.cancel(operation);
                }
            }
        }
    }
}
