#[cfg(not(loom))]
use super::*;

#[cfg(loom)]
mod loom;

#[cfg(not(loom))]
#[test]
fn a_wake_up_queues_once() {
    let state = PollState::new();
    assert!(!state.wake(), "it is queued already");
    assert!(state.begin());
    assert!(!state.begin(), "one polls");
    assert!(!state.end(), "no thread has woken it");
    assert!(!state.begin() && !state.is_queued(), "it is not queued");
    assert!(state.wake());
    assert!(!state.wake());
    assert!(state.is_queued());
    assert!(state.begin());
    assert!(!state.wake(), "its worker queues it");
    assert!(!state.wake());
    assert!(state.end());
    assert!(state.begin());
    state.finish();
    assert!(!state.wake());
    assert!(!state.begin());
}
