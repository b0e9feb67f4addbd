//! The steps of a parker one by one, in one thread that plays the worker, a waker and the completer.

use super::*;

/// A parker whose ring is the only one, or none where the kernel has none.
fn parker() -> Option<RingParker> {
    match Rings::new(1) {
        Ok(rings) => Some(RingParker::new(rings, 0)),
        Err(error) if [Some(libc::ENOSYS), Some(libc::EPERM)].contains(&error.raw_os_error()) => {
            eprintln!("io_uring is refused here: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Plays a worker that is interrupted before it acquires the ring's lock. A waker writes its hint, and the completer
/// takes that out. Then the worker must not wait for it.
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

/// Takes out what the pipe holds, as a wait does.
fn take_hints(parker: &RingParker) {
    while parker.rings.hint_pipe(0).is_unread() {
        let completed = parker.rings.sleep(0, || false);
        assert!(completed.is_empty(), "no operation is in flight");
    }
}
