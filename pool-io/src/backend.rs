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
    /// Helper threads transfer what is at the current position of a file, see
    /// [`read`](crate::read). They are started when they are first needed.
    ///
    /// Needs Linux 6.1 with `io_uring` allowed. Many containers forbid it.
    Ring,
    /// A few threads that make blocking system calls, and one that waits for pipes and sockets. On
    /// every kernel.
    #[default]
    HelperThreads,
}

/// The operations of a pool.
#[derive(Default)]
pub(crate) struct PoolIo {
    /// If the builder was asked for them.
    rings: Option<Arc<Rings>>,
    /// Started when the pool is built if the builder was asked for them, and else by the first
    /// operation that needs them.
    helpers: OnceLock<Arc<Helpers>>,
    /// Held while the first operation starts the helper threads.
    starting: Mutex<()>,
}

/// What carries out an operation.
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
        let rings = match kind {
            IoBackend::Ring => Some(Rings::new(workers)?),
            IoBackend::HelperThreads => None,
        };
        Ok(Self {
            rings,
            ..Self::default()
        })
    }

    pub(crate) fn kind(&self) -> IoBackend {
        match self.rings {
            Some(_) => IoBackend::Ring,
            None => IoBackend::HelperThreads,
        }
    }

    /// Starts an operation. The caller keeps the pool from ending.
    pub(super) fn start(&self, pool: Pool<'_>, request: Request) -> Arc<Operation> {
        let backend = match self.backend_of(pool, &request) {
            Ok(backend) => backend,
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

    /// Returns what carries out an operation. A ring takes the current position of a file without
    /// the file's lock, and does not always write it back. So helper threads do what uses it.
    fn backend_of(&self, pool: Pool<'_>, request: &Request) -> io::Result<Backend> {
        Ok(match &self.rings {
            Some(rings) if !request.uses_current_position() => Backend::Ring(rings.clone()),
            _ => Backend::Helpers(self.helpers(pool)?.clone()),
        })
    }

    /// Returns the helper threads, and starts them if there are none.
    fn helpers(&self, pool: Pool<'_>) -> io::Result<&Arc<Helpers>> {
        if let Some(helpers) = self.helpers.get() {
            return Ok(helpers);
        }
        let _starting = lock(&self.starting);
        if let Some(helpers) = self.helpers.get() {
            return Ok(helpers);
        }
        let helpers = Helpers::new()?;
        helpers.start(pool)?;
        Ok(self.helpers.get_or_init(|| helpers))
    }

    /// Returns the rings, or the helper threads if there are any.
    #[cfg(test)]
    pub(crate) fn existing(&self) -> Option<Backend> {
        let rings = self.rings.clone().map(Backend::Ring);
        rings.or_else(|| self.helpers.get().cloned().map(Backend::Helpers))
    }
}

impl Driver for PoolIo {
    /// With rings, each worker sleeps in its own.
    fn parker(&self, worker: usize) -> Option<Box<dyn WorkerParker>> {
        let rings = self.rings.as_ref()?;
        Some(Box::new(RingParker::new(rings.clone(), worker)))
    }

    fn start(&self, pool: Pool<'_>) -> io::Result<()> {
        match &self.rings {
            Some(rings) => rings.start(pool),
            None => self.helpers(pool).map(drop),
        }
    }

    /// Ends the threads that carry out operations, and cancels what is in flight.
    fn end(&self) {
        if let Some(rings) = &self.rings {
            rings.end();
        }
        if let Some(helpers) = self.helpers.get() {
            helpers.end();
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
