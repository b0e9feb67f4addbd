//! The sleep protocol of most tests' pool.

#[cfg(feature = "classic")]
use pool_spin::Classic as Protocol;
#[cfg(not(feature = "classic"))]
use pool_spin::Jec as Protocol;
use pool_spin::{CoreParker, IdlePolicy, Machine, Slot, SpinPool};

use crate::Pool;

type Parker<B> = <B as Machine>::Parker;

/// The protocol: the default one, or, with the feature `classic`, that of seed 001.
pub type Sleep<B, const CORES: usize> = Protocol<Parker<B>, [Slot<Parker<B>>; CORES]>;

/// Creates a board's pool.
#[must_use]
pub const fn pool<B: Machine, const CORES: usize>() -> Pool<B, CORES> {
    let slots = [const { Slot::new(<Parker<B> as CoreParker>::NEW) }; CORES];
    SpinPool::with_protocol(Protocol::from_array(slots, IdlePolicy::DEFAULT))
}
