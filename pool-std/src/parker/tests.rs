//! One suite for both kinds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use super::*;

macro_rules! suite {
    ($($kind:ident => $module:ident;)*) => {$(
        mod $module {
            use super::*;

            fn parker() -> Arc<OsParker> {
                Arc::new(OsParker::new(ParkerKind::$kind))
            }

            #[test]
            fn smoke() {
                let parker = parker();
                let other = parker.clone();
                let thread = thread::spawn(move || other.park());
                parker.unpark();
                thread.join().unwrap();
            }

            #[test]
            fn a_token_that_comes_first_is_kept() {
                let parker = parker();
                parker.unpark();
                parker.park();
            }

            #[test]
            fn a_guest_has_a_token_of_its_own() {
                let parker = parker();
                parker.unpark_guest();
                let other = parker.clone();
                let host = thread::spawn(move || other.park());
                // If it took the host's token, or woke the host, one of the two would wait in vain.
                parker.park_guest();
                parker.unpark();
                host.join().unwrap();
            }

            #[test]
            fn two_unparks_are_one_token() {
                let parker = parker();
                parker.unpark();
                parker.unpark();
                parker.park();
                let other = parker.clone();
                let thread = thread::spawn(move || other.park());
                while !thread.is_finished() {
                    parker.unpark();
                    thread::yield_now();
                }
                thread.join().unwrap();
            }

            // Each side waits for the other's token; a lost one makes this hang.
            #[test]
            fn stress() {
                let rounds = if cfg!(miri) { 20 } else { 20_000 };
                let (ping, pong) = (parker(), parker());
                let count = Arc::new(AtomicUsize::new(0));
                let thread = {
                    let (ping, pong, count) = (ping.clone(), pong.clone(), count.clone());
                    thread::spawn(move || {
                        for round in 0..rounds {
                            while count.load(SeqCst) != 2 * round + 1 {
                                ping.park();
                            }
                            count.fetch_add(1, SeqCst);
                            pong.unpark();
                        }
                    })
                };
                for round in 0..rounds {
                    count.fetch_add(1, SeqCst);
                    ping.unpark();
                    while count.load(SeqCst) != 2 * round + 2 {
                        pong.park();
                    }
                }
                thread.join().unwrap();
            }
        }
    )*};
}

suite! {
    Condvar => condvar_parker;
    Futex => futex_parker;
}

/// Reproduces a bug: a worker that found itself released before its waker had unparked it, and did
/// not park, read the note of its wake-up before. A trace named the wrong waker, at a time before
/// the worker fell asleep.
#[cfg(feature = "trace")]
#[test]
fn a_wake_up_is_told_once() {
    let parker = OsParker::new(ParkerKind::default());
    parker.unpark();
    parker.park();
    assert_ne!(parker.woken_by().at, 0);
    assert_eq!(parker.woken_by(), WokenBy::UNKNOWN);
}
