//! The local APIC: the interrupt controller of each core, which every core finds at the same
//! address.
//!
//! The `x2apic` crate requires exclusive access, but here the interrupt handlers use it, too.

use core::{hint, ptr};

use pool_spin::{Interrupts as _, arch::X86_64};
use x86_64::registers::model_specific::{ApicBase, ApicBaseFlags};

/// The address of the registers after a reset.
const BASE: usize = 0xfee0_0000;

/// The registers, by their offset from [`BASE`].
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
/// In the command register: the last command is still in progress.
const PENDING: u32 = 1 << 12;
/// In the command register: the level of the signal is asserted, not de-asserted.
const ASSERT: u32 = 1 << 14;
/// In the command register: the kind of signal, if not an interrupt.
const INIT: u32 = 0b101 << 8;
const STARTUP: u32 = 0b110 << 8;
/// In the command register: to all cores but this one.
const OTHERS: u32 = 0b11 << 18;
/// In the divide register: the timer counts every 16th tick.
const DIVIDE_BY_16: u32 = 0b0011;

/// Returns the number of this core, which the hardware has assigned.
pub fn id() -> u8 {
    (read(Register::Id) >> 24) as u8
}

/// Lets interrupts reach this core. Spurious ones go to `spurious_vector`. Those of the 8259 PICs,
/// which arrive at the LINT0 pin, stay masked.
///
/// # Panics
/// If the firmware has moved the registers, or has left the controller in x2APIC mode, without
/// registers in memory.
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

/// Signals the end of an interrupt: its handler has done its work, and the next one may come.
pub fn end_of_interrupt() {
    write(Register::EndOfInterrupt, 0);
}

/// Interrupts the core with this [`id`] at this vector. The handler sees what this core wrote to
/// memory before.
pub fn interrupt(id: u8, vector: u8) {
    command(u32::from(id) << 24, u32::from(vector));
}

/// Resets all cores but this one. They wait for [`start_others`].
///
/// # Safety
/// 1. These cores run nothing, and hold nothing that others need.
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

/// Sends a command. The registers are uncached, so the processor writes them after all its earlier
/// writes to memory.
fn command(destination: u32, command: u32) {
    // A handler that sent between our two writes would redirect our command. Masking also keeps the
    // compiler from moving earlier writes to memory past this point.
    let interrupts = X86_64::mask();
    while read(Register::CommandLow) & PENDING != 0 {
        hint::spin_loop();
    }
    write(Register::CommandHigh, destination);
    // This write sends the command.
    write(Register::CommandLow, ASSERT | command);
    X86_64::restore(interrupts);
}

/// Starts the timer, which counts down once and then interrupts at this vector, if any. A count of
/// zero stops it.
pub fn start_timer(count: u32, vector: Option<u8>) {
    write(Register::TimerDivide, DIVIDE_BY_16);
    write(Register::TimerVector, vector.map_or(MASKED, u32::from));
    write(Register::TimerInitialCount, count);
}

/// Returns the number that the timer has still to count.
pub fn timer_count() -> u32 {
    read(Register::TimerCurrentCount)
}

fn read(register: Register) -> u32 {
    // SAFETY: a register of this core's controller. Reading the registers named here changes
    // nothing.
    unsafe { pointer(register).read_volatile() }
}

fn write(register: Register, value: u32) {
    // SAFETY: a register of this core's controller, which only this module writes. An interrupt
    // that follows finds its handler, or one that panics. The callers are responsible for the other
    // effects of a command.
    unsafe { pointer(register).write_volatile(value) }
}

fn pointer(register: Register) -> *mut u32 {
    ptr::with_exposed_provenance_mut(BASE + register as usize)
}
