//! The start of the harts.

use core::arch::global_asm;

use pool_spin::Ipi as _;

use crate::{HARTS, ipi::SoftwareInterrupt};

// All harts leave reset at once, and run this before any Rust: `riscv-rt` calls it on each with its
// number in a0, and lets the hart that returns 1 initialize memory. The others must not return
// before that is done, nor use memory, so they wait for an interrupt from hart 0. The interrupt
// stays pending until `interrupts::prepare` clears it.
//
// Uses a0 and t0, which the caller saves, and no stack.
global_asm!(
    ".section .text._mp_hook, \"ax\"",
    ".global _mp_hook",
    "_mp_hook:",
    "bnez a0, 1f",           // All harts except 0 wait.
    "li a0, 1",              // Hart 0 initializes memory
    "ret",                   // at once.
    "1:",
    "csrsi mie, {msoft}",    // A software interrupt ends wfi. It is not taken: mstatus.MIE is 0.
    "2:",
    "wfi",                   // May end spuriously,
    "csrr t0, mip",          // so see which interrupts are pending.
    "andi t0, t0, {msoft}",  // Is it the software interrupt?
    "beqz t0, 2b",           // If not, wait on.
    "fence",                 // What hart 0 wrote before it sent is read after this.
    "li a0, 0",              // Memory is initialized.
    "ret",
    msoft = const 1 << 3, // The software interrupt's bit in mie and in mip.
);

/// Lets the waiting harts continue. They see everything that this hart has written.
pub fn start_others() {
    for hart in 1..HARTS {
        SoftwareInterrupt::send(hart);
    }
}
