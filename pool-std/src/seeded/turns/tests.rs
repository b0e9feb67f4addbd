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
