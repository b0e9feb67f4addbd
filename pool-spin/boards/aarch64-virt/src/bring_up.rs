//! Proves each piece of the board, before the program does.

use core::{
    arch::asm,
    hint::spin_loop,
    ptr,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use pool_core::Parker as _;
use pool_spin::{CoreLocal, CoreParker, Machine, Pool};
use program::{Board, Mode};
use semihosting::println;

use crate::{board::Virt, cores::CORES};

type Parker = <Virt as Machine>::Parker;
type Local = <Virt as Machine>::Local;

const ROUNDS: usize = 1000;

static PARKERS: [Parker; CORES] = [const { <Parker as CoreParker>::NEW }; CORES];
static ARRIVED: AtomicUsize = AtomicUsize::new(0);
static BALL: AtomicUsize = AtomicUsize::new(0);
static TIME_THERE: AtomicU64 = AtomicU64::new(0);
static FIRED: AtomicUsize = AtomicUsize::new(0);
static IDLE: AtomicBool = AtomicBool::new(false);

/// Different on each core, and not null.
fn own(core: usize) -> *const () {
    (&raw const PARKERS[core]).cast()
}

fn check_local(core: usize) {
    assert!(Local::get().is_null(), "core {core} starts with a pointer");
    // SAFETY: 1. no pool runs here.
    unsafe { Local::set(own(core)) };
}

pub fn boot_core<const N: usize>(_: &'static Pool<Virt, N, 64>) -> ! {
    let mode = Virt::mode();
    println!("{}: {mode:?}", Virt::NAME);
    check_local(0);
    // Ordering: Acquire pairs with the count's release. Here and below.
    while ARRIVED.load(Ordering::Acquire) < CORES - 1 {
        spin_loop();
    }
    match mode {
        Mode::Idle => idle(),
        Mode::Test => test(),
        Mode::Tree { cores } => println!("a tree on {cores} cores, one day"),
    }
    // SAFETY: 1. as above.
    unsafe { Local::set(ptr::null()) };
    Virt::exit(true)
}

fn idle() {
    let start = Virt::now();
    IDLE.store(true, Ordering::Relaxed);
    Virt::interrupt_after(Duration::from_secs(3));
    PARKERS[0].park();
    assert!(Virt::now() - start >= Duration::from_secs(3));
}

fn test() {
    let start = Virt::now();
    Virt::interrupt_after(Duration::from_millis(5));
    let clean = vectors_survive();
    let waited = Virt::now() - start;
    assert!(clean, "the handler changed a vector register");
    assert!(
        waited >= Duration::from_millis(5),
        "the timer fired after {waited:?}"
    );
    println!("timer after {waited:?}");
    for (core, other) in PARKERS.iter().enumerate().skip(1) {
        let start = Virt::now();
        for round in 0..ROUNDS {
            let before = Virt::now();
            other.unpark();
            PARKERS[0].park();
            let there = Duration::from_nanos(TIME_THERE.load(Ordering::Relaxed));
            assert!(before <= there && there <= Virt::now(), "clocks differ");
            let ball = BALL.load(Ordering::Relaxed);
            assert_eq!(
                ball,
                (core - 1) * ROUNDS + round + 1,
                "a park without a token"
            );
        }
        println!("core {core}: {ROUNDS} rounds in {:?}", Virt::now() - start);
    }
    assert_eq!(Local::get(), own(0));
    assert_eq!(FIRED.load(Ordering::Relaxed), 1, "timer interrupts");
}

/// Holds a pattern in a few vector registers until the timer interrupts, whose handler changes them.
fn vectors_survive() -> bool {
    let (low, high, last): (u64, u64, u64);
    // SAFETY: reads a word that lives for ever until it is not zero; all registers are declared.
    unsafe {
        asm!(
            "movi v0.16b, #0x5a",
            "movi v9.16b, #0x5a",
            "movi v31.16b, #0x5a",
            "2: ldr {low}, [{fired}]",
            "cbz {low}, 2b",
            "umov {low}, v0.d[0]",
            "umov {high}, v9.d[1]",
            "umov {last}, v31.d[0]",
            fired = in(reg) FIRED.as_ptr(),
            low = out(reg) low, high = out(reg) high, last = out(reg) last,
            out("v0") _, out("v9") _, out("v31") _,
        );
    }
    [low, high, last] == [0x5a5a_5a5a_5a5a_5a5a; 3]
}

pub fn other_core<const N: usize>(_: &'static Pool<Virt, N, 64>, core: usize) -> ! {
    check_local(core);
    // Ordering: Release, see `boot_core`.
    ARRIVED.fetch_add(1, Ordering::Release);
    loop {
        PARKERS[core].park();
        assert_eq!(Local::get(), own(core), "core {core} has another's pointer");
        TIME_THERE.store(Virt::now().as_nanos() as u64, Ordering::Relaxed);
        // The parkers order these; Relaxed.
        BALL.fetch_add(1, Ordering::Relaxed);
        PARKERS[0].unpark();
    }
}

pub fn timer_interrupt() {
    // SAFETY: all registers are declared; the caller saved what the interrupted code used.
    unsafe {
        asm!("movi v0.16b, #1", "movi v9.16b, #1", "movi v31.16b, #1", out("v0") _, out("v9") _, out("v31") _);
    }
    FIRED.fetch_add(1, Ordering::Relaxed);
    if IDLE.load(Ordering::Relaxed) {
        PARKERS[0].unpark();
    }
}
