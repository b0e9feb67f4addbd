//! Device registers.

use core::ptr;

/// A device: a page of registers.
#[derive(Clone, Copy)]
pub struct Device(usize);

impl Device {
    /// The size of the page.
    const SIZE: usize = 0x1000;

    /// The device whose registers begin at this address.
    ///
    /// # Safety
    /// 1. There are registers of 32 bits and nothing else. Those that are used may be read and
    ///    written as they are, by any core, without harm to memory.
    pub const unsafe fn at(base: usize) -> Self {
        Self(base)
    }

    /// One of its registers.
    pub const fn register(self, offset: usize) -> Register {
        assert!(offset < Self::SIZE && offset.is_multiple_of(4));
        Register(self.0 + offset)
    }
}

/// A register of a device.
#[derive(Clone, Copy)]
pub struct Register(usize);

impl Register {
    /// Reads the register.
    pub fn read(self) -> u32 {
        // SAFETY: a register that may be read is there, by `Device::at`.
        unsafe { ptr::with_exposed_provenance::<u32>(self.0).read_volatile() }
    }

    /// Writes the register.
    pub fn write(self, value: u32) {
        // SAFETY: a register that may be written is there, by `Device::at`.
        unsafe { ptr::with_exposed_provenance_mut::<u32>(self.0).write_volatile(value) };
    }
}
