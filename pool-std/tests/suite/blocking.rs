//! Marks, tickets, blocked sections and the state of a pool.

// Without metrics, and without a deadlock handler, a pool's state does not tell which workers
// sleep.
#![cfg(feature = "metrics")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use crate::support::{Gate, wait_for, wait_for_asleep};
use pool_std::{
    Activity, Blocked, MarkError, ThreadPool, ThreadPoolBuilder, blocking, current_state,
    current_thread_index, mark_all_unblocked, mark_blocked,
};

mod runnable;

fn pool(num_threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build().unwrap()
}

/// Returns the label of the worker that this thread is.
fn own_label() -> Option<String> {
    let index = pool_std::current_thread_index().unwrap();
    current_state().workers()[index].label().map(str::to_owned)
}

#[test]
fn a_thread_that_is_no_worker_cannot_be_marked() {
    assert_eq!(
        mark_blocked("outside").map(drop),
        Err(MarkError::NotAWorker)
    );
    // A section of such a thread runs all the same, and there is nothing to unmark.
    let result = blocking("outside", |blocked| blocked.mark_unblocked());
    assert_eq!(result, Err(MarkError::NotBlocked));
}

#[test]
fn a_worker_is_marked_once_at_a_time() {
    pool(1).install(|| {
        let first = mark_blocked("first").unwrap();
        assert_eq!(
            mark_blocked("second").map(drop),
            Err(MarkError::AlreadyBlocked)
        );
        assert_eq!(own_label().as_deref(), Some("first"), "the first one stays");
        first.mark_unblocked().unwrap();
        assert_eq!(own_label(), None);
    });
}

#[test]
fn a_section_ends_once() {
    pool(1).install(|| {
        let blocked = mark_blocked("once").unwrap();
        let clone = blocked.clone();
        assert_eq!(blocked.mark_unblocked(), Ok(()));
        for ticket in [&blocked, &clone] {
            assert_eq!(ticket.mark_unblocked(), Err(MarkError::NotBlocked));
        }
    });
}

#[test]
fn an_old_ticket_does_not_end_a_later_section() {
    let pool = pool(1);
    let old = pool.install(|| {
        let old = mark_blocked("earlier").unwrap();
        old.mark_unblocked().unwrap();
        let new = mark_blocked("later".to_owned()).unwrap();
        assert_eq!(old.mark_unblocked(), Err(MarkError::NotBlocked));
        assert_eq!(own_label().as_deref(), Some("later"));
        let both = mark_all_unblocked([old.clone(), new]);
        assert_eq!(both, Err(MarkError::NotBlocked));
        assert_eq!(own_label(), None, "the valid ticket has had its effect");
        old
    });
    pool.shutdown().unwrap();
    assert_eq!(
        old.mark_unblocked(),
        Err(MarkError::NotBlocked),
        "the pool has ended"
    );
}

#[test]
fn several_workers_of_several_pools_are_unmarked_at_once() {
    let pools = [pool(2), pool(1)];
    let (tickets, may_end) = (Mutex::new(Vec::new()), Gate::default());
    let mark = || {
        let blocked = mark_blocked("many").unwrap();
        tickets.lock().unwrap().push(blocked);
        // Not marked: the worker is blocked already.
        wait_for(|| tickets.lock().unwrap().is_empty());
    };
    thread::scope(|threads| {
        for pool in &pools {
            threads.spawn(|| pool.broadcast(|_| mark()));
        }
        wait_for(|| tickets.lock().unwrap().len() == 3);
        let all = tickets.lock().unwrap().clone();
        assert_eq!(mark_all_unblocked(all), Ok(()));
        for pool in &pools {
            assert_eq!(pool.state().blocked().count(), 0);
        }
        tickets.lock().unwrap().clear();
    });
    assert_eq!(mark_all_unblocked([]), Ok(()));
    drop(may_end);
}

#[test]
fn a_section_ends_by_itself_or_by_another_thread() {
    let pool = pool(1);
    pool.install(|| {
        let ticket = blocking("by itself", |blocked| {
            assert_eq!(own_label().as_deref(), Some("by itself"));
            blocked.clone()
        });
        assert_eq!(
            (own_label(), ticket.mark_unblocked()),
            (None, Err(MarkError::NotBlocked))
        );
        let panic = catch_unwind(AssertUnwindSafe(|| {
            blocking("a panic", |_| panic!("in it"))
        }));
        assert!(panic.is_err() && own_label().is_none());
    });
    let (tickets, ticket) = mpsc::channel::<Blocked>();
    let (answer, question) = mpsc::channel();
    thread::scope(|threads| {
        let pool = &pool;
        threads.spawn(move || {
            let ticket = ticket.recv().unwrap();
            assert_eq!(pool.state().workers()[0].label(), Some("an answer"));
            ticket.mark_unblocked().unwrap();
            // The worker still waits, but counts as active.
            assert_eq!(pool.state().blocked().count(), 0);
            answer.send(42).unwrap();
        });
        let answer = pool.install(move || {
            blocking("an answer", |blocked| {
                tickets.send(blocked.clone()).unwrap();
                question.recv()
            })
        });
        assert_eq!(answer, Ok(42));
    });
}

#[test]
fn a_section_inside_another_one_is_part_of_it() {
    pool(1).install(|| {
        blocking("outer", |outer| {
            blocking("inner", |inner| {
                assert_eq!(own_label().as_deref(), Some("outer"));
                assert_eq!(format!("{inner:?}"), format!("{outer:?}"));
                inner.mark_unblocked().unwrap();
            });
            assert_eq!(outer.mark_unblocked(), Err(MarkError::NotBlocked));
        });
    });
}

#[test]
fn the_state_says_what_every_worker_does() {
    let pool = pool(3);
    wait_for_asleep(&pool, 3);
    let gate = Gate::default();
    pool.scope(|scope| {
        scope.spawn(|_| gate.wait("a gate"));
        gate.wait_for_blocked(1);
        let index = pool.current_thread_index().unwrap();
        wait_for_asleep(&pool, 1);
        let state = pool.state();
        assert_eq!(state.workers()[index].activity, Activity::Active);
        assert_eq!((state.blocked().count(), state.asleep().count()), (1, 1));
        let text = state.to_string();
        for word in [
            "active",
            "asleep",
            "blocked",
            "a gate",
            "jobs from outside: 0",
        ] {
            assert!(text.contains(word), "{word} is missing:\n{text}");
        }
        gate.open();
    });
}

#[test]
fn a_ticket_keeps_nothing_of_its_pool() {
    let captured = Arc::new(());
    let remains = Arc::downgrade(&captured);
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .deadlock_handler(move |_| _ = &captured)
        .build()
        .unwrap();
    let ticket = pool.install(|| blocking("nothing", Blocked::clone));
    pool.shutdown().unwrap();
    assert!(remains.upgrade().is_none());
    assert_eq!(ticket.mark_unblocked(), Err(MarkError::NotBlocked));
}
