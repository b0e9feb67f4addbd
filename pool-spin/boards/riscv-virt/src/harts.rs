//! Starting the harts.

use core::arch::global_asm;

use pool_spin::Ipi as _;

use crate::{HARTS, ipi::SoftwareInterrupt};

// All harts come out of reset at once, and run this before any Rust: `riscv-rt` calls it on each
// with its number in a0, and lets the one that returns 1 initialise memory. The others must not
// return before that is done, nor use memory, so they wait for an interrupt from hart 0. It stays
// pending: `interrupts::prepare` clears it.
//
// Uses a0 and t0, which are the caller's to save; the stack is not needed.
global_asm!(
    ".section .text._mp_hook, \"ax\"",
    ".global _mp_hook",
    "_mp_hook:",
    "bnez a0, 1f",           // All but hart 0 wait.
    "li a0, 1",              // Hart 0 initialises memory
    "ret",                   // at once.
    "1:",
    "csrsi mie, {msoft}",    // A software interrupt ends wfi. It is not taken: mstatus.MIE is 0.
    "2:",
    "wfi",                   // May end for no reason,
    "csrr t0, mip",          // so see which interrupts are pending.
    "andi t0, t0, {msoft}",  // Is it the software interrupt?
    "beqz t0, 2b",           // If not, wait on.
    "fence",                 // What hart 0 wrote before it sent is read after this.
    "li a0, 0",              // Memory is initialised.
    "ret",
    msoft = const 1 << 3, // The software interrupt's bit in mie and in mip.
);

/// Lets the harts that wait go on. They find everything that this hart has written.
pub fn start_others() {
    for hart in 1..HARTS {
        SoftwareInterrupt::send(hart);
    }
}
