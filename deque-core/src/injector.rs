//! The queues for work from outside: any thread pushes, any thread steals.

mod intrusive;
#[cfg(feature = "alloc")]
mod segmented;

pub use intrusive::{IntrusiveInjector, Node};
#[cfg(feature = "alloc")]
pub use segmented::Injector;
