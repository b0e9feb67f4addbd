//! Members whose threads are those of the tests.

use std::{
    hint,
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
};

use super::*;

/// Computes for the given time.
fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        hint::spin_loop();
    }
}

/// Reproduces a bug: before a member gave its turn back, it waited for another one that continued
/// after a section that blocked. By then it had computed for so long that its turn was taken away.
/// It passed the turn on all the same, so that two members had one, and it stayed marked as
/// blocked.
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
        // This member looks at what the member that has the turn does.
        threads.spawn(|| drop(turns.arrive(2)));
        compute(Duration::from_millis(1_500));
        drop(present);
        let status = turns.lock().members[0].status;
        ends.store(true, SeqCst);
        assert_eq!(status, Status::Absent);
    });
}

/// Reproduces a bug: a member that was registered as a sleeper and blocked in a handler before it
/// slept lost its turn. It then no longer counted as a sleeper, and no call woke it.
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
                // This member takes the turn away from the member that is blocked below.
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
