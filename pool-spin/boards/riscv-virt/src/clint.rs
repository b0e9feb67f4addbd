//! The core-local interruptor: a software interrupt and a timer for each hart.
//!
//! `riscv-peripheral` has it, too, but accesses the timer as 64 bits at once, which on 32 bits is
//! two accesses in any order.

use core::ptr;

use crate::HARTS;

/// The clock's frequency.
pub const MTIME_HZ: u64 = 10_000_000;

/// The address of the device.
const BASE: usize = 0x0200_0000;
/// A word per hart, whose lowest bit is the pending software interrupt.
const MSIP: usize = 0x0000;
/// Two words per hart: its timer interrupt is pending from this time on.
const MTIMECMP: usize = 0x4000;
/// Two words: the time.
const MTIME: usize = 0xBFF8;

/// Sets or clears a hart's pending software interrupt. Orders no other accesses.
pub fn set_software_interrupt(hart: usize, pending: bool) {
    assert!(hart < HARTS, "no such hart");
    write(MSIP + 4 * hart, pending.into());
}

/// Makes a hart's timer interrupt pending from this time on, and not before.
pub fn set_timer(hart: usize, time: u64) {
    assert!(hart < HARTS, "no such hart");
    let register = MTIMECMP + 8 * hart;
    // Writes in halves, for a bus of 32 bits. Between the writes, the time is never earlier than
    // both the old and the new one.
    write(register, u32::MAX);
    write(register + 4, (time >> 32) as u32);
    write(register, time as u32);
}

/// Returns the time, on the clock that all harts share.
pub fn time() -> u64 {
    loop {
        let high = read(MTIME + 4);
        let low = read(MTIME);
        if read(MTIME + 4) == high {
            break u64::from(high) << 32 | u64::from(low);
        }
        // The low half overflowed in between.
    }
}

/// Reads a word of the device.
fn read(offset: usize) -> u32 {
    // SAFETY: the callers pass offsets of 32-bit registers of the device, which is there on this
    // board; reading them changes nothing.
    unsafe { ptr::with_exposed_provenance::<u32>(BASE + offset).read_volatile() }
}

/// Writes a word of the device.
fn write(offset: usize, value: u32) {
    // SAFETY: as in `read`; these registers make interrupts pending and never access memory.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(BASE + offset).write_volatile(value) };
}
