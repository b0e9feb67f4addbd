//! What can go wrong, in rayon's words.

use std::{error::Error, fmt, io};

use pool_std::BuildError;

/// A pool could not be built. Threads of it that were started end.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    IOError(io::Error),
}

/// Programs match on these texts.
const GLOBAL_POOL_ALREADY_INITIALIZED: &str =
    "The global thread pool has already been initialized.";
const CURRENT_THREAD_ALREADY_IN_POOL: &str =
    "The current thread is already part of another thread pool.";

/// Returns an error of pool-std in rayon's words. A conversion by a trait would be one more public
/// item of the drop-ins.
pub fn in_rayons_words(error: BuildError) -> ThreadPoolBuildError {
    let kind = match error {
        BuildError::GlobalPoolAlreadyInitialized => ErrorKind::GlobalPoolAlreadyInitialized,
        BuildError::CurrentThreadAlreadyInPool => ErrorKind::CurrentThreadAlreadyInPool,
        BuildError::Spawn { source, .. } => ErrorKind::IOError(source),
        // The drop-ins ask for nothing else that pool-std refuses, but the environment may.
        other => ErrorKind::IOError(io::Error::other(other)),
    };
    ThreadPoolBuildError { kind }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::GlobalPoolAlreadyInitialized => GLOBAL_POOL_ALREADY_INITIALIZED.fmt(f),
            ErrorKind::CurrentThreadAlreadyInPool => CURRENT_THREAD_ALREADY_IN_POOL.fmt(f),
            ErrorKind::IOError(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.kind {
            ErrorKind::GlobalPoolAlreadyInitialized => GLOBAL_POOL_ALREADY_INITIALIZED,
            ErrorKind::CurrentThreadAlreadyInPool => CURRENT_THREAD_ALREADY_IN_POOL,
            ErrorKind::IOError(error) => error.description(),
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::IOError(error) => Some(error),
            _ => None,
        }
    }
}
