//! The settings that rustc's pool has and rayon-core does not.

use std::fmt;

#[derive(Default)]
pub(crate) struct Extras {}

impl Extras {
    /// Passes the settings on to the builder of a pool.
    pub(crate) fn apply(self, builder: pool_std::ThreadPoolBuilder) -> pool_std::ThreadPoolBuilder {
        builder
    }

    pub(crate) fn debug(&self, _output: &mut fmt::DebugStruct<'_, '_>) {}
}
