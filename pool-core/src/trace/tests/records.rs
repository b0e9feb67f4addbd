//! Events that become records and events again.

use std::{cell::Cell, thread_local};

use super::*;
use crate::{
    Event, JobName, Observer as _, SearchEnd, WokenBy,
    trace::{TraceClock, TraceEvent, Tracer},
};

thread_local!(static NOW: Cell<u64> = const { Cell::new(0) });

struct TestClock;

impl TraceClock for TestClock {
    fn now() -> u64 {
        NOW.set(NOW.get() + 10);
        NOW.get()
    }
}

type TestTracer = Tracer<Slots<64>, TestClock>;

fn kept(events: &[Event]) -> Vec<TraceEvent> {
    NOW.set(0);
    let tracer = TestTracer::new(slots());
    for &event in events {
        tracer.observe(event, || unreachable!("the trace has a clock of its own"));
    }
    tracer.events().collect()
}

#[test]
fn events_come_back_as_they_were() {
    let woken_by = WokenBy { waker: 9, at: 55 };
    let events = [
        Event::Enter,
        Event::Idle,
        Event::Active(SearchEnd::Job),
        Event::Active(SearchEnd::Latch),
        Event::Active(SearchEnd::Operation),
        Event::Sleep,
        Event::Wake(WokenBy::UNKNOWN),
        Event::Wake(woken_by),
        Event::FruitlessWake,
        Event::GuestArrived,
        Event::GuestLeft,
        Event::Job(JobName::UNKNOWN),
        Event::JobEnd,
        Event::Post { count: 3 },
        Event::DequeFull,
        Event::Steal { victim: 65_534 },
        Event::Revocation { victim: 1 },
        Event::Moved { count: 16 },
        Event::TurnedBack,
        Event::LatchSet { waiter: 3 },
        Event::Blocked,
        Event::Unblocked,
        Event::Label(&"the label"),
        Event::LabelEnd,
        Event::Leave,
    ];
    let kept = kept(&events);
    assert_eq!(kept.len(), events.len());
    for (number, (kept, event)) in (1..).zip(kept.iter().zip(events)) {
        assert_eq!(kept.time, 10 * number);
        assert_eq!(kept.event, event);
    }
}

#[test]
fn searches_are_not_kept() {
    let events = [
        Event::Search,
        Event::StealAttempt { victim: 0 },
        Event::StealRetry { victim: 0 },
    ];
    assert_eq!(kept(&events).len(), 0);
    assert_eq!(NOW.get(), 0, "the clock was read for nothing");
}

/// The waker's clock may be ahead of the worker's.
#[test]
fn a_wake_up_from_the_future_happens_now() {
    let woken_by = WokenBy { waker: 1, at: 99 };
    let [wake] = kept(&[Event::Wake(woken_by)])[..] else {
        panic!("one event was kept");
    };
    let Event::Wake(by) = wake.event else {
        panic!("{wake:?}");
    };
    assert_eq!((wake.time, by.at), (10, 10));
}

#[cfg(feature = "trace")]
#[test]
fn jobs_have_the_names_of_their_types() {
    use crate::{Job, JobHeader, JobRef};

    #[repr(C)]
    struct Compress(JobHeader);

    // SAFETY: 1. the header comes first, and is made for it.
    unsafe impl Job for Compress {
        unsafe fn execute(_this: *const ()) {}
    }

    let job = Compress(JobHeader::new::<Compress>());
    // SAFETY: 1. it stays; 2. it holds nothing.
    let job = unsafe { JobRef::new(&raw const job) };
    // SAFETY: 1. it is not run at all.
    let name = unsafe { job.name() };
    let [kept] = kept(&[Event::Job(name)])[..] else {
        panic!("one event was kept");
    };
    let Event::Job(name) = kept.event else {
        panic!("{kept:?}");
    };
    let name = name.get().unwrap();
    assert!(name.ends_with("Compress"), "{name}");
}

/// `observe` is safe to call from two threads, although only a worker calls it. Then records may
/// mix, but what is read as a name is one.
#[test]
fn two_writers_cannot_make_up_a_name() {
    let rounds = if cfg!(miri) { 50 } else { 20_000 };
    let tracer = TestTracer::new(slots());
    let wake = Event::Wake(WokenBy { waker: 7, at: 1 });
    std::thread::scope(|threads| {
        for event in [
            Event::Job(JobName::UNKNOWN),
            wake,
            Event::Label(&"the label"),
        ] {
            let tracer = &tracer;
            threads.spawn(move || (0..rounds).for_each(|_| tracer.observe(event, || None)));
        }
        for _ in 0..rounds / 20 {
            for it in tracer.events() {
                match it.event {
                    Event::Job(name) => assert_eq!(name.get(), None),
                    Event::Label(label) => assert_eq!(*label, "the label"),
                    _ => {}
                }
            }
        }
    });
}
