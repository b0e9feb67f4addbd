//! The interrupt that wakes a parked worker's core: a software-generated interrupt (SGI).

use pool_spin::{Ipi, arch::Aarch64};

use crate::{cores, gic};

/// The SGI from core to core.
///
/// # Visibility
/// [`send`](Ipi::send) completes this core's stores, by a `dsb`, before it writes to the
/// controller. [`clear`](Ipi::clear) completes its acknowledgment, by a `dsb` and an `isb`, before
/// later loads.
///
/// # Liveness
/// A pending SGI stays pending until this core acknowledges it, which only `clear` and the
/// interrupt handler do. An SGI that is sent after that is pending again. It is enabled at the
/// controller on every core, so it ends a `WFI` even where the core masks interrupts.
#[derive(Debug)]
pub struct Sgi(());

impl Ipi for Sgi {
    type Interrupts = Aarch64;

    fn this_core() -> usize {
        cores::this_core()
    }

    fn send(core: usize) {
        gic::send(core);
    }

    fn clear() {
        gic::clear();
    }
}
