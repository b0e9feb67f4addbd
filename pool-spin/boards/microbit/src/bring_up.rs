//! Each piece of the board by itself, until the program takes over.

use core::{
    fmt::{self, Write},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use pool_spin::{CoreLocal, CoreParker, Ipi as _, Machine, Pool};
use program::{Board, Mode};

use crate::{board::Microbit, ipi::OwnInterrupt};

type Parker = <Microbit as Machine>::Parker;
type Local = <Microbit as Machine>::Local;

/// How often the handler unparks.
const ROUNDS: u32 = 2000;

static PARKER: Parker = Parker::NEW;
/// How often the timer has interrupted.
static TIMES: AtomicU32 = AtomicU32::new(0);

/// The only core.
pub fn boot_core(pool: &'static Pool<Microbit, 1, 64>) -> ! {
    let mode = Microbit::mode();
    print(format_args!(
        "{}: {mode:?}, a pool of {} takes {} bytes\n",
        Microbit::NAME,
        pool.num_workers(),
        size_of_val(pool),
    ));
    let here = 0_u8;
    assert!(Local::get().is_null());
    // SAFETY: 1. no pool is used yet that would follow it.
    unsafe { Local::set((&raw const here).cast()) };
    OwnInterrupt::send(0); // The handler clears it, or it would run again and again.
    let (delay, rounds) = match mode {
        Mode::Idle => (Duration::from_secs(3), 0),
        _ => (Duration::from_millis(20), ROUNDS),
    };
    let before = Microbit::now();
    sleep(delay);
    let slept = Microbit::now() - before;
    assert!(slept < delay * 2 + Duration::from_secs(1));
    for round in 0..rounds {
        sleep(Duration::from_micros((round % 200).into()));
    }
    // Ordering: Relaxed, the handler runs on this core.
    assert_eq!(TIMES.load(Ordering::Relaxed), rounds + 1, "once each");
    let took = Microbit::now() - before - slept;
    assert!(Local::get() == (&raw const here).cast());
    // SAFETY: 1. nobody follows it.
    unsafe { Local::set(ptr::null()) };
    pool.end();
    pool.run_worker(0).expect("this is the worker");
    print(format_args!(
        "slept {slept:?}; {rounds} rounds in {took:?}\n"
    ));
    Microbit::exit(!matches!(mode, Mode::Tree { cores } if cores > 1))
}

/// The timer's handler.
pub fn timer_interrupt() {
    // Ordering: Relaxed, nobody else writes.
    TIMES.store(TIMES.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    unpark(&PARKER);
}

/// Parks until the timer's handler unparks.
fn sleep(delay: Duration) {
    let before = Microbit::now();
    Microbit::interrupt_after(delay);
    park(&PARKER);
    assert!(Microbit::now() - before >= delay);
}

fn park(parker: &impl CoreParker) {
    parker.park();
}

fn unpark(parker: &impl CoreParker) {
    parker.unpark();
}

fn print(text: fmt::Arguments<'_>) {
    struct Console;
    impl Write for Console {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            Microbit::print(text);
            Ok(())
        }
    }
    Console.write_fmt(text).expect("printing cannot fail");
}
