use std::{io::pipe, sync::Arc};

use super::*;
use crate::{file::File, operation::Operation, request::Request};

/// A queue with one operation, and no helper that is idle.
fn state() -> State {
    let (reader, _) = pipe().unwrap();
    let request = Request::sync(&File::new(reader).unwrap());
    let mut state = State {
        helpers: 4,
        ..State::default()
    };
    state.queue.push_back(Operation::new(None, request));
    state
}

#[test]
fn a_helper_starts_when_none_has_taken_an_operation_for_long() {
    let (mut state, mut watch, begin) = (state(), Watch::default(), Instant::now());
    assert!(state.needs_watch());
    assert!(!watch.is_stalled(&mut state, begin));
    assert!(!state.needs_watch(), "it is watched");
    assert_eq!(watch.milliseconds(), 10);
    assert!(!watch.is_stalled(&mut state, begin + STALL / 2));
    assert!(watch.is_stalled(&mut state, begin + STALL));
    // The next one, not before the first has had its time.
    assert!(!watch.is_stalled(&mut state, begin + STALL));
    assert!(watch.is_stalled(&mut state, begin + 2 * STALL));
}

#[test]
fn a_queue_that_moves_on_starts_no_helper() {
    let (mut state, mut watch, begin) = (state(), Watch::default(), Instant::now());
    for look in 0..10 {
        assert!(!watch.is_stalled(&mut state, begin + look * STALL));
        state.taken = state.taken.wrapping_add(1);
    }
}

#[test]
fn a_queue_with_idle_helpers_is_not_watched() {
    let (mut state, mut watch, begin) = (state(), Watch::default(), Instant::now());
    assert!(!watch.is_stalled(&mut state, begin));
    state.idle = 1;
    assert!(!watch.is_stalled(&mut state, begin + STALL));
    assert_eq!(watch.milliseconds(), -1, "the poller waits without a limit");
    // The helper is taken by another operation: the time begins anew.
    state.idle = 0;
    assert!(state.needs_watch());
    assert!(!watch.is_stalled(&mut state, begin + 2 * STALL));
}

#[test]
fn helpers_have_a_bound() {
    let (mut state, mut watch, begin) = (state(), Watch::default(), Instant::now());
    state.helpers = MOST_HELPERS;
    state.queue.push_back(Arc::clone(&state.queue[0]));
    assert!(!state.needs_watch());
    assert!(!watch.is_stalled(&mut state, begin));
    assert!(!watch.is_stalled(&mut state, begin + 2 * STALL));
}
