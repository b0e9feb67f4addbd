//! How a parked worker's core is woken: a software-generated interrupt (SGI).

use pool_spin::{Ipi, arch::Aarch64};

use crate::{cores, gic};

/// The SGI from core to core.
///
/// # Visibility
/// [`send`](Ipi::send) completes this core's stores before it writes to the controller, by a
/// `dsb`; [`clear`](Ipi::clear) completes its acknowledgement before later loads, by a `dsb` and
/// an `isb`.
///
/// # Liveness
/// An SGI that is pending stays so until this core acknowledges it, which only `clear` and the
/// interrupt handler do. One that is sent after that is pending again. It is enabled at the
/// controller on every core, so it ends a `WFI` also where the core masks interrupts.
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
