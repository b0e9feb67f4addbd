//! Proves each piece of the board by itself, before the pool is run on it.

use core::{
    fmt::Write as _,
    ptr,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use pool_spin::{CoreLocal, CoreParker, Machine, Pool};
use program::{Board, Mode};

use crate::console::Console;

type B = crate::board::Virt;
type Parker = <B as Machine>::Parker;
type Local = <B as Machine>::Local;

const CORES: usize = 4;
const ROUNDS: usize = 1000;

static UP: AtomicUsize = AtomicUsize::new(0);
static TIMER: AtomicUsize = AtomicUsize::new(0);
static BOOT: Parker = Parker::NEW;
static PARKERS: [Parker; CORES] = [const { Parker::NEW }; CORES];
static TOKENS: [u8; CORES] = [0; CORES];
static PINGS: AtomicUsize = AtomicUsize::new(0);
static STORM: AtomicUsize = AtomicUsize::new(0);
static MICROS: AtomicUsize = AtomicUsize::new(0);

pub fn boot_core(pool: &'static Pool<B, CORES, 64>) -> ! {
    let mode = B::mode();
    let _ = writeln!(
        Console,
        "{}: {mode:?}, {} workers",
        B::NAME,
        pool.num_workers()
    );
    check_local(0);
    while UP.load(SeqCst) != CORES - 1 {
        // Not by spinning: with -icount, QEMU 7.2 starves the core behind one that spins.
        park(&BOOT);
    }
    if mode == Mode::Idle {
        idle();
    } else {
        timer();
        ping_pong();
        // Handlers run between the halts.
        STORM.store(1, SeqCst);
        B::interrupt_after(Duration::ZERO);
        ping_pong();
    }
    let _ = writeln!(Console, "passed");
    B::exit(true)
}

pub fn other_core(_pool: &'static Pool<B, CORES, 64>, worker: usize) -> ! {
    check_local(worker);
    UP.fetch_add(1, SeqCst);
    unpark(&BOOT);
    loop {
        park(&PARKERS[worker]);
        stamp();
        PINGS.fetch_add(1, SeqCst);
        unpark(&BOOT);
        assert_eq!(Local::get(), ptr::from_ref(&TOKENS[worker]).cast());
    }
}

pub fn timer_interrupt() {
    if STORM.load(SeqCst) == 1 {
        B::interrupt_after(Duration::from_micros(5));
        return;
    }
    TIMER.fetch_add(1, SeqCst);
    unpark(&BOOT);
}

fn check_local(worker: usize) {
    assert!(Local::get().is_null());
    // SAFETY: 1. no pool runs.
    unsafe { Local::set(ptr::from_ref(&TOKENS[worker]).cast()) };
}

/// The clock is shared: it is never behind what another core last read.
fn stamp() {
    let now = B::now().as_micros() as usize;
    assert!(MICROS.swap(now, SeqCst) <= now);
}

fn timer() {
    let start = B::now();
    B::interrupt_after(Duration::from_millis(20));
    while TIMER.load(SeqCst) == 0 {
        assert!(B::now() < start + Duration::from_secs(5));
    }
    let after = B::now() - start;
    assert!(after >= Duration::from_millis(20));
    let until = B::now() + Duration::from_millis(50);
    while B::now() < until {}
    assert_eq!(TIMER.load(SeqCst), 1);
    let _ = writeln!(Console, "timer: {after:?}");
}

fn ping_pong() {
    for (worker, parker) in PARKERS.iter().enumerate().skip(1) {
        let start = B::now();
        for _ in 0..ROUNDS {
            stamp();
            let pings = PINGS.load(SeqCst);
            unpark(parker);
            while PINGS.load(SeqCst) == pings {
                park(&BOOT);
            }
        }
        let _ = writeln!(
            Console,
            "core {worker}: {ROUNDS} rounds in {:?}",
            B::now() - start
        );
    }
}

fn idle() {
    B::interrupt_after(Duration::from_secs(3));
    while TIMER.load(SeqCst) == 0 {
        park(&BOOT);
    }
}

fn park(parker: &impl CoreParker) {
    parker.park();
}

fn unpark(parker: &impl CoreParker) {
    parker.unpark();
}
