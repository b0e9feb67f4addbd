//! The group `progress`: what it costs to read what others free, to free it, and how much is held;
//! what it costs to update more often, and what it gains; a load with reference counts and without
//! them.

mod cell;
mod interval;
mod reading;
mod retiring;
mod tpcb;

use progress_core::{AsymmetricFence, Participant, Progress};
use protocol::{Case, Unit};
use sleep_core::Parker;

use reading::reading;
use retiring::{held, rate};

/// Parks by yielding: no thread here waits long.
struct Yielding;

impl Parker for Yielding {
    fn park(&self) {
        std::thread::yield_now();
    }

    fn unpark(&self) {}
}

type OursIn<B> = (Yielding, Box<[Participant<Yielding>]>, B);
type OurProgress<B> = Progress<OursIn<B>>;

fn our_progress<B: AsymmetricFence>(threads: usize) -> OurProgress<B> {
    Progress::new((0..threads).map(|_| Participant::new(Yielding)).collect())
}

pub(crate) fn cases(threads: &[usize]) -> Vec<Case> {
    use pool_std::ProcessBarrier as System;
    use progress_core::FullFences;

    let mut cases = Vec::new();
    for &threads in threads {
        let mut read = |name: &str, system: &str, run: fn(usize) -> f64| {
            let run = move || run(threads);
            cases.push(Case::new(
                "progress",
                name,
                threads,
                system,
                Unit::Nanoseconds,
                run,
            ));
        };
        // By threads that are not managed: delays, on a line of their own or by the shared
        // counters.
        read("pin", "ours", reading::<reading::Reading<System>>);
        read(
            "pin",
            "ours-fenced",
            reading::<reading::Reading<FullFences>>,
        );
        read("pin", "crossbeam-epoch", reading::<reading::Pinning>);
        read("pin", "arc", reading::<reading::Counting>);
        read("delay", "ours", reading::<reading::Delaying<System>>);
        read(
            "delay",
            "ours-fenced",
            reading::<reading::Delaying<FullFences>>,
        );
        read("delay", "crossbeam-epoch", reading::<reading::Pinning>);
        // By managed threads, which are activated each time, or stay active and say that they let
        // go.
        read("activate", "ours", reading::<reading::Activating<System>>);
        read(
            "activate",
            "ours-fenced",
            reading::<reading::Activating<FullFences>>,
        );
        read("activate", "crossbeam-epoch", reading::<reading::Pinning>);
        read("update", "ours", reading::<reading::Updating<System>>);
        read(
            "update",
            "ours-fenced",
            reading::<reading::Updating<FullFences>>,
        );
        read("update", "crossbeam-epoch", reading::<reading::Pinning>);
        // A value that is replaced as a whole.
        read("cell", "ours", reading::<cell::Ours>);
        read("cell", "ours-in-jobs", reading::<cell::OursInJobs>);
        read("cell", "arc-swap", reading::<cell::Swapped>);
        read("cell", "crossbeam-epoch", reading::<cell::Epoch>);
        read("cell", "rw-lock", reading::<cell::Locked>);

        let mut retire = |name: &str, system: &str, unit: Unit, run: fn(usize) -> f64| {
            let run = move || run(threads);
            cases.push(Case::new("progress", name, threads, system, unit, run));
        };
        retire(
            "retire",
            "ours",
            Unit::PerSecond,
            rate::<retiring::Ours<System>>,
        );
        retire(
            "retire",
            "ours-fenced",
            Unit::PerSecond,
            rate::<retiring::Ours<FullFences>>,
        );
        retire(
            "retire",
            "crossbeam-epoch",
            Unit::PerSecond,
            rate::<retiring::Epoch>,
        );
        retire("held", "ours", Unit::Bytes, held::<retiring::Ours<System>>);
        retire(
            "held",
            "ours-fenced",
            Unit::Bytes,
            held::<retiring::Ours<FullFences>>,
        );
        retire(
            "held",
            "crossbeam-epoch",
            Unit::Bytes,
            held::<retiring::Epoch>,
        );

        cases.extend(interval_cases(threads));
        cases.extend(tpcb_cases(threads));
    }
    cases
}

/// How often to update: what a read costs, and how long it takes until something is freed, for each
/// interval. The number of the system is that of the reads between two updates.
fn interval_cases(threads: usize) -> Vec<Case> {
    use pool_std::ProcessBarrier as System;

    type Measure = fn(usize, u32) -> f64;
    let costs: [(&str, Unit, Measure); 2] = [
        ("interval-cost", Unit::Nanoseconds, interval::cost::<System>),
        (
            "interval-delay",
            Unit::Microseconds,
            interval::delay::<System>,
        ),
    ];
    let mut cases = Vec::new();
    for (name, unit, measure) in costs {
        for interval in interval::INTERVALS {
            let system = format!("ours-{interval}");
            let run = move || measure(threads, interval);
            cases.push(Case::new("progress", name, threads, &system, unit, run));
        }
    }
    cases
}

/// A load like TPC-B. The number of the system is that of the transactions between two updates, if
/// not one.
fn tpcb_cases(threads: usize) -> [Case; 5] {
    use pool_std::ProcessBarrier as System;
    use progress_core::FullFences;

    let case = |system: &str, run: fn(usize) -> f64| {
        let run = move || run(threads);
        Case::new("progress", "tpcb", threads, system, Unit::PerSecond, run)
    };
    [
        case("ours", tpcb::rate::<tpcb::Ours<System>>),
        case("ours-16", tpcb::rate::<tpcb::Ours<System, 16>>),
        case("ours-fenced", tpcb::rate::<tpcb::Ours<FullFences>>),
        case("counts", tpcb::rate::<tpcb::Counts>),
        case("crossbeam-epoch", tpcb::rate::<tpcb::Epoch>),
    ]
}
