//! What a pool needs of the machine it runs on.

use pool_core::Parker;

use crate::core_local::CoreLocal;

/// A machine: how a core finds out which worker it is, and how it sleeps.
///
/// A firmware has one such type, without a value; see the boards beside this crate.
pub trait Machine: 'static {
    /// One pointer for each core.
    type Local: CoreLocal;
    /// How a worker sleeps. A pool has two of them for each worker: one for its jobs and one for
    /// its thread progress.
    type Parker: CoreParker;
}

/// A parker that a `static` can hold.
pub trait CoreParker: Parker + Send + Sync + 'static {
    /// A parker without a token.
    const NEW: Self;
}
