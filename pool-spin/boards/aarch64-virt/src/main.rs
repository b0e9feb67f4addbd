//! The test program on QEMU's machine `virt`: four Cortex-A72 at EL1, with MMU and caches on.
#![no_std]
#![no_main]

mod board;
mod cores;
mod exceptions;
#[cfg_attr(
    feature = "wfe",
    expect(dead_code, reason = "events take no interrupts from core to core")
)]
mod gic;
#[cfg(not(feature = "wfe"))]
mod ipi;
mod memory;
mod timer;

use core::panic::PanicInfo;

use aarch64_rt::entry;

use program::{Blocking, DetectingPool, Pool};

use board::Virt;
use cores::CORES;

static POOL: Pool<Virt, CORES> = program::pool();
/// The pool that detects deadlocks, and its tests.
static DETECTING: DetectingPool<Virt, CORES> = program::detecting_pool();
static BLOCKING: Blocking<Virt, CORES> = Blocking::new(&DETECTING);

entry!(boot, { cores::STACK_PAGES });

/// Runs on the first core.
fn boot(_: u64, _: u64, _: u64, _: u64) -> ! {
    board::clear_worker();
    gic::set_up();
    gic::unmask();
    cores::start_others(other);
    program::boot_core(&POOL, &BLOCKING)
}

/// Runs on each other core, with interrupts masked: they end a halt nevertheless.
fn other(core: usize) -> ! {
    board::clear_worker();
    gic::set_up();
    program::other_core(&POOL, &BLOCKING, core)
}

/// Handles an interrupt of the first core.
fn interrupt() {
    gic::handle(program::timer_interrupt);
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    semihosted::panic(info)
}
