//! What carries out the operations of a pool.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock},
};

use crate::{
    io::{helpers::Helpers, operation::Operation, request::Request},
    platform::Registry,
    thread_pool::{data::lock, error::BuildError},
};

/// What carries out the operations of a pool, see [`ThreadPoolBuilder::io`](crate::ThreadPoolBuilder::io).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoBackend {
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
}

impl PoolIo {
    pub(crate) fn choose(&mut self, kind: IoBackend) {
        self.kind = kind;
        self.is_chosen = true;
    }

    pub(crate) fn kind(&self) -> IoBackend {
        self.kind
    }

    /// Starts the backend, if one was chosen, when the pool is built.
    ///
    /// # Errors
    /// If the system refuses it.
    pub(crate) fn start_chosen(&self, registry: &Arc<Registry>) -> Result<(), BuildError> {
        if self.is_chosen {
            self.backend(registry)
                .map_err(|source| BuildError::Io { source })?;
        }
        Ok(())
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
        let operation = Operation::new(Some(backend.clone()), request);
        if !operation.try_at_once() {
            backend.submit(operation.clone());
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

    /// Ends the threads of the backend, and cancels what is in flight.
    pub(crate) fn end(&self) {
        if let Some(backend) = self.backend.get() {
            backend.end();
        }
    }
}

impl Backend {
    fn submit(&self, operation: Arc<Operation>) {
        match self {
            Self::Helpers(helpers) => {
                operation.poll_first();
                helpers.submit(operation);
            }
        }
    }

    pub(super) fn cancel(&self, _operation: &Arc<Operation>) {
        match self {
            Self::Helpers(helpers) => helpers.cancel(),
        }
    }

    fn end(&self) {
        match self {
            Self::Helpers(helpers) => helpers.end(),
        }
    }
}
