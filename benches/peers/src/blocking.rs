//! The group `blocking`: what a worker pays when it says that it is about to block. The closures do
//! nothing, unless the name of the case says how long they take.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use pool_std::{ThreadPool, ThreadPoolBuilder, blocking};
use protocol::{Case, Unit, time};
use tokio::{runtime, task};

use crate::{
    future::Runtime,
    pools::{Lazy, Pool, Pools},
};

/// How often a call is made that starts no thread, and one that does.
const CALLS: u32 = 1_000;
const FIRST_CALLS: u32 = 20;

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    pools
        .iter()
        .flat_map(|pools| {
            let threads = pools.threads();
            vec![
                case("section", threads, |pool: &ThreadPool| {
                    pool.install(|| per_call(|| blocking("a wait", |_| black_box(()))))
                }),
                case("in-place-alone", threads, |pool: &ThreadPool| {
                    pool.install(|| per_call(|| pool_std::block_in_place(|| black_box(()))))
                }),
                ready::<WithSpare>("in-place", threads, || ()),
                ready::<runtime::Runtime>("in-place", threads, || ()),
                ready::<WithSpare>("in-place-20us", threads, work),
                ready::<runtime::Runtime>("in-place-20us", threads, work),
                first::<WithSpare>(threads),
                first::<runtime::Runtime>(threads),
                Case::new(
                    "blocking",
                    "thread",
                    threads,
                    "std",
                    Unit::Nanoseconds,
                    || per_call(|| thread::spawn(|| black_box(())).join().expect("it ends")),
                ),
            ]
        })
        .collect()
}

/// Takes long enough for the other thread to take the place.
fn work() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(20) {}
}

/// A pool whose workers can lend their place to a thread beside them while they block.
trait InPlace: Pool {
    /// Calls the closure so many times, one after the other, on a worker. Returns how long that
    /// takes.
    fn calls(&self, count: u32, closure: fn()) -> Duration;
}

/// Our pool with one thread beside its workers.
struct WithSpare(ThreadPool);

impl Pool for WithSpare {
    const SYSTEM: &str = ThreadPool::SYSTEM;

    fn new(threads: usize) -> Self {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let pool = builder.max_blocking_threads(1).build();
        Self(pool.expect("a small pool"))
    }
}

impl InPlace for WithSpare {
    fn calls(&self, count: u32, closure: fn()) -> Duration {
        let call = || pool_std::block_in_place(closure);
        self.0.install(|| time(|| (0..count).for_each(|_| call())))
    }
}

impl InPlace for runtime::Runtime {
    fn calls(&self, count: u32, closure: fn()) -> Duration {
        self.run(async move {
            let begin = Instant::now();
            for _ in 0..count {
                task::block_in_place(closure);
                // The task may have lost its worker, and another call would do nothing.
                task::yield_now().await;
            }
            begin.elapsed()
        })
    }
}

/// Calls for which a thread is ready.
fn ready<P: InPlace>(name: &str, threads: usize, closure: fn()) -> Case {
    case(name, threads, move |pool: &P| {
        pool.calls(1, closure);
        Unit::Nanoseconds.of(pool.calls(CALLS, closure)) / f64::from(CALLS)
    })
}

/// The first call of a pool, which starts a thread.
fn first<P: InPlace>(threads: usize) -> Case {
    let run = move || {
        let first_call = |_| P::new(threads).calls(1, || ());
        let times: Duration = (0..FIRST_CALLS).map(first_call).sum();
        Unit::Nanoseconds.of(times) / f64::from(FIRST_CALLS)
    };
    let name = "in-place-first";
    Case::new("blocking", name, threads, P::SYSTEM, Unit::Nanoseconds, run)
}

fn case<P: Pool>(name: &str, threads: usize, measure: impl Fn(&P) -> f64 + 'static) -> Case {
    let pool = Lazy::<P>::new(threads);
    let run = move || measure(pool.get());
    Case::new("blocking", name, threads, P::SYSTEM, Unit::Nanoseconds, run)
}

fn per_call(mut call: impl FnMut()) -> f64 {
    let time = time(|| (0..CALLS).for_each(|_| call()));
    Unit::Nanoseconds.of(time) / f64::from(CALLS)
}
