//! The identity of a pool in debug output.

use std::fmt;

use crate::platform::Registry;

/// Tells one pool from another in debug output.
pub(crate) struct PoolId(*const Registry);

impl PoolId {
    pub(crate) fn of(registry: &Registry) -> Self {
        Self(registry)
    }
}

impl fmt::Debug for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PoolId").field(&self.0).finish()
    }
}
