//! Each piece of the board by itself, until the program takes over.

use core::{
    fmt::{self, Write},
    hint::spin_loop,
    ptr,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
    time::Duration,
};

use pool_spin::{CoreLocal, CoreParker, Ipi as _, Machine, Pool, Worker};
use program::{Board, Mode};

use crate::{board::Mps2An521, ipi::Mhu};

type Parker = <Mps2An521 as Machine>::Parker;
type Local = <Mps2An521 as Machine>::Local;

/// How often the cores unpark each other: with one of a thousand lost, that shows.
const ROUNDS: u32 = 2000;

/// The cores' parkers.
static PARKERS: [Parker; 2] = [const { Parker::NEW }; 2];
/// What one core saw on the clock before it unparked the other.
static SEEN: AtomicU32 = AtomicU32::new(0);
/// How often the timer has interrupted.
static TIMES: AtomicUsize = AtomicUsize::new(0);

/// The first core.
pub fn boot_core(pool: &'static Pool<Mps2An521, 2, 64>) -> ! {
    let mode = Mps2An521::mode();
    print(format_args!(
        "{}: {mode:?}, a pool of {} takes {} bytes\n",
        Mps2An521::NAME,
        pool.num_workers(),
        size_of_val(pool),
    ));
    let here = 0_u8;
    local_is_own(&raw const here);
    Mhu::send(0); // The handler clears it, or it would run again and again.
    let (delay, rounds) = match mode {
        Mode::Idle => (Duration::from_secs(3), 0),
        _ => (Duration::from_millis(20), ROUNDS),
    };
    let before = Mps2An521::now();
    Mps2An521::interrupt_after(delay);
    park(&PARKERS[0]);
    let slept = Mps2An521::now() - before;
    assert!(slept >= delay && slept < delay * 2 + Duration::from_secs(1));
    for _ in 0..rounds {
        look_at_clock();
        unpark(&PARKERS[1]);
        park(&PARKERS[0]);
    }
    // Ordering: Relaxed, the handler runs on this core.
    assert_eq!(TIMES.load(Ordering::Relaxed), 1, "once");
    let took = Mps2An521::now() - before - slept;
    assert!(Local::get() == (&raw const here).cast());
    // SAFETY: 1. nobody follows it.
    unsafe { Local::set(ptr::null()) };
    let sum = pool.install(|core| fib(&core, 18));
    assert_eq!(sum, 2584);
    pool.end();
    print(format_args!(
        "slept {slept:?}; {rounds} rounds in {took:?}\n"
    ));
    Mps2An521::exit(!matches!(mode, Mode::Tree { cores } if cores > 2))
}

/// The second core.
pub fn other_core(pool: &'static Pool<Mps2An521, 2, 64>, worker: usize) -> ! {
    let here = 0_u8;
    local_is_own(&raw const here);
    print(format_args!("worker {worker} of {}\n", pool.num_workers()));
    let rounds = if matches!(Mps2An521::mode(), Mode::Idle) {
        0
    } else {
        ROUNDS
    };
    for _ in 0..rounds {
        park(&PARKERS[1]);
        look_at_clock();
        assert!(Local::get() == (&raw const here).cast());
        unpark(&PARKERS[0]);
    }
    // SAFETY: 1. nobody follows it.
    unsafe { Local::set(ptr::null()) };
    pool.run_worker(worker).expect("this is the worker");
    loop {
        park(&PARKERS[1]);
    }
}

fn fib(core: &Worker<'_, Mps2An521, 2, 64>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = core.join(|core| fib(&core, n - 1), |core| fib(&core, n - 2));
    a + b
}

/// The timer's handler.
pub fn timer_interrupt() {
    // Ordering: Relaxed, a count.
    TIMES.fetch_add(1, Ordering::Relaxed);
    unpark(&PARKERS[0]);
}

fn park(parker: &impl CoreParker) {
    parker.park();
}

fn unpark(parker: &impl CoreParker) {
    parker.unpark();
}

/// The core-local pointer is null at first, and then this.
fn local_is_own(value: *const u8) {
    static READY: AtomicUsize = AtomicUsize::new(0);

    assert!(Local::get().is_null());
    // SAFETY: 1. no pool is used yet that would follow it.
    unsafe { Local::set(value.cast()) };
    // Ordering: SeqCst, both have set their pointers before either looks.
    READY.fetch_add(1, Ordering::SeqCst);
    while READY.load(Ordering::SeqCst) < 2 {
        spin_loop();
    }
    assert!(Local::get() == value.cast());
}

/// The clock shows no less than the other core saw.
fn look_at_clock() {
    let now = Mps2An521::now().as_micros() as u32;
    // Ordering: Relaxed, the parkers hand it over.
    let seen = SEEN.swap(now, Ordering::Relaxed);
    assert!(now >= seen, "{now} after {seen}");
}

fn print(text: fmt::Arguments<'_>) {
    struct Console;
    impl Write for Console {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            Mps2An521::print(text);
            Ok(())
        }
    }
    Console.write_fmt(text).expect("printing cannot fail");
}
