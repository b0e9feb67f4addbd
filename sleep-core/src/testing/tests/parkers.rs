use core::time::Duration;
use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{super::parkers::check_within, *};
use crate::{
    Parker,
    testing::{EarlyParker, NewParker, SpinningParker, TestParker},
};

#[test]
fn a_condition_variable_passes() {
    check_parker(<TestParker as NewParker>::new);
}

#[test]
fn a_spinning_parker_passes() {
    check_parker(SpinningParker::new);
}

/// Spurious wake-ups are allowed.
#[test]
fn a_parker_that_always_returns_early_passes() {
    check_parker(EarlyParker::new);
}

#[test]
fn a_parker_of_the_standard_library_passes() {
    struct Thread(std::thread::Thread);
    impl Parker for Thread {
        fn park(&self) {
            std::thread::park();
        }
        fn unpark(&self) {
            self.0.unpark();
        }
    }
    check_parker(|| Thread(std::thread::current()));
}

/// A parker that takes the token by `before`, then waits for one, and gives it by `give`.
struct Faulty {
    token: Mutex<bool>,
    available: Condvar,
    before: fn(&mut bool),
    give: fn(&mut bool),
    has_token_of_guest: bool,
}

impl Faulty {
    fn new(before: fn(&mut bool), give: fn(&mut bool)) -> Self {
        Self {
            token: Mutex::new(false),
            available: Condvar::new(),
            before,
            give,
            has_token_of_guest: true,
        }
    }
}

impl Parker for Faulty {
    fn park(&self) {
        let mut token = self.token.lock().unwrap();
        (self.before)(&mut token);
        while !*token {
            token = self.available.wait(token).unwrap();
        }
        *token = false;
    }

    fn unpark(&self) {
        (self.give)(&mut self.token.lock().unwrap());
        self.available.notify_one();
    }

    fn park_guest(&self) {
        if !self.has_token_of_guest {
            self.park();
        }
    }

    fn unpark_guest(&self) {
        if !self.has_token_of_guest {
            self.unpark();
        }
    }
}

/// Checks a parker whose thread hangs for good. The patience is for the steps before that.
fn failure_of<P: Parker + Send + Sync + 'static>(make: impl Fn() -> P + Send + 'static) -> String {
    failure(|| check_within(Duration::from_secs(5), make))
}

#[test]
#[cfg_attr(miri, ignore = "leaves a thread behind")]
fn a_token_that_is_forgotten_when_the_worker_parks_is_found() {
    let found = failure_of(|| Faulty::new(|token| *token = false, |token| *token = true));
    assert!(found.contains("lost a token"), "{found}");
    assert!(found.ends_with("`unpark`, then `park`"), "{found}");
}

#[test]
#[cfg_attr(miri, ignore = "leaves a thread behind")]
fn a_second_token_that_takes_the_first_one_back_is_found() {
    let found = failure_of(|| Faulty::new(|_| (), |token| *token = !*token));
    assert!(found.ends_with("`unpark` twice, then `park`"), "{found}");
}

#[test]
#[cfg_attr(miri, ignore = "leaves a thread behind")]
fn a_guest_that_takes_the_token_of_the_worker_is_found() {
    let found = failure_of(|| Faulty {
        has_token_of_guest: false,
        ..Faulty::new(|_| (), |token| *token = true)
    });
    assert!(found.contains("`park_guest`"), "{found}");
}

/// A parker with a token for each of the two threads, and one condition variable.
#[derive(Default)]
struct WithGuest {
    tokens: Mutex<[bool; 2]>,
    available: Condvar,
    /// How a thread that waits learns of the token of a guest.
    notify: Option<fn(&Condvar)>,
}

impl WithGuest {
    fn take(&self, which: usize) {
        let mut tokens = self.tokens.lock().unwrap();
        while !std::mem::take(&mut tokens[which]) {
            tokens = self.available.wait(tokens).unwrap();
        }
    }
}

impl Parker for WithGuest {
    fn park(&self) {
        self.take(0);
    }

    fn unpark(&self) {
        self.tokens.lock().unwrap()[0] = true;
        self.available.notify_all();
    }

    fn park_guest(&self) {
        self.take(1);
    }

    fn unpark_guest(&self) {
        self.tokens.lock().unwrap()[1] = true;
        if let Some(notify) = self.notify {
            notify(&self.available);
        }
    }
}

#[test]
fn a_parker_that_wakes_both_threads_passes() {
    check_parker(|| WithGuest {
        notify: Some(Condvar::notify_all),
        ..WithGuest::default()
    });
}

#[test]
#[cfg_attr(miri, ignore = "leaves threads behind")]
fn a_guest_that_is_not_woken_is_found() {
    let found = failure_of(WithGuest::default);
    assert!(found.ends_with("`park_guest`, while another thread unparks"));
}

/// The thread of the worker, which has lent its seat, waits at the same time.
#[test]
#[cfg_attr(miri, ignore = "leaves threads behind")]
fn a_guest_whose_wake_up_the_worker_takes_is_found() {
    let found = failure_of(|| WithGuest {
        notify: Some(Condvar::notify_one),
        ..WithGuest::default()
    });
    assert!(found.ends_with("`park_guest`, while another thread unparks"));
}

#[test]
fn a_clock_that_goes_backwards_is_found() {
    struct Backwards(AtomicU32);
    impl Parker for Backwards {
        fn park(&self) {}
        fn unpark(&self) {}
        fn now(&self) -> Option<u64> {
            Some(self.0.fetch_sub(1, Relaxed).into())
        }
    }
    let found = failure(|| check_parker(|| Backwards(AtomicU32::new(1_000))));
    assert!(found.contains("backwards"), "{found}");
}
