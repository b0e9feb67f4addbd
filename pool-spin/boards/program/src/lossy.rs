//! Interrupts of which some are lost, to check that the tests notice.

use core::{
    marker::PhantomData,
    sync::atomic::{AtomicUsize, Ordering},
};

use pool_spin::Ipi;

/// An [`Ipi`] that, with the feature `drop-ipi`, loses one of a thousand interrupts.
#[derive(Debug)]
pub struct Lossy<I>(PhantomData<fn() -> I>);

impl<I: Ipi> Ipi for Lossy<I> {
    type Interrupts = I::Interrupts;

    fn this_core() -> usize {
        I::this_core()
    }

    fn send(core: usize) {
        static SENT: AtomicUsize = AtomicUsize::new(0);
        if cfg!(feature = "drop-ipi") {
            // Ordering: Relaxed; a plain count. Two cores may count as one, which does no harm.
            let sent = SENT.load(Ordering::Relaxed);
            SENT.store(sent + 1, Ordering::Relaxed);
            if sent % 1000 == 999 {
                return;
            }
        }
        I::send(core);
    }

    fn clear() {
        I::clear();
    }
}
