//! Operations and wake-ups that any thread requests.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, mpsc},
    thread,
    vec::Vec,
};

use super::*;

/// Checks that the thread that schedules makes progress itself if no thread is active.
#[test]
fn operations_of_any_thread_run_in_an_idle_instance() {
    for participants in 0..3 {
        let progress = progress(participants);
        let _waits = progress.register();
        let tally = StdArc::new(Tally::new(0));
        progress.schedule(counting(&tally));
        assert_eq!(tally.load(SeqCst), 1, "{progress:?}");
    }
}

#[test]
fn operations_of_any_thread_wait_for_what_stands_in_the_way() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    let delay = progress.delay();
    let active = thread.activate();
    progress.schedule(counting(&tally));
    progress.schedule(counting(&tally));
    drop(delay);
    assert!(!progress.has_due(), "{progress:?}");
    drop(active);
    assert!(progress.has_due(), "the last one made progress");
    assert_eq!(tally.load(SeqCst), 0, "a drop of a guard runs none");
    assert!(thread.has_operations());
    assert_eq!(thread.wait(), 2, "a managed thread runs them as well");
    assert!(!thread.has_operations());
    assert_eq!(progress.run_reached(), 0, "once");
    assert_eq!(tally.load(SeqCst), 2);
}

#[test]
fn operations_that_a_thread_leaves_are_run_by_any() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    for _ in 0..40 {
        thread.schedule(counting(&tally));
    }
    let delay = progress.delay();
    thread.schedule(counting(&tally));
    thread.leave_operations();
    assert_eq!((thread.pending(), tally.load(SeqCst)), (0, 0));
    assert!(!progress.has_due());
    drop(delay);
    assert_eq!(progress.run_reached(), 41);
    assert_eq!(tally.load(SeqCst), 41);
    thread.leave_operations();
    assert!(!progress.state().has_wakeups(), "there is nothing to leave");
}

/// Lets more operations become due in each round than a thread runs of them. Those that the thread
/// leaves come first in the next round.
#[test]
fn operations_that_are_left_are_not_overtaken_forever() {
    const ROUNDS: usize = 10;
    const EACH: usize = 200;
    let progress = progress(2);
    let [mut runner, mut other] = [(); 2].map(|()| progress.register().unwrap());
    let run = StdArc::new([(); ROUNDS].map(|()| Tally::new(0)));
    for round in 0..ROUNDS {
        for _ in 0..EACH {
            let run = run.clone();
            other.defer(move || _ = run[round].fetch_add(1, SeqCst));
        }
        other.leave_operations();
        for _ in 0..runner.run_limit() {
            runner.take_due().unwrap().run();
        }
        runner.leave_due();
        if round > 0 {
            assert_eq!(run[round - 1].load(SeqCst), EACH, "of round {}", round - 1);
        }
    }
}

/// Checks that an operation which schedules others, due at once, does not run them within itself.
/// That would take a frame for each.
#[test]
fn operations_that_schedule_others_are_not_nested() {
    static DEPTH: Tally = Tally::new(0);
    static RUNS: Tally = Tally::new(0);
    static PROGRESS: Progress<(TestParker, &'static mut [Participant<TestParker>])> =
        Progress::new(&mut [] as &mut [_]);

    fn again(left: usize) {
        assert_eq!(DEPTH.fetch_add(1, SeqCst), 0);
        RUNS.fetch_add(1, SeqCst);
        if left > 0 {
            PROGRESS.defer(move || again(left - 1));
        }
        DEPTH.fetch_sub(1, SeqCst);
    }
    const TIMES: usize = if cfg!(miri) { 4 } else { 100 };
    PROGRESS.defer(|| again(TIMES));
    assert_eq!(RUNS.load(SeqCst), TIMES + 1);
}

#[test]
fn a_panic_of_an_operation_leaves_the_others() {
    let progress = progress(0);
    let tally = StdArc::new(Tally::new(0));
    let delay = progress.delay();
    for number in 0..6 {
        if number == 3 {
            progress.defer(|| panic!("of an operation"));
        }
        progress.schedule(counting(&tally));
    }
    drop(delay);
    let result = catch_unwind(AssertUnwindSafe(|| progress.run_reached()));
    assert!(result.is_err());
    progress.run_reached();
    assert_eq!(tally.load(SeqCst), 6);
}

#[test]
fn wake_ups_come_once_and_in_time() {
    let progress = progress(1);
    let woken = StdArc::new(Mutex::new(Vec::new()));
    let wakeup = |value, name: &'static str| {
        let woken = woken.clone();
        let wake = move || woken.lock().unwrap().push(name);
        progress.wakeup(value, Box::new(Operation::new(wake)));
    };
    let past = progress.later();
    while !progress.has_reached(past) {}
    wakeup(past, "past");
    assert_eq!(*woken.lock().unwrap(), ["past"], "at once");

    let delay = progress.delay();
    let first = progress.later();
    assert!(!progress.has_reached(first), "this makes one advance");
    let second = progress.later();
    assert_ne!(first, second);
    wakeup(second, "second");
    wakeup(first, "first");
    let next_delay = progress.delay();
    assert_eq!(*woken.lock().unwrap(), ["past"]);
    drop(delay);
    assert_eq!(*woken.lock().unwrap(), ["past", "first"]);
    drop(next_delay);
    assert_eq!(*woken.lock().unwrap(), ["past", "first", "second"]);
    assert!(!progress.state().has_wakeups());
}

/// Checks what obligation 3 of `Reclaimable::into_operation` is about.
#[test]
fn a_wake_up_at_an_earlier_moment_waits_for_no_guard() {
    let progress = progress(1);
    let tally = StdArc::new(Tally::new(0));
    let moment = progress.later();
    while !progress.has_reached(moment) {}
    let delay = progress.delay();
    progress.wakeup(moment, counting(&tally));
    assert_eq!(tally.load(SeqCst), 1);
    progress.schedule(counting(&tally));
    assert_eq!(tally.load(SeqCst), 1, "this one waits");
    drop(delay);
}

/// Checks that a managed thread is unparked at each of the values that it requested.
#[test]
fn a_managed_thread_is_woken_for_each_value() {
    struct Counts(Tally);
    impl Parker for Counts {
        fn park(&self) {
            panic!("it goes on");
        }
        fn unpark(&self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let progress: Progress<(Counts, _)> = Progress::new([Participant::new(Counts(Tally::new(0)))]);
    let woken = || progress.participants()[0].parker().0.swap(0, SeqCst);
    let thread = progress.register().unwrap();
    let delay = progress.delay();
    let first = progress.later();
    assert!(!progress.has_reached(first));
    let second = progress.later();
    thread.wakeup(second);
    thread.wakeup(first);
    thread.wakeup(second);
    let next_delay = progress.delay();
    assert_eq!(woken(), 0);
    drop(delay);
    assert_eq!(woken(), 1, "{progress:?}");
    drop(next_delay);
    assert_eq!(woken(), 1, "{progress:?}");
    thread.wakeup(second);
    assert_eq!(woken(), 1, "it is reached already");
}

/// Waits, on threads that are not managed, for what a delay of another thread delays.
#[test]
fn any_thread_waits() {
    let progress = progress(0);
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        let (waits, is_waited_for) = mpsc::channel();
        let delay = progress.delay();
        thread::scope(|scope| {
            for _ in 0..2 {
                let (progress, waits) = (&progress, waits.clone());
                scope.spawn(move || {
                    let value = progress.later();
                    waits.send(()).unwrap();
                    progress.wait_for(value, &TestParker::new());
                    assert!(is_reached(progress.current(), value.raw));
                });
            }
            is_waited_for.recv().unwrap();
            is_waited_for.recv().unwrap();
            drop(delay);
        });
    }
}

/// Checks that a thread does not leave a frame that others may use, whatever its parker does.
#[test]
fn a_parker_that_panics_does_not_leave_a_frame_that_is_used() {
    struct Panics<G>(Mutex<Option<G>>);
    impl<G> Parker for Panics<G> {
        fn park(&self) {
            self.0.lock().unwrap().take();
            panic!("of a parker");
        }
        fn unpark(&self) {}
    }
    let progress = progress(0);
    let parker = Panics(Mutex::new(Some(progress.delay())));
    let value = progress.later();
    let result = catch_unwind(AssertUnwindSafe(|| progress.wait_for(value, &parker)));
    assert!(result.is_err());
    assert!(is_reached(progress.current(), value.raw));
    progress.defer(|| ());
}
