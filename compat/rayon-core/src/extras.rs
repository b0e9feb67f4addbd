//! The settings that rayon-core has and rustc's pool does not.

use std::fmt;

use crate::builder::ThreadPoolBuilder;

#[derive(Default)]
pub(crate) struct Extras {
    use_current_thread: bool,
    guests: Option<bool>,
}

impl Extras {
    /// Passes the settings on to the builder of a pool.
    pub(crate) fn apply(self, builder: pool_std::ThreadPoolBuilder) -> pool_std::ThreadPoolBuilder {
        let builder = builder
            .guests(self.guests.unwrap_or(false))
            .facade_guests(self.guests);
        if self.use_current_thread {
            builder.use_current_thread()
        } else {
            builder
        }
    }

    pub(crate) fn debug(&self, output: &mut fmt::DebugStruct<'_, '_>) {
        output.field("use_current_thread", &self.use_current_thread);
        if let Some(guests) = self.guests {
            output.field("guests", &guests);
        }
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Makes the thread that builds the pool its worker 0.
    pub fn use_current_thread(mut self) -> Self {
        self.extras.use_current_thread = true;
        self
    }

    /// Sets whether a thread outside every pool runs its joins, scopes and parallel iterators itself, in the
    /// place of a worker that sleeps: [`pool_std::ThreadPoolBuilder::guests`]. For the global pool.
    ///
    /// rayon-core has no such setting, and always runs them on threads of the pool. So without this call they do
    /// too, unless the environment variable `RAYON_CORE_GUESTS` is 1. The page about rayon of the book says
    /// which programs see a difference.
    pub fn guests(mut self, guests: bool) -> Self {
        self.extras.guests = Some(guests);
        self
    }
}
