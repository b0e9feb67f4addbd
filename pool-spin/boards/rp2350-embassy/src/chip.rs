//! The chip, as the pool sees it.

use core::ptr;

use pool_spin::{CoreNumber, CorePointer, Machine, Numbered, Wfe, arch::CortexM};

/// An RP2350.
pub struct Rp2350;

// SAFETY: 1. The array is null at first, and nothing else uses it. 2. Only handlers pre-empt a
// core, and those of embassy call nothing of the pool.
unsafe impl Machine for Rp2350 {
    type Local = Numbered<Self>;
    // The event of either core wakes the other one. No interrupt between the cores is needed:
    // embassy-rp has the FIFO, by which it stops the second core while it writes the flash.
    type Parker = Wfe<CortexM>;
}

// SAFETY: 1. Each core reads its own number, 0 or 1. 2. There is one static.
unsafe impl CoreNumber for Rp2350 {
    fn number() -> usize {
        /// `SIO_CPUID`.
        const CPU_IDENTITY: *const u32 = ptr::without_provenance(0xD000_0000);
        // SAFETY: the register is there in each state of the chip, and reading it changes nothing.
        unsafe { CPU_IDENTITY.read_volatile() as usize }
    }

    fn pointers() -> &'static [CorePointer] {
        static POINTERS: [CorePointer; 2] = [const { CorePointer::new() }; 2];
        &POINTERS
    }
}
