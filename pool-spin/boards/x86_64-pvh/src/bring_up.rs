//! Proves each piece of the board, before the real program runs on it.

use core::{
    fmt::Write as _,
    hint, ptr,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use pool_core::Parker as _;
use pool_spin::{CoreLocal as _, CoreParker as _, Machine, Pool, Worker};
use program::{Board as _, Mode};

use crate::{CORES, board::Q35, console::Console, core_local};

type Local = <Q35 as Machine>::Local;
type CoreParker = <Q35 as Machine>::Parker;
type Cores = Pool<Q35, CORES, 64>;

const ROUNDS: usize = 1_000;
const DELAY: Duration = Duration::from_millis(20);

static PARKERS: [CoreParker; CORES] = [const { CoreParker::NEW }; CORES];
static ARRIVED: AtomicUsize = AtomicUsize::new(0);
static TIME: AtomicU64 = AtomicU64::new(0);
static TIMER_INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// What the timer's handler calls.
pub fn timer_interrupt() {
    // Ordering: Relaxed, a plain counter.
    TIMER_INTERRUPTS.fetch_add(1, Ordering::Relaxed);
    PARKERS[0].unpark();
}

/// The boot core's part.
pub fn boot_core(pool: &'static Cores) -> ! {
    if let Mode::Tree { .. } = Q35::mode() {
        tree(pool);
    }
    local_pointer(0);
    wait_for(CORES);
    if Q35::mode() == Mode::Idle {
        Q35::interrupt_after(Duration::from_secs(3));
        PARKERS[0].park();
        assert_eq!(TIMER_INTERRUPTS.load(Ordering::Relaxed), 1);
        Q35::exit(true);
    }
    timer();
    for (core, parker) in PARKERS.iter().enumerate().skip(1) {
        for _ in 0..ROUNDS {
            let before = Q35::now();
            parker.unpark();
            PARKERS[0].park();
            // Ordering: Relaxed, received by the token.
            let there = Duration::from_nanos(TIME.load(Ordering::Relaxed));
            assert!(before <= there && there <= Q35::now());
        }
        let _ = writeln!(Console, "ping-pong with core {core}");
    }
    Q35::exit(true)
}

/// Another core's part.
pub fn other_core(pool: &'static Cores, number: usize) -> ! {
    if let Mode::Tree { .. } = Q35::mode() {
        let _ = pool.run_worker(number);
    } else {
        local_pointer(number);
    }
    loop {
        PARKERS[number].park();
        // Ordering: Relaxed, handed over by the token.
        TIME.store(Q35::now().as_nanos() as u64, Ordering::Relaxed);
        PARKERS[0].unpark();
    }
}

/// The pointer is null, is what it is set to, and differs by core.
fn local_pointer(number: usize) {
    assert!(Local::get().is_null());
    let pointer = ptr::without_provenance(number + 1);
    // SAFETY: no pool runs here in this mode.
    unsafe { Local::set(pointer) };
    // Ordering: Relaxed, a plain counter.
    ARRIVED.fetch_add(1, Ordering::Relaxed);
    wait_for(CORES);
    assert_eq!(Local::get(), pointer);
    // One after the other, so that the lines do not mix.
    wait_for(CORES + number);
    let _ = writeln!(
        Console,
        "core {number}: APIC ID {}, {:?}",
        core_local::apic_id(),
        Q35::now()
    );
    ARRIVED.fetch_add(1, Ordering::Relaxed);
    wait_for(2 * CORES);
}

fn wait_for(count: usize) {
    // Ordering: Relaxed, a plain counter.
    while ARRIVED.load(Ordering::Relaxed) < count {
        hint::spin_loop();
    }
}

/// One interrupt after the delay, also if the core spins.
fn timer() {
    let start = Q35::now();
    Q35::interrupt_after(DELAY);
    // Ordering: Relaxed, a plain counter.
    while TIMER_INTERRUPTS.load(Ordering::Relaxed) == 0 {
        hint::spin_loop();
    }
    let took = Q35::now() - start;
    let _ = writeln!(Console, "timer of {DELAY:?} took {took:?}");
    assert!(took >= DELAY);
    while Q35::now() - start < 4 * DELAY {
        hint::spin_loop();
    }
    assert_eq!(TIMER_INTERRUPTS.load(Ordering::Relaxed), 1);
    // The handler left a token.
    PARKERS[0].park();
}

fn tree(pool: &'static Cores) -> ! {
    let start = Q35::now();
    let sum = pool.install(|core| fib(core, 25));
    let _ = writeln!(Console, "fib(25) = {sum} in {:?}", Q35::now() - start);
    Q35::exit(sum == 75_025)
}

fn fib(core: Worker<'_, Q35, CORES, 64>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = core.join(|core| fib(core, n - 1), |core| fib(core, n - 2));
    a + b
}
