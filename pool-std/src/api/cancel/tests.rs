//! What a job of a scope finds when another one has failed.

use std::thread;

use super::*;

/// A job that ends early, because another one has failed, may return an error of its own. That is
/// not the first one.
#[test]
fn the_first_error_is_there_before_jobs_are_told() {
    const LOOKS: usize = if cfg!(miri) { 50 } else { 5_000 };
    let outcome = Outcome::default();
    thread::scope(|threads| {
        let place = lock(&outcome.error);
        threads.spawn(|| outcome.fail("first"));
        let is_early = (0..LOOKS).any(|_| {
            thread::yield_now();
            outcome.token.is_cancelled()
        });
        drop(place);
        assert!(!is_early, "a job would leave its error first");
        while !outcome.token.is_cancelled() {
            thread::yield_now();
        }
        outcome.fail("told");
    });
    assert_eq!(outcome.take_error(), Some("first"));
}

#[test]
fn a_guard_cancels_its_token_also_in_a_panic() {
    let token = CancelToken::new();
    let guard = token.clone().cancel_on_drop();
    assert!(!token.is_cancelled());
    let panic = std::panic::catch_unwind(move || {
        let _guard = guard;
        panic!("as told");
    });
    assert!(panic.is_err() && token.is_cancelled());

    let kept = CancelToken::new().cancel_on_drop().disarm();
    assert!(!kept.is_cancelled());
}
