use super::{clock, names::short_path, rings::default_events};
use pool_core::trace::TraceClock as _;
use std::{
    thread,
    time::{Duration, Instant},
};

#[test]
fn a_job_has_the_name_of_the_programs_closure() {
    let join = "pool_core::join::JoinJob<pool_std::platform::Std, \
                pool_std::api::current_pool::CurrentPool::join<sums::add::{{closure}}, \
                sums::add::{{closure}}, u64, u64>::{{closure}}>";
    assert_eq!(short_path(join), "sums::add::{{closure}}");
    let install = "pool_core::job::stack::StackJob<pool_core::latch::BlockingLatch<Std>, \
                   pool_core::registry::Registry<Std>::in_worker_cold<(), (main::run, u8)>>";
    assert_eq!(short_path(install), "main::run");
    let own = "pool_core::fifo::JobFifo<pool_std::platform::Std>";
    assert_eq!(short_path(own), "pool_core::fifo::JobFifo");
    assert_eq!(short_path("Probe"), "Probe");
}

/// Many workers keep fewer events each, so that the trace fits into memory.
#[test]
fn a_large_pool_keeps_fewer_events() {
    let events = [1, 64, 65, 256, 65_535].map(default_events);
    assert_eq!(events, [65_535, 65_535, 64_526, 16_383, 1_023]);
}

/// The clock of a trace and that of the system go at the same rate.
#[test]
fn ticks_become_times() {
    clock::begin();
    let (first, begin) = (clock::Ticks::now(), Instant::now());
    thread::sleep(Duration::from_millis(20));
    let (last, length) = (clock::Ticks::now(), begin.elapsed());
    let scale = clock::Scale::now();
    let measured = scale.time(last) - scale.time(first);
    let difference = measured.abs_diff(length);
    // A thread may lose its processor between the two looks.
    assert!(difference < length / 2, "{measured:?} for {length:?}");
}
