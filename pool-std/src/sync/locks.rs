//! Locks on every other system.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
