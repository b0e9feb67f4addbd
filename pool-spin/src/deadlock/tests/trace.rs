//! The events of blocked sections that a worker keeps.

use super::*;
use crate::Event;

/// Checks that the trace has the end of each section, whichever core ends it.
#[test]
fn a_trace_has_the_end_of_each_blocked_section() {
    static POOL: SpinPool<TestCores<1>> = pool(|_| ());
    static EVENT: Completion<TestCores<1>> = Completion::new(&POOL);
    thread::scope(|threads| {
        POOL.run_with(0, |core| {
            core.blocking(|_| ()).unwrap();
            core.blocking(|ticket| POOL.mark_unblocked(ticket).unwrap())
                .unwrap();
            threads.spawn(|| {
                while POOL.blocking_state(0) != Ok(State::Blocked) {
                    thread::yield_now();
                }
                EVENT.complete();
            });
            core.wait_for(&EVENT).unwrap();
        })
        .unwrap();
    });
    let begins = POOL.trace(0).unwrap().filter_map(|it| match it.event {
        Event::Blocked => Some(true),
        Event::Unblocked => Some(false),
        _ => None,
    });
    assert_eq!(begins.collect::<Vec<_>>(), [true, false].repeat(3));
}
