//! The handlers that are called when a worker starts and stops being runnable.

use super::*;

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

/// The inner section begins after the mark of the outer one was ended, and before the worker has
/// its token again.
#[test]
fn a_section_within_a_section_releases_no_second_token() {
    let runnable = Arc::new(Runnable::default());
    let pool = runnable.builder(1).build().unwrap();
    pool.install(|| {
        for panics in [false, true] {
            let section = || {
                blocking("an event", |outer| {
                    outer.mark_unblocked().unwrap();
                    blocking("another one", |_| assert_eq!(runnable.now.load(SeqCst), 0));
                    assert_eq!(runnable.now.load(SeqCst), 0);
                    assert!(!panics);
                });
            };
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(section));
            assert_eq!(result.is_err(), panics);
            assert_eq!(runnable.now.load(SeqCst), 1);
        }
    });
    pool.shutdown().unwrap();
    runnable.wait_for(0);
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
