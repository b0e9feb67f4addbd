//! The sleep protocol of most tests' pool: the default one, or one that a feature chooses.

#[cfg(feature = "hints")]
use pool_spin::{ArrayChannel, HintSlot, Hints as Protocol, Inline};
#[cfg(all(feature = "classic", not(feature = "hints")))]
use pool_spin::{Classic as Protocol, ClassicSlot as Slot, Inline};
use pool_spin::{CoreParker, IdlePolicy, Machine, SpinPool};
#[cfg(not(any(feature = "classic", feature = "hints")))]
use pool_spin::{Inline, Jec as Protocol, Slot};

use crate::Pool;

type Parker<B> = <B as Machine>::Parker;

/// The protocol: the default one, or, with the feature `classic`, that of seed 001.
#[cfg(not(feature = "hints"))]
pub type Sleep<B, const CORES: usize> = Protocol<Inline<Slot<Parker<B>>, CORES>>;

/// The protocol of seed 002.
#[cfg(feature = "hints")]
pub type Sleep<B, const CORES: usize> = Protocol<Inline<HintSlot<Channel<B>>, CORES>>;

#[cfg(feature = "hints")]
type Channel<B> = ArrayChannel<Parker<B>>;

/// How idle workers behave. With the feature `no-rounds` they sleep after their first fruitless
/// search.
const POLICY: IdlePolicy = if cfg!(feature = "no-rounds") {
    IdlePolicy::IMMEDIATE
} else {
    IdlePolicy::DEFAULT
};

/// Creates a board's pool.
#[must_use]
pub const fn pool<B: Machine, const CORES: usize>() -> Pool<B, CORES> {
    #[cfg(not(feature = "hints"))]
    let slots = [const { Slot::new(<Parker<B> as CoreParker>::NEW) }; CORES];
    #[cfg(feature = "hints")]
    let slots = [const { HintSlot::new(Channel::<B>::new(<Parker<B> as CoreParker>::NEW)) }; CORES];
    SpinPool::with_protocol(Protocol::from_array(slots, POLICY))
}
