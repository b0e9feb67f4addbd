//! The steps of a parker one by one, in one thread that plays the worker, a waker and the
//! completer.

use std::{
    io::{PipeWriter, Write as _, pipe},
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::{file::File, kernel, operation::Operation, request::Request};

/// A multiple of what the slowest machine needs. Only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(60);

/// A parker whose ring is the only one, or none where the kernel has none.
fn parker() -> Option<RingParker> {
    kernel::has_rings().then(|| RingParker::new(Rings::new(1).unwrap(), 0))
}

/// Plays a worker that is interrupted before it acquires the ring's lock. A waker writes its hint,
/// and the completer takes that out. Then the worker must not wait for it.
#[test]
fn a_hint_that_another_thread_has_taken_ends_the_sleep() {
    let Some(parker) = parker() else { return };
    let pipe = parker.rings.hint_pipe(0);
    // This leaves a read in flight.
    parker.rings.sleep(0, || false);
    for _ in 0..3 {
        assert_eq!(parker.state.swap(WAITING, Ordering::Relaxed), EMPTY);
        parker.unpark();
        while pipe.is_unread() {
            let completed = parker.rings.reap(0);
            assert!(completed.is_empty(), "no operation is in flight");
            // The kernel completes the read on the thread that has submitted it: this one.
            std::thread::yield_now();
        }
        parker.wait();
        assert_eq!(parker.state.swap(EMPTY, Ordering::Relaxed), TOKEN);
    }
}

/// Plays a worker that finds a hint before its token, and falls asleep again.
#[test]
fn a_hint_that_was_taken_early_leaves_the_token() {
    let Some(parker) = parker() else { return };
    let pipe = parker.rings.hint_pipe(0);
    for number in 0..3 {
        parker.send(Hint::Worker(number)).unwrap();
        take_hints(&parker);
        parker.park();
        assert_eq!(parker.receive(), Some(Hint::Worker(number)));
        // In the middle of the call, so that the worker waits when the token comes.
        let interrupt = || {
            take_hints(&parker);
            assert_eq!(parker.state.swap(WAITING, Ordering::Relaxed), EMPTY);
        };
        parker
            .send_and_interrupt(Hint::Worker(number), interrupt)
            .unwrap();
        assert!(pipe.is_unread(), "what ends the wait");
        parker.wait();
        assert_eq!(parker.state.swap(EMPTY, Ordering::Relaxed), TOKEN);
        take_hints(&parker);
        parker.receive();
    }
}

/// Waits for a fact, until the limit.
fn wait_for(fact: impl Fn() -> bool) {
    let begin = Instant::now();
    while !fact() && begin.elapsed() < LIMIT {
        thread::yield_now();
    }
}

/// Parks as a worker does, until an operation has finished. Another thread calls `action` when the
/// worker waits, and lets it go on if the test fails.
#[track_caller]
fn expect_to_wake(parker: &RingParker, read: &Operation, action: impl FnOnce() + Send) {
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            wait_for(|| parker.state.load(Ordering::Relaxed) == WAITING || read.is_finished());
            action();
            wait_for(|| read.is_finished());
            is_over.store(true, Ordering::Relaxed);
            parker.unpark();
        });
        while !is_over.load(Ordering::Relaxed) {
            parker.park();
        }
    });
    let (_, result) = read
        .take()
        .expect("the worker sleeps on, or the completion is lost");
    assert_eq!(result, Ok(3));
}

fn silent_read() -> (Arc<Operation>, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    let request = Request::read(&File::new(reader).unwrap(), vec![0; 8], None);
    (Operation::new(None, request), writer)
}

/// There is no completer, no thread unparks the worker, and its pipe stays empty.
#[test]
fn a_worker_wakes_by_its_own_completion_alone() {
    let Some(parker) = parker() else { return };
    for _ in 0..10 {
        let (read, mut writer) = silent_read();
        parker.rings.submit(Some(0), read.clone());
        expect_to_wake(&parker, &read, || writer.write_all(b"abc").unwrap());
    }
}

/// The worker finds its token, with a hint, and does not wait. There is no completer.
#[test]
fn a_worker_that_need_not_wait_loses_no_completion() {
    let Some(parker) = parker() else { return };
    for _ in 0..10 {
        let (read, mut writer) = silent_read();
        parker.rings.submit(Some(0), read.clone());
        writer.write_all(b"abc").unwrap();
        parker.send(Hint::Injector).unwrap();
        parker.park();
        expect_to_wake(&parker, &read, || ());
    }
}

/// Takes out what the pipe holds, as a wait does.
fn take_hints(parker: &RingParker) {
    while parker.rings.hint_pipe(0).is_unread() {
        let completed = parker.rings.sleep(0, || false);
        assert!(completed.is_empty(), "no operation is in flight");
    }
}
