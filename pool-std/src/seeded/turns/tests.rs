//! Members whose threads the tests are.

use std::{
    hint,
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
};

use super::*;

/// Uses so much processor time.
fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        hint::spin_loop();
    }
}

/// Reproduces a bug: a member that waited, before it gave its turn back, for one that went on after
/// a section that blocked, had computed for so long by then that its turn was taken away. It gave
/// the turn on all the same, so that two members had one, and was left blocked.
#[test]
fn a_member_that_gives_its_turn_back_does_not_lose_it() {
    let turns = Turns::new(Schedule::from(1), false);
    turns.add(3);
    let present = turns.arrive(0);
    let ends = AtomicBool::new(false);
    thread::scope(|threads| {
        let (send, receive) = mpsc::channel();
        threads.spawn(|| {
            let send = send;
            send.send(SystemThread::current()).unwrap();
            while !ends.load(SeqCst) {
                hint::spin_loop();
            }
        });
        let mut state = turns.lock();
        state.members[1].status = Status::Blocked;
        state.members[1].thread = receive.recv().unwrap();
        drop(state);
        // It looks at what the member does that has the turn.
        threads.spawn(|| drop(turns.arrive(2)));
        compute(Duration::from_millis(1_500));
        drop(present);
        let status = turns.lock().members[0].status;
        ends.store(true, SeqCst);
        assert_eq!(status, Status::Absent);
    });
}

/// Reproduces a bug: a member that was registered as a sleeper, and blocked in a handler before it
/// slept, lost its turn. It was no sleeper any more then, and nothing woke it.
#[test]
fn a_sleeper_that_loses_its_turn_is_still_woken() {
    for is_woken_before_it_sleeps in [true, false] {
        let turns = Turns::new(Schedule::from(1), false);
        turns.add(2);
        let present = turns.arrive(0);
        turns.register(0);
        thread::scope(|threads| {
            let (send, receive) = mpsc::channel();
            let turns = &turns;
            threads.spawn(move || {
                // It takes the turn away from the member that is blocked below.
                let present = turns.arrive(1);
                if is_woken_before_it_sleeps {
                    assert!(turns.wake(0), "it is registered as a sleeper");
                }
                send.send(()).unwrap();
                drop(present);
                while !is_woken_before_it_sleeps && !turns.wake(0) {
                    thread::yield_now();
                }
            });
            receive.recv().unwrap();
            turns.sleep(0);
        });
        assert_eq!(turns.lock().turn, Some(0));
        drop(present);
    }
}
