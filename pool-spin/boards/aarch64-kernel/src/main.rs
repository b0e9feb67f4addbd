//! A toy kernel with run queues of its own, which lets sleep-core decide when its cores sleep: an
//! example for authors of kernels. The part to read is `scheduler.rs`.
//!
//! There are four cores. A timer ticks on the first; each tick queues a task, tasks queue more
//! tasks, and in between every core sleeps. The program checks the result and prints what each core
//! did.
#![no_std]
#![no_main]

// The machine, from the neighboring board.
#[path = "../../aarch64-virt/src/cores.rs"]
mod cores;
#[path = "../../aarch64-virt/src/exceptions.rs"]
mod exceptions;
#[path = "../../aarch64-virt/src/gic.rs"]
mod gic;
#[path = "../../aarch64-virt/src/memory.rs"]
mod memory;
#[path = "../../aarch64-virt/src/timer.rs"]
mod timer;

mod interrupts;
mod parker;
mod scheduler;

use core::{
    panic::PanicInfo,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use aarch64_rt::entry;
use semihosting::{println, process};

use cores::CORES;
use scheduler::{Argument, Task};

const TICKS: u32 = 50;
const TICK: Duration = Duration::from_millis(5);

/// Each tick counts the primes below this number.
const LIMIT: u32 = 10_000;
/// The number of primes below [`LIMIT`].
const PRIMES_BELOW_LIMIT: u32 = 1229;
/// A task for more numbers than this splits.
const GRAIN: u32 = 100;

static TICKED: AtomicU32 = AtomicU32::new(0);
static PRIMES: AtomicU32 = AtomicU32::new(0);
static LOOKED_AT: AtomicU32 = AtomicU32::new(0);

entry!(boot, { cores::STACK_PAGES });

/// Runs on the first core.
fn boot(_: u64, _: u64, _: u64, _: u64) -> ! {
    gic::set_up();
    cores::start_others(other);
    timer::interrupt_after(TICK);
    gic::unmask();
    scheduler::run(0)
}

/// Runs on each other core.
fn other(core: usize) -> ! {
    gic::set_up();
    gic::unmask();
    scheduler::run(core)
}

/// Handles an interrupt of a core: from the timer, or to end its sleep.
fn interrupt() {
    gic::handle(tick);
}

/// Handles a tick of the timer.
fn tick() {
    let task = Task {
        run: count_primes,
        argument: (0, LIMIT),
    };
    // If there is no room, the next tick tries again.
    let queued = scheduler::spawn_from_interrupt(task).is_ok();
    if TICKED.fetch_add(u32::from(queued), Ordering::Relaxed) + u32::from(queued) < TICKS {
        timer::interrupt_after(TICK);
    }
}

/// Counts the primes among these numbers: a task.
fn count_primes((from, to): Argument) {
    if to - from > GRAIN {
        let middle = from.midpoint(to);
        for argument in [(from, middle), (middle, to)] {
            let half = Task {
                run: count_primes,
                argument,
            };
            // If there is no room, this core has enough tasks: it runs this one at once.
            if scheduler::spawn(half).is_err() {
                count_primes(argument);
            }
        }
        return;
    }
    let primes = (from..to).filter(|&number| is_prime(number)).count() as u32;
    PRIMES.fetch_add(primes, Ordering::Relaxed);
    // Ordering: Release pairs with the acquire of the core that looks at the last numbers, which
    // then sees all the primes.
    let before = LOOKED_AT.fetch_add(to - from, Ordering::AcqRel);
    if before + (to - from) == TICKS * LIMIT {
        report();
    }
}

fn is_prime(number: u32) -> bool {
    let mut divisors = (2..).take_while(|divisor| divisor * divisor <= number);
    number > 1 && divisors.all(|divisor| !number.is_multiple_of(divisor))
}

/// Ends the machine, from the last task.
fn report() -> ! {
    let (found, expected) = (PRIMES.load(Ordering::Relaxed), TICKS * PRIMES_BELOW_LIMIT);
    println!("{TICKS} ticks, {found} primes, expected {expected}");
    for core in 0..CORES {
        let (tasks, sleeps) = scheduler::statistics(core);
        println!("core {core}: {tasks} tasks, slept {sleeps} times");
    }
    println!("after {:?}", timer::now());
    process::exit(if found == expected { 0 } else { 1 })
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    println!("{info}");
    process::exit(1)
}
