//! The way of each core through the program.

use core::time::Duration;

use pool_spin::{CoreParker, ExitReason, Parker};

use crate::{
    Pool,
    blocking::Blocking,
    board::Board,
    console::Console,
    mode::Mode,
    restart::{Generation, finish},
    tests,
    timer::sleep_until_timer,
};

/// The number of trees that are timed.
const TREES: usize = 20;

/// Runs the program on the core that boots, as worker 0 of both pools. The other workers may arrive
/// late.
pub fn boot_core<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    blocking: &'static Blocking<B, CORES>,
) -> ! {
    Console::<B>::line(format_args!("{}: {CORES} cores", B::NAME));
    match B::mode() {
        Mode::Test => tests::run(pool),
        Mode::Idle => idle(pool),
        Mode::Cycles { rounds } => cycles(pool, rounds),
        Mode::Tree { cores } if (1..=CORES).contains(&cores) => tree(pool, cores),
        Mode::Tree { cores } => {
            Console::<B>::line(format_args!("tree{cores}: there are {CORES} cores"));
            B::exit(false);
        }
    }
    Console::<B>::line(format_args!("{}", pool.metrics()));
    #[cfg(feature = "trace")]
    crate::trace::print(pool);
    if B::mode() == Mode::Test {
        finish(pool);
        blocking.run();
    }
    Console::<B>::line(format_args!("{}: passed", B::NAME));
    B::exit(true)
}

/// Runs a worker on another core, of one pool and then of the other.
pub fn other_core<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    blocking: &'static Blocking<B, CORES>,
    worker: usize,
) -> ! {
    if let Mode::Tree { cores } = B::mode()
        && worker >= cores
    {
        sleep_forever::<B>();
    }
    loop {
        let generation = Generation::current();
        match pool.run_worker(worker) {
            Ok(ExitReason::Ended) => {
                if !generation.wait_for_next() {
                    blocking.run_worker(worker);
                }
            }
            reason => assert_eq!(reason, Ok(ExitReason::Released)),
        }
    }
}

/// Halts a core that takes no part.
pub(crate) fn sleep_forever<B: Board>() -> ! {
    let parker = B::Parker::NEW;
    loop {
        parker.park();
    }
}

/// Lets every core sleep for three seconds.
fn idle<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    let start = B::now();
    sleep_until_timer(pool, Duration::from_secs(3));
    let time = B::now() - start;
    Console::<B>::line(format_args!("idle: {} ms", time.as_millis()));
}

/// Makes every core sleep and wake `rounds` times, and prints how long that took.
fn cycles<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>, rounds: u64) {
    // In a round without the other cores, the core that boots would not sleep.
    pool.run_with(0, |_| tests::wait_for_all(pool))
        .expect("the place is free");
    let start = B::now();
    tests::park_and_unpark(pool, rounds);
    let time = B::now() - start;
    Console::<B>::line(format_args!("cycles: {rounds} in {} ms", time.as_millis()));
}

/// Runs the fork-join tree and prints its time.
fn tree<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>, cores: usize) {
    // Sleeps instead of spinning: while QEMU counts instructions, a core that spins keeps QEMU from
    // running the others.
    let all_have_come = || {
        let parts = pool.run_with(0, |_| pool.broadcast(|_| ()));
        parts.is_ok_and(|parts| parts.iter().flatten().count() == cores)
    };
    while !all_have_come() {
        sleep_until_timer(pool, Duration::from_millis(1));
    }
    let run = pool.run_with(0, |worker| {
        let start = B::now();
        let shares = [(); TREES].map(|()| tests::fork_join_tree(worker));
        (B::now() - start, shares)
    });
    let (time, trees) = run.expect("the place is free");
    let shares = core::array::from_fn::<usize, CORES, _>(|index| {
        trees.iter().map(|shares| shares[index]).sum()
    });
    let largest = shares.iter().max().expect("there are workers");
    Console::<B>::line(format_args!(
        "tree: {} us on {cores} cores, {largest} of {} leaves on the busiest",
        time.as_micros(),
        TREES * tests::LEAVES
    ));
}
