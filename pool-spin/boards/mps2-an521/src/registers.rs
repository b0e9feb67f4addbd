//! Device registers.

use core::ptr;

/// A device: a page of registers.
#[derive(Clone, Copy)]
pub struct Device(usize);

impl Device {
    /// The size of the page.
    const SIZE: usize = 0x1000;

    /// Names the device whose registers begin at this address.
    ///
    /// # Safety
    /// 1. At this address there are registers of 32 bits and nothing else. Any core may read and
    ///    write those that are used, as they are, without harm to memory.
    pub const unsafe fn at(base: usize) -> Self {
        Self(base)
    }

    /// Returns one of the device's registers.
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
        // SAFETY: by the contract of `Device::at`, there is a register that may be read.
        unsafe { ptr::with_exposed_provenance::<u32>(self.0).read_volatile() }
    }

    /// Writes the register.
    pub fn write(self, value: u32) {
        // SAFETY: by the contract of `Device::at`, there is a register that may be written.
        unsafe { ptr::with_exposed_provenance_mut::<u32>(self.0).write_volatile(value) };
    }
}
