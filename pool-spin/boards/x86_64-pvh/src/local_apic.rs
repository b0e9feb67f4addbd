//! The local APIC, the interrupt controller that every core has for itself: all cores find their
//! own at the same address.
//!
//! The `x2apic` crate wants exclusive access, and here the interrupt handlers use it too.

use core::{hint, ptr};

use pool_spin::{Interrupts as _, arch::X86_64};
use x86_64::registers::model_specific::{ApicBase, ApicBaseFlags};

/// Where the registers are after a reset.
const BASE: usize = 0xfee0_0000;

/// The registers, by their distance from [`BASE`].
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
enum Register {
    Id = 0x020,
    EndOfInterrupt = 0x0b0,
    SpuriousVector = 0x0f0,
    CommandLow = 0x300,
    CommandHigh = 0x310,
    TimerVector = 0x320,
    Lint0Vector = 0x350,
    TimerInitialCount = 0x380,
    TimerCurrentCount = 0x390,
    TimerDivide = 0x3e0,
}

/// In the spurious vector register: the controller accepts interrupts.
const ENABLE: u32 = 1 << 8;
/// In a vector register: the interrupt is masked.
const MASKED: u32 = 1 << 16;
/// In the command register: the last command is still under way.
const PENDING: u32 = 1 << 12;
/// In the command register: the beginning of something, not the end.
const ASSERT: u32 = 1 << 14;
/// In the command register: what is sent, if not an interrupt.
const INIT: u32 = 0b101 << 8;
const STARTUP: u32 = 0b110 << 8;
/// In the command register: to all cores but this one.
const OTHERS: u32 = 0b11 << 18;
/// In the divide register: the timer counts every 16th tick.
const DIVIDE_BY_16: u32 = 0b0011;

/// The number of this core among all, which the hardware gave it.
pub fn id() -> u8 {
    (read(Register::Id) >> 24) as u8
}

/// Lets interrupts reach this core; those that turn out to be nothing go to this vector. What comes
/// by the LINT0 pin, from the 8259 PICs, stays away.
///
/// # Panics
/// If the firmware moved the registers, or left the controller in x2APIC mode, without registers in
/// memory.
pub fn enable(spurious_vector: u8) {
    let (frame, flags) = ApicBase::read();
    assert_eq!(
        frame.start_address().as_u64(),
        BASE as u64,
        "local APIC moved"
    );
    assert!(
        !flags.contains(ApicBaseFlags::X2APIC_ENABLE),
        "local APIC in x2APIC mode"
    );
    write(Register::Lint0Vector, MASKED);
    write(
        Register::SpuriousVector,
        ENABLE | u32::from(spurious_vector),
    );
}

/// The handler of an interrupt has done its work: the next one may come.
pub fn end_of_interrupt() {
    write(Register::EndOfInterrupt, 0);
}

/// Interrupts the core with this [`id`] at this vector. What this core wrote to memory before is
/// visible to the handler.
pub fn interrupt(id: u8, vector: u8) {
    command(u32::from(id) << 24, u32::from(vector));
}

/// Resets all cores but this one. They wait for [`start_others`].
///
/// # Safety
/// 1. They run nothing, and hold nothing that others need.
pub unsafe fn reset_others() {
    command(0, OTHERS | INIT);
}

/// Starts all cores that wait for it, in real mode.
///
/// # Safety
/// 1. The page at this address, below 1 MiB, begins with code for them.
pub unsafe fn start_others(address: usize) {
    command(0, OTHERS | STARTUP | (address >> 12) as u32);
}

/// Sends a command. The registers are uncached, so the processor writes them after all that it
/// wrote to memory before.
fn command(destination: u32, command: u32) {
    // A handler that sent between our two writes would redirect our command. The masking also keeps
    // the compiler from moving earlier writes to memory behind this.
    let interrupts = X86_64::mask();
    while read(Register::CommandLow) & PENDING != 0 {
        hint::spin_loop();
    }
    write(Register::CommandHigh, destination);
    // This one sends.
    write(Register::CommandLow, ASSERT | command);
    X86_64::restore(interrupts);
}

/// Lets the timer count down from here, once, and then interrupt at this vector, if at any. A count
/// of zero stops it.
pub fn start_timer(count: u32, vector: Option<u8>) {
    write(Register::TimerDivide, DIVIDE_BY_16);
    write(Register::TimerVector, vector.map_or(MASKED, u32::from));
    write(Register::TimerInitialCount, count);
}

/// What the timer has still to count.
pub fn timer_count() -> u32 {
    read(Register::TimerCurrentCount)
}

fn read(register: Register) -> u32 {
    // SAFETY: a register of this core's controller; reading those that we name changes nothing.
    unsafe { pointer(register).read_volatile() }
}

fn write(register: Register, value: u32) {
    // SAFETY: a register of this core's controller, which only this module writes. An interrupt
    // that follows finds its handler, or one that panics; what else a command may do, its callers
    // promise.
    unsafe { pointer(register).write_volatile(value) }
}

fn pointer(register: Register) -> *mut u32 {
    ptr::with_exposed_provenance_mut(BASE + register as usize)
}
