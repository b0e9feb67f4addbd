use super::{clock, names::short_path, rings::default_events};
use pool_core::trace::TraceClock as _;
use std::{
    hint,
    time::{Duration, Instant},
};

#[test]
fn a_job_has_the_name_of_the_programs_closure() {
    let join = "pool_core::join::JoinJob<pool_std::platform::Std, \
                pool_std::api::current_pool::CurrentPool::join<sums::add::{{closure}}, \
                sums::add::{{closure}}, u64, u64>::{{closure}}>";
    assert_eq!(short_path(join), "sums::add::{{closure}}");
    let install = "pool_std::thread_pool::call::<impl pool_std::thread_pool::ThreadPool>\
                   ::install<main::run, u8>::{{closure}}";
    assert_eq!(short_path(install), "main::run");
    let own = "pool_core::fifo::JobFifo<pool_std::platform::Std>";
    assert_eq!(short_path(own), "pool_core::fifo::JobFifo");
    assert_eq!(short_path("Probe"), "Probe");
}

/// A worker of a large pool keeps fewer events, so that the trace fits into memory.
#[test]
fn a_large_pool_keeps_fewer_events() {
    let events = [1, 64, 65, 256, 65_535].map(default_events);
    assert_eq!(events, [65_535, 65_535, 64_526, 16_383, 1_023]);
}

/// The clock of a trace and that of the system go at the same rate. The thread may lose its
/// processor at any moment, so the ticks are only known to be between two looks at the other clock.
#[test]
fn ticks_become_times() {
    clock::begin();
    let outer = Instant::now();
    let first = clock::Ticks::now();
    let inner = Instant::now();
    while inner.elapsed() < Duration::from_millis(2) {
        hint::spin_loop();
    }
    let at_least = inner.elapsed();
    let last = clock::Ticks::now();
    let at_most = outer.elapsed();
    let scale = clock::Scale::now();
    let measured = scale.time(last) - scale.time(first);
    let rounding = at_most / 20;
    assert!(
        measured + rounding >= at_least,
        "{measured:?} for {at_least:?}"
    );
    assert!(
        measured <= at_most + rounding,
        "{measured:?} for {at_most:?}"
    );
}
