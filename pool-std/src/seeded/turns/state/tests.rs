use std::{sync::mpsc, thread};

use super::{super::super::Schedule, *};

/// A busy machine makes looks seldom, and the order of a seed varied.
#[test]
fn two_looks_at_a_worker_that_waits_do_not_take_its_turn() {
    let (send, receive) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let waiter = thread::spawn(move || {
        send.send(SystemThread::current()).unwrap();
        _ = ended.recv();
    });
    let member = |thread| Member {
        status: Status::Ready,
        bell: Arc::default(),
        thread,
        has_token: false,
    };
    let mut state = State {
        choices: Choices::new(Schedule::from(1), false),
        members: vec![
            member(receive.recv().unwrap()),
            member(SystemThread::current()),
        ],
        turn: Some(0),
        is_taken: true,
        holds: 0,
        last_choice: Instant::now(),
        blocked: None,
        stuck: None,
        ready: Vec::new(),
    };
    let at_rest = Condvar::new();
    for _ in 0..3 {
        thread::sleep(2 * BLOCKED);
        state.look(&at_rest);
        assert_eq!(state.turn, Some(0));
    }
    while state.turn == Some(0) {
        thread::sleep(LOOK);
        state.look(&at_rest);
    }
    assert_eq!(state.members[0].status, Status::Blocked);
    drop(end);
    waiter.join().unwrap();
}
