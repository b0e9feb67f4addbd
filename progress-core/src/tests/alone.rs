//! What one thread sees of an instance.

use std::string::ToString;

use super::*;

#[test]
fn smoke() {
    let progress = progress(2);
    let mut thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    let mut active = thread.activate();
    let value = active.later();
    active.schedule(counting(&tally));
    assert_eq!(active.tick(), 0);
    assert!(!progress.has_reached(value), "one more than is confirmed");
    assert_eq!(active.tick() + active.tick(), 1);
    assert!(progress.has_reached(value));
    assert_eq!(tally.load(SeqCst), 1);
    assert_eq!(active.tick(), 0, "it is run once");
}

#[test]
fn more_threads_than_lines_are_refused() {
    let progress = progress(1);
    let first = progress.register().unwrap();
    let error = progress.register().unwrap_err();
    assert_eq!(error, TooManyParticipants { capacity: 1 });
    assert_eq!(
        error.to_string(),
        "no room for another participant (capacity: 1)"
    );
    assert_eq!(progress.register_reader().unwrap_err(), error);
    drop(first);
    assert!(progress.register().is_ok(), "the line is free again");
    assert!(super::progress(0).register().is_err());
}

#[test]
#[should_panic(expected = "another instance")]
fn a_value_of_another_instance_is_refused() {
    let (one, other) = (progress(1), progress(1));
    let value = one.later();
    other.has_reached(value);
}

#[test]
fn values_wrap_around() {
    for start in (0..8).map(before_the_end) {
        let progress = starting_at(start, 2);
        let mut thread = progress.register().unwrap();
        for _ in 0..6 {
            let mut active = thread.activate();
            let (own, any) = (active.later(), progress.later());
            assert!(!progress.has_reached(own) && !progress.has_reached(any));
            for _ in 0..4 {
                assert_ne!(active.thread.confirmed(), moment::WAITING, "from {start}");
                active.tick();
            }
            assert!(progress.has_reached(own) && progress.has_reached(any));
        }
    }
}

/// Checks what the page of `Moment` says, with the width of this target.
#[test]
fn a_moment_is_reached_for_half_of_all_values() {
    let half = (RawWord::MAX / 2 + 1) / moment::STEP;
    for current in (0..4).map(before_the_end) {
        let reached = |ago| {
            let value = current.wrapping_sub(moment::STEP.wrapping_mul(ago));
            moment::is_reached(current, value)
        };
        assert!([0, 1, half - 1].into_iter().all(reached), "at {current}");
        assert!(![half, half + 1, 2 * half - 1].into_iter().any(reached));
        assert!(reached(2 * half), "all values have passed");
    }
    let half_of_32_bits = RawWord::from(u32::MAX / 2 + 1) / moment::STEP;
    assert_eq!(half_of_32_bits, 1 << 28, "as the page says");
}

#[test]
fn an_active_thread_stops_the_second_advance() {
    let progress = progress(2);
    let (mut reader, mut writer) = (progress.register().unwrap(), progress.register().unwrap());
    let mut reading = reader.activate();
    let mut writing = writer.activate();
    let value = progress.later();
    for _ in 0..5 {
        writing.tick();
    }
    assert!(!progress.has_reached(value));
    assert!(!reading.update(), "the other one leads");
    for _ in 0..5 {
        writing.tick();
    }
    assert!(progress.has_reached(value), "one update was enough");
}

#[test]
fn a_delay_stops_the_second_advance() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    let mut active = thread.activate();
    let delay = progress.delay();
    let value = progress.later();
    let before = progress.current();
    for _ in 0..5 {
        active.tick();
    }
    assert_eq!(progress.current(), moment::next(before));
    assert!(!progress.has_reached(value));
    let later_delay = progress.delay();
    drop(delay);
    active.tick();
    assert!(progress.has_reached(value), "a later delay does not count");
    drop(later_delay);
}

/// Checks that an advance looks at all counters of delays.
#[test]
fn delays_on_many_stacks_stop_the_second_advance() {
    const THREADS: usize = if cfg!(miri) { 4 } else { 40 };
    let progress = progress(0);
    let meeting = std::sync::Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        let mut ends = std::vec::Vec::new();
        for _ in 0..THREADS {
            let (end, wait) = std::sync::mpsc::channel::<()>();
            let (progress, meeting) = (&progress, &meeting);
            scope.spawn(move || {
                let delay = progress.delay();
                meeting.wait();
                wait.recv().unwrap();
                drop(delay);
                meeting.wait();
                meeting.wait();
            });
            ends.push(end);
        }
        meeting.wait();
        let value = progress.later();
        for end in ends {
            assert!(!progress.has_reached(value));
            end.send(()).unwrap();
        }
        meeting.wait();
        assert!(progress.has_reached(value), "{progress:?}");
        meeting.wait();
    });
}

#[test]
fn a_reader_stops_the_second_advance() {
    let progress = progress(2);
    let mut thread = progress.register().unwrap();
    let mut active = thread.activate();
    let mut reader = progress.register_reader().unwrap();
    let reading = reader.delay();
    let value = progress.later();
    for _ in 0..5 {
        active.tick();
    }
    assert!(!progress.has_reached(value));
    drop(reading);
    active.tick();
    assert!(progress.has_reached(value));
    let reading = reader.delay();
    let value = progress.later();
    for _ in 0..5 {
        active.tick();
    }
    assert!(!progress.has_reached(value), "again");
    core::mem::forget(reading);
    drop(reader);
    active.tick();
    assert!(progress.has_reached(value), "nothing outlives a reader");
}

#[test]
fn blocking_passes_readers_by() {
    let progress = progress(2);
    let mut reader = progress.register_reader().unwrap();
    let reading = reader.delay();
    let mut thread = progress.register().unwrap();
    let blocked = thread.block();
    drop(reading);
    drop(reader.delay());
    drop(blocked);
}

/// Checks that what the leader held before an advance may be freed after the next ones, although it
/// has not called `update` again.
#[test]
fn an_advance_of_the_leader_counts_as_an_update() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    let mut active = thread.activate();
    assert!(!active.update(), "it leads");
    let moment = active.later();
    let advances = (0..9).take_while(|_| !progress.has_reached(moment) && active.leader_update());
    assert!((2..9).contains(&advances.count()), "{progress:?}");
    assert!(progress.has_reached(moment));
}

#[test]
fn the_end_of_a_delay_makes_progress_for_a_thread_that_waits() {
    let progress = progress(1);
    let thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    let mut thread = thread;
    let delay = progress.delay();
    thread.schedule(counting(&tally));
    assert_eq!(thread.run_reached(), 0, "this gives it its value");
    thread.wakeup(progress.later());
    assert_eq!(thread.run_reached(), 0, "{progress:?}");
    drop(delay);
    assert_eq!(thread.run_reached(), 1, "{progress:?}");
    // The parker has its token: this does not block.
    thread.participant().parker().park();
}

#[test]
fn the_end_of_a_reader_makes_progress_for_a_thread_that_waits() {
    let progress = progress(2);
    let thread = progress.register().unwrap();
    let mut reader = progress.register_reader().unwrap();
    let (woken, scheduled) = (StdArc::new(Tally::new(0)), StdArc::new(Tally::new(0)));
    let reading = reader.delay();
    thread.wakeup(progress.later());
    progress.wakeup(progress.later(), counting(&woken));
    progress.schedule(counting(&scheduled));
    assert_eq!(woken.load(SeqCst), 0, "{progress:?}");
    drop(reading);
    assert_eq!(woken.load(SeqCst), 1, "{progress:?}");
    assert_eq!(scheduled.load(SeqCst), 0, "the reader may hold locks");
    // The parker has its token: this does not block.
    thread.participant().parker().park();
    assert_eq!(progress.run_reached(), 1);
}

#[test]
fn leadership_is_handed_back_by_one_who_waits() {
    let progress = progress(2);
    let (mut one, mut other) = (progress.register().unwrap(), progress.register().unwrap());
    let mut first = one.activate();
    assert!(!first.update(), "no thread has asked for progress");
    let _value = progress.later();
    assert!(first.update(), "it led already");
    let mut second = other.activate();
    assert!(!second.update(), "there is a leader");
    assert!(!second.leader_update(), "only the leader can");
    drop(first);
    assert!(second.update());
    assert!(second.leader_update());
}

/// A parker for scenes in which no thread may park.
struct NeverParks;

impl Parker for NeverParks {
    fn park(&self) {
        panic!("there is nothing to park for");
    }

    fn unpark(&self) {}
}

/// Reproduces a bug: the thread parked with nothing pending, and nothing would have unparked it.
/// Another thread had adopted what was left behind, and `wait_for` had consumed the token.
#[test]
fn waiting_with_nothing_pending_returns() {
    let progress: Progress<(NeverParks, _)> =
        Progress::new([const { Participant::new(NeverParks) }; 3]);
    let tally = StdArc::new(Tally::new(0));
    let mut gone = progress.register().unwrap();
    let mut adopts = progress.register().unwrap();
    let mut waits = progress.register().unwrap();
    gone.schedule(counting(&tally));
    drop(gone);
    assert_eq!(adopts.wait(), 1);
    assert_eq!(waits.wait(), 0);
    assert_eq!(tally.load(SeqCst), 1);
}

/// Checks that a thread that polls makes progress when no managed thread is active.
#[test]
fn a_value_that_any_thread_polls_is_reached_in_an_idle_instance() {
    let progress = progress(2);
    let _waits = progress.register().unwrap();
    let value = progress.later();
    assert!((0..3).any(|_| progress.has_reached(value)), "{progress:?}");
    let delay = progress.delay();
    let value = progress.later();
    assert!(!(0..9).any(|_| progress.has_reached(value)));
    drop(delay);
    assert!((0..3).any(|_| progress.has_reached(value)));
}

#[test]
fn a_dump_tells_everything() {
    let progress = progress(3);
    let mut one = progress.register().unwrap();
    let _other = progress.register().unwrap();
    let mut active = one.activate();
    let _delay = progress.delay();
    assert!(!active.update());
    let text = std::format!("{progress:?} {active:?}");
    for part in [
        "current: 0",
        "is_led: true",
        "is_blocked: false",
        "Counts { current: 1, awaited: 0 }",
        "participants: [confirmed 1, waiting, free]",
        "leads: true",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
