//! What carries out the operations of a pool.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock, Weak},
};

use crate::{
    io::{
        helpers::Helpers,
        operation::Operation,
        request::Request,
        ring::{parker::RingParker, rings::Rings},
    },
    parker::OsParker,
    platform::Registry,
    thread_pool::{data::lock, error::BuildError},
    worker::job::current_worker_of,
};

/// What carries out the operations of a pool, see [`ThreadPoolBuilder::io`](crate::ThreadPoolBuilder::io).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoBackend {
    /// Rings of the kernel (`io_uring`), one per worker, and a thread that looks after those whose workers are
    /// busy. A worker sleeps in its ring, so it wakes for its own operations as well as for jobs;
    /// [`parker`](crate::ThreadPoolBuilder::parker) has no effect on it.
    ///
    /// Needs Linux 5.19 with `io_uring` allowed. Many containers forbid it.
    Ring,
    /// A few threads that make blocking system calls, and one that waits for pipes and sockets. On every
    /// kernel.
    #[default]
    HelperThreads,
}

/// The operations of a pool.
#[derive(Default)]
pub(crate) struct PoolIo {
    kind: IoBackend,
    /// Whether the builder was asked for a backend, which then exists before the first operation.
    is_chosen: bool,
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

/// What carries out an operation, as the operation knows it: a handle that outlives the pool keeps no
/// descriptor of it open.
pub(super) enum WeakBackend {
    Helpers(Weak<Helpers>),
    Ring(Weak<Rings>),
}

impl PoolIo {
    pub(crate) fn choose(&mut self, kind: IoBackend) {
        self.kind = kind;
        self.is_chosen = true;
    }

    /// Whether the backend was chosen when the pool was built. Only then do workers sleep in rings.
    pub(crate) fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    pub(crate) fn kind(&self) -> IoBackend {
        self.kind
    }

    /// Makes the rings, if they were chosen, before the pool is built.
    ///
    /// # Errors
    /// If the system refuses them.
    pub(crate) fn prepare(&self, workers: usize) -> Result<(), BuildError> {
        if self.kind == IoBackend::Ring {
            let rings = Rings::new(workers).map_err(|source| BuildError::Io { source })?;
            self.backend.get_or_init(|| Backend::Ring(rings));
        }
        Ok(())
    }

    /// Returns the parker of a worker: in its ring, or else this one.
    pub(crate) fn parker(&self, worker: usize, other: impl FnOnce() -> OsParker) -> OsParker {
        match self.backend.get() {
            Some(Backend::Ring(rings)) => OsParker::Ring(RingParker::new(rings.clone(), worker)),
            _ => other(),
        }
    }

    /// Starts the backend, if one was chosen, when the pool is built.
    ///
    /// # Errors
    /// If the system refuses it.
    pub(crate) fn start_chosen(&self, registry: &Arc<Registry>) -> Result<(), BuildError> {
        let result = match self.backend.get() {
            Some(Backend::Ring(rings)) => rings.start(registry),
            _ if self.is_chosen => self.backend(registry).map(drop),
            _ => Ok(()),
        };
        result.map_err(|source| BuildError::Io { source })
    }

    /// Starts an operation. The caller keeps the pool from ending.
    pub(super) fn start(&self, registry: &Arc<Registry>, request: Request) -> Arc<Operation> {
        let backend = match self.backend(registry) {
            Ok(backend) => backend.clone(),
            Err(error) => {
                let operation = Operation::new(None, request);
                operation.fail(error.raw_os_error().unwrap_or(libc::EAGAIN));
                return operation;
            }
        };
        let operation = Operation::new(Some(backend.downgrade()), request);
        if !operation.try_at_once() {
            backend.submit(registry, operation.clone());
        }
        operation
    }

    fn backend(&self, registry: &Arc<Registry>) -> io::Result<&Backend> {
        if let Some(backend) = self.backend.get() {
            return Ok(backend);
        }
        let _starting = lock(&self.starting);
        if let Some(backend) = self.backend.get() {
            return Ok(backend);
        }
        let helpers = Helpers::new()?;
        helpers.start(registry)?;
        Ok(self.backend.get_or_init(|| Backend::Helpers(helpers)))
    }

    /// Returns the backend, if there is one.
    #[cfg(test)]
    pub(super) fn existing(&self) -> Option<&Backend> {
        self.backend.get()
    }

    /// Ends the threads of the backend, and cancels what is in flight.
    pub(crate) fn end(&self) {
        if let Some(backend) = self.backend.get() {
            backend.end();
        }
    }
}

impl Backend {
    fn submit(&self, registry: &Registry, operation: Arc<Operation>) {
        match self {
            Self::Helpers(helpers) => {
                operation.poll_first();
                helpers.submit(operation);
            }
            Self::Ring(rings) => {
                let worker = current_worker_of(registry).map(|worker| worker.index().get());
                rings.submit(worker, operation);
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
    /// Asks the backend to end an operation early. A backend that is gone has concluded all of them.
    pub(super) fn cancel(&self, operation: &Arc<Operation>) {
        match self {
            Self::Helpers(helpers) => {
                if let Some(helpers) = helpers.upgrade() {
                    helpers.cancel();
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
