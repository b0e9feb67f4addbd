//! The settings that rayon-core has and rustc's pool does not.

use std::fmt;

use crate::builder::ThreadPoolBuilder;

#[derive(Default)]
pub(crate) struct Extras {
    use_current_thread: bool,
}

impl Extras {
    /// Passes the settings on to the builder of a pool.
    pub(crate) fn apply(self, builder: pool_std::ThreadPoolBuilder) -> pool_std::ThreadPoolBuilder {
        if self.use_current_thread {
            builder.use_current_thread()
        } else {
            builder
        }
    }

    pub(crate) fn debug(&self, output: &mut fmt::DebugStruct<'_, '_>) {
        output.field("use_current_thread", &self.use_current_thread);
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Makes the thread that builds the pool its worker 0.
    pub fn use_current_thread(mut self) -> Self {
        self.extras.use_current_thread = true;
        self
    }
}
