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

/// What the handlers have been told.
#[derive(Default)]
struct Runnable {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Runnable {
    fn builder(self: &Arc<Self>, num_threads: usize) -> ThreadPoolBuilder {
        let (acquired, released) = (self.clone(), self.clone());
        ThreadPoolBuilder::new()
            .num_threads(num_threads)
            .acquire_thread_handler(move || {
                let now = acquired.now.fetch_add(1, SeqCst) + 1;
                acquired.most.fetch_max(now, SeqCst);
            })
            .release_thread_handler(move || {
                let before = released.now.fetch_sub(1, SeqCst);
                assert!(before > 0, "released more often than acquired");
            })
    }

    fn wait_for(&self, threads: usize) {
        wait_for(|| self.now.load(SeqCst) == threads);
    }
}

#[test]
fn workers_that_sleep_or_block_are_not_runnable() {
    let runnable = Arc::new(Runnable::default());
    let pool = runnable.builder(3).build().unwrap();
    // All three fall asleep, and hold nothing.
    wait_for_asleep(&pool, 3);
    runnable.wait_for(0);
    pool.broadcast(|_| assert!(runnable.now.load(SeqCst) >= 1));
    runnable.wait_for(0);
    let go_on = (Mutex::new(false), Condvar::new());
    thread::scope(|threads| {
        threads.spawn(|| {
            wait_for(|| pool.state().blocked().count() == 3);
            runnable.wait_for(0);
            *go_on.0.lock().unwrap() = true;
            go_on.1.notify_all();
        });
        pool.broadcast(|_| {
            blocking("the other thread", |_| {
                let may_go = go_on.0.lock().unwrap();
                drop(go_on.1.wait_while(may_go, |may_go| !*may_go).unwrap());
            });
            assert!(runnable.now.load(SeqCst) >= 1);
            assert_eq!(own_label(), None, "unmarked before it is runnable");
        });
    });
    pool.shutdown().unwrap();
    runnable.wait_for(0);
    assert!(runnable.most.load(SeqCst) <= 3);
}

#[test]
fn handlers_run_when_the_marks_say_so() {
    let seen = Arc::new(Mutex::new(None));
    let (acquired, released) = (seen.clone(), seen.clone());
    let note = |seen: &Mutex<Option<Vec<_>>>, what: &'static str| {
        // In a handler, a worker cannot be marked.
        assert_eq!(
            mark_blocked("in a handler").map(drop),
            Err(MarkError::InHandler)
        );
        // What the worker calls when it starts, sleeps and ends does not belong to the test.
        if let Some(seen) = &mut *seen.lock().unwrap() {
            let label = current_state().workers()[0].label().map(str::to_owned);
            seen.push((what, label));
        }
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .acquire_thread_handler(move || note(&acquired, "acquire"))
        .release_thread_handler(move || note(&released, "release"))
        .build()
        .unwrap();
    pool.install(|| {
        *seen.lock().unwrap() = Some(Vec::new());
        blocking("a section", |_| ());
        // A mark alone calls no handler.
        mark_blocked("a mark").unwrap().mark_unblocked().unwrap();
        let expected = vec![("release", Some("a section".to_owned())), ("acquire", None)];
        assert_eq!(seen.lock().unwrap().take(), Some(expected));
    });
}

/// Returns the threads that are runnable, of which this one is the first, a builder for one worker,
/// and how many are runnable while this thread waits for the worker: it counts then unless it calls
/// the handlers.
fn with_this_thread(calls_handlers: bool) -> (Arc<Runnable>, ThreadPoolBuilder, usize) {
    let runnable = Arc::new(Runnable::default());
    runnable.now.store(1, SeqCst);
    let builder = runnable.builder(1);
    if calls_handlers {
        (runnable, builder.thread_handlers_for_callers(), 1)
    } else {
        (runnable, builder, 2)
    }
}

#[test]
fn callers_from_outside_are_runnable_if_the_builder_says_so() {
    for for_callers in [false, true] {
        let (runnable, builder, expected) = with_this_thread(for_callers);
        let pool = builder.build().unwrap();
        wait_for_asleep(&pool, 1);
        runnable.wait_for(1);
        // While this thread waits. It may call its handler after the worker has begun.
        pool.install(|| runnable.wait_for(expected));
        runnable.wait_for(1);
        // A worker that installs in its own pool goes on.
        pool.install(|| pool.install(|| runnable.wait_for(expected)));
        // A wait for a handle calls no handler.
        let waiting = runnable.clone();
        pool.spawn_handle(move || waiting.wait_for(2))
            .join()
            .unwrap();
        runnable.wait_for(1);
        pool.shutdown().unwrap();
        runnable.wait_for(1);
    }
}

#[test]
fn a_caller_at_the_end_of_a_scoped_pool_is_runnable_if_the_builder_says_so() {
    for for_callers in [false, true] {
        let (runnable, builder, expected) = with_this_thread(for_callers);
        let waiting = runnable.clone();
        let scoped = builder.build_scoped(pool_std::ThreadBuilder::run, |pool| {
            // While this thread waits for the end.
            pool.spawn(move || waiting.wait_for(expected));
        });
        scoped.unwrap();
        runnable.wait_for(1);
    }
}

#[test]
fn an_adopted_thread_is_runnable_before_it_is_adopted() {
    let runnable = Arc::new(Runnable::default());
    let also = runnable.clone();
    thread::spawn(move || {
        // This thread.
        also.now.store(1, SeqCst);
        let pool = also.builder(2).use_current_thread().build().unwrap();
        wait_for_asleep(&pool, 1);
        also.wait_for(1);
        pool.install(|| blocking("a section", |_| also.wait_for(0)));
        also.wait_for(1);
        pool.shutdown().unwrap();
        also.wait_for(1);
    })
    .join()
    .unwrap();
    // The thread has ended, and its token is its own affair.
    runnable.wait_for(1);
}

/// A handler that uses a pool would otherwise run jobs, and those could mark no worker.
#[test]
fn acquire_and_release_handlers_are_called_by_no_worker() {
    let calls = Arc::new(AtomicUsize::new(0));
    let calls_as_worker = Arc::new(AtomicUsize::new(0));
    let handler = || {
        let (calls, calls_as_worker) = (calls.clone(), calls_as_worker.clone());
        move || {
            calls.fetch_add(1, SeqCst);
            calls_as_worker.fetch_add(usize::from(current_thread_index().is_some()), SeqCst);
        }
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .acquire_thread_handler(handler())
        .release_thread_handler(handler())
        .build()
        .unwrap();
    let index = pool.install(|| {
        blocking("nothing", |_| ());
        current_thread_index()
    });
    assert!(index.is_some(), "the thread is the worker again");
    pool.shutdown().unwrap();
    // Two workers start and end, and a section begins and ends.
    assert!(calls.load(SeqCst) >= 6);
    assert_eq!(calls_as_worker.load(SeqCst), 0);
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
