//! The group `progress`: what it costs to read what others free, to free it, and how much is held.

mod reading;
mod retiring;

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

type OurProgress<B> = Progress<(Yielding, Box<[Participant<Yielding>]>, B)>;

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
        // By threads that are not managed: delays, on a line of their own or by the shared counters.
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
        // By managed threads, which are activated each time, or stay active and say that they let go.
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
    }
    cases
}
