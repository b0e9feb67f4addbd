//! What the workers of a pool may run while they wait.

use pool_core::Isolation;

use crate::thread_pool::stack;

/// What the workers of a pool may run while they wait.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waits {
    pub(super) isolation: Isolation,
    /// How many jobs may be one inside the other. Otherwise half of the stack decides.
    pub(super) max_nesting: Option<usize>,
}

impl Waits {
    /// Returns what a worker may run while it waits on this thread. `depth` says how many jobs from
    /// queues are nested there.
    pub(crate) fn isolation(&self, depth: usize) -> Isolation {
        let is_deep = match self.max_nesting {
            Some(most) => depth > most,
            None => depth > 0 && stack::is_half_used(),
        };
        if is_deep {
            self.isolation.max(Isolation::Subtree)
        } else {
            self.isolation
        }
    }
}
