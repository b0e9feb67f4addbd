//! The group `wake`: how soon a pool begins with a job, asleep or not.

use std::{
    hint::black_box,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use protocol::{Case, Unit, quantile, time};

use crate::{
    computation::spin,
    fork_join::{ForkJoin, region},
    pools::Pools,
    spawning::{Spawning, on_both},
};

/// How often a case does it. Of the cold ones, the result is the median.
const COLD_SAMPLES: usize = 40;
const HOT_CALLS: u32 = 2000;
/// In which the workers go to sleep.
const NAP: Duration = Duration::from_millis(2);

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    let on_both = |name, ours, rayon| on_both("wake", name, Unit::Microseconds, pools, ours, rayon);
    let mut cases = on_both("spawn-cold", spawn_cold, spawn_cold);
    cases.extend(pools.iter().flat_map(|pools| raw_futex(pools.threads())));
    cases.extend(on_both("install-cold", install_cold, install_cold));
    cases.extend(on_both("install-hot", install_hot, install_hot));
    cases.extend(on_both("region-hot", region_hot, region_hot));
    cases.extend(on_both("start-up", start_up, start_up));
    cases.extend(pools.iter().map(|pools| start_up_unused(pools.threads())));
    let cases = cases.into_iter().map(|case| case.repetitions(10));
    cases.collect()
}

/// Until the job begins.
fn spawn_cold<P: Spawning>(pool: &P) -> f64 {
    let (sender, beginnings) = mpsc::channel();
    median_after_naps(|| {
        let sender = sender.clone();
        let start = Instant::now();
        pool.spawn(move || sender.send(Instant::now()).expect("received below"));
        let begun: Instant = beginnings.recv().expect("sent above");
        begun - start
    })
}

/// Until the call returns.
fn install_cold<P: Spawning>(pool: &P) -> f64 {
    median_after_naps(|| time(|| assert_eq!(pool.install(|| black_box(1)), 1)))
}

/// One call after the other.
fn install_hot<P: Spawning>(pool: &P) -> f64 {
    let time = time(|| {
        for call in 0..HOT_CALLS {
            assert_eq!(pool.install(|| black_box(call)), call);
        }
    });
    Unit::Microseconds.of(time) / f64::from(HOT_CALLS)
}

/// A parallel region, and another one after a short pause, in which the caller computes. Without
/// the pause.
fn region_hot<P: Spawning + ForkJoin>(pool: &P) -> f64 {
    const JOBS: usize = 16;
    const JOB: Duration = Duration::from_micros(4);
    const PAUSE: Duration = Duration::from_micros(15);

    let time = time(|| {
        for _ in 0..HOT_CALLS {
            pool.call(|context| region::<P>(context, JOBS, JOB));
            spin(PAUSE);
        }
    });
    Unit::Microseconds.of(time / HOT_CALLS - PAUSE)
}

/// Builds a pool with as many threads as this one, until a first call returns.
fn start_up<P: Spawning>(pool: &P) -> f64 {
    let threads = pool.broadcast(|| ());
    median_of_pools(|| {
        let pool = P::new(threads);
        pool.install(|| black_box(1));
        pool
    })
}

/// Builds a pool that is not used: one whose threads start when it is.
fn start_up_unused(threads: usize) -> Case {
    let run = move || {
        median_of_pools(|| {
            let builder = pool_std::ThreadPoolBuilder::new().num_threads(threads);
            builder.lazy_threads().build().expect("a small pool")
        })
    };
    let unit = Unit::Microseconds;
    Case::new("wake", "start-up", threads, "ours-unused", unit, run)
}

/// In microseconds. The ends of the pools do not count.
fn median_of_pools<P>(mut build: impl FnMut() -> P) -> f64 {
    median_after_naps(|| {
        let mut pool = None;
        time(|| pool = Some(build()))
    })
}

/// How often the thread of `raw-futex-yields` yields before it sleeps, as often as a worker whose
/// rounds do not pay off.
const YIELDS: u32 = 4;

/// What waking a thread costs without any pool, to compare with those of so many threads. Linux
/// runs a thread that has just yielded later than one that has not.
fn raw_futex(threads: usize) -> [Case; 2] {
    [("raw-futex", 0), ("raw-futex-yields", YIELDS)].map(|(system, yields)| {
        let case = |run| {
            let unit = Unit::Microseconds;
            Case::new("wake", "spawn-cold", threads, system, unit, run)
        };
        #[cfg(target_os = "linux")]
        {
            let sleeper = std::cell::LazyCell::new(move || crate::futex::Timed::start(yields));
            case(move || median_after_naps(|| sleeper.wake()))
        }
        #[cfg(not(target_os = "linux"))]
        {
            case(move || unreachable!("no caller asks for what is missing: {yields}"))
                .missing("no futex")
        }
    })
}

/// In microseconds.
fn median_after_naps(mut sample: impl FnMut() -> Duration) -> f64 {
    let samples = (0..COLD_SAMPLES).map(|_| {
        thread::sleep(NAP);
        Unit::Microseconds.of(sample())
    });
    quantile(samples.collect(), 0.5)
}
