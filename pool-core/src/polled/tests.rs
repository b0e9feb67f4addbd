#[cfg(not(loom))]
use super::*;

#[cfg(loom)]
mod loom;

#[cfg(not(loom))]
const QUEUE: PollDuties = PollDuties {
    queue: true,
    tell: false,
};

#[cfg(not(loom))]
const TELL: PollDuties = PollDuties {
    queue: false,
    tell: true,
};

#[cfg(not(loom))]
#[test]
fn a_wake_up_queues_once() {
    let state = PollState::new();
    assert_eq!(state.wake(), PollDuties::NONE, "it is queued already");
    assert!(state.begin_queued());
    assert!(!state.begin_queued() && !state.begin(), "one polls");
    assert_eq!(state.end(), PollDuties::NONE, "no thread has woken it");
    assert!(!state.begin_queued() && !state.begin(), "it is not due");
    assert_eq!(state.wake(), QUEUE);
    assert_eq!(state.wake(), PollDuties::NONE);
    assert!(state.begin_queued());
    assert_eq!(state.wake(), PollDuties::NONE, "its worker queues it");
    assert_eq!(state.wake(), PollDuties::NONE);
    assert_eq!(state.end(), QUEUE);
    assert!(state.begin_queued());
    assert_eq!(state.finish(), PollDuties::NONE);
    assert_eq!(state.wake(), PollDuties::NONE);
    assert!(!state.begin_queued() && !state.begin());
}

/// The owner of the handle has polled it, and its worker has not come to the reference yet.
#[cfg(not(loom))]
#[test]
fn a_reference_in_a_queue_serves_again() {
    let state = PollState::new();
    assert!(state.begin());
    assert_eq!(state.end(), PollDuties::NONE);
    assert_eq!(state.wake(), PollDuties::NONE, "a queue has a reference");
    assert!(state.begin());
    assert_eq!(state.wake(), PollDuties::NONE);
    assert_eq!(state.end(), PollDuties::NONE, "as before");
    assert!(state.begin());
    assert!(!state.begin_queued(), "the reference is out of date");
    assert_eq!(state.wake(), PollDuties::NONE);
    assert_eq!(state.end(), QUEUE);
}

#[cfg(not(loom))]
#[test]
fn the_owner_of_the_handle_is_told_once() {
    let state = PollState::new();
    assert!(!state.wait_for_change(), "it is due");
    assert!(state.begin_queued());
    assert!(state.wait_for_change());
    assert_eq!(state.end_isolated(), PollDuties::NONE, "it is not due");
    assert_eq!(
        state.wake(),
        PollDuties {
            queue: true,
            ..TELL
        }
    );
    assert_eq!(state.wake(), PollDuties::NONE);
    assert!(state.begin_queued());
    assert!(state.wait_for_change());
    assert_eq!(state.wake(), PollDuties::NONE, "one polls");
    assert_eq!(
        state.end(),
        PollDuties {
            queue: true,
            ..TELL
        }
    );
    assert!(state.begin_queued());
    assert!(state.wait_for_change());
    assert_eq!(state.finish(), TELL);
    assert!(!state.wait_for_change());
}

#[cfg(not(loom))]
#[test]
fn an_isolated_owner_polls_once_more_what_was_polled_elsewhere() {
    let state = PollState::new();
    assert!(state.begin_queued());
    assert!(!state.begin_isolated(), "one polls");
    assert_eq!(state.end(), PollDuties::NONE, "the owner does not wait");
    assert!(!state.begin() && !state.begin_queued(), "it is not due");
    assert!(!state.wait_for_change());
    assert!(state.begin_isolated());
    assert_eq!(state.end_isolated(), PollDuties::NONE);
    assert!(!state.begin_isolated());
    assert!(state.wait_for_change());
    assert_eq!(
        state.wake(),
        PollDuties {
            queue: true,
            ..TELL
        }
    );
    assert!(state.begin_queued());
    assert!(state.wait_for_change());
    assert_eq!(state.end(), TELL, "it helps again");
    assert_eq!(state.wake(), QUEUE);
    assert!(state.begin_isolated());
    assert_eq!(state.wake(), PollDuties::NONE);
    assert_eq!(state.end(), PollDuties::NONE, "it is queued already");
    assert!(state.begin_isolated(), "it is due");
    assert_eq!(state.finish(), PollDuties::NONE);
    assert!(!state.begin_isolated());
}
