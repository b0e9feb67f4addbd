//! The numbers of the cores.

use pool_spin::{CoreNumber, CorePointer};

use crate::{CORES, registers::Device};

/// The cores, which read their number from a register of their own.
pub struct Cores;

// SAFETY: 1. Each core has its own identity register at this address, which nothing writes: 0 for
// the core that boots and 1 for the other. 2. There is one static.
unsafe impl CoreNumber for Cores {
    fn number() -> usize {
        // SAFETY: 1. The core's identity registers are there, and are only read.
        const CPU_IDENTITY: Device = unsafe { Device::at(0x5001_F000) };
        CPU_IDENTITY.register(0).read() as usize
    }

    fn pointers() -> &'static [CorePointer] {
        static POINTERS: [CorePointer; CORES] = [const { CorePointer::new() }; CORES];
        &POINTERS
    }
}
