//! What an idle worker does between two searches.

use crate::{parker::Parker, primitive::spin_loop};

/// What an idle worker does between two searches.
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Relax};
///
/// let policy = IdlePolicy::new(8, 9, Relax::Spin(20));
/// assert_eq!(policy.relax(), Relax::Spin(20));
/// assert_eq!(IdlePolicy::DEFAULT.relax(), Relax::Yield);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relax {
    /// Executes the processor's spin hint this many times. For workers that have a core each.
    Spin(u32),
    /// Calls [`Parker::relax`], which yields to other threads if there is a scheduler.
    Yield,
}

impl Relax {
    /// Does it once.
    pub(crate) fn relax(self, parker: &impl Parker) {
        match self {
            Self::Spin(times) => (0..times).for_each(|_| spin_loop()),
            Self::Yield => parker.relax(),
        }
    }
}
