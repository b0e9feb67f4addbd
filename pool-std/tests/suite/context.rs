//! Values that follow jobs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{
    ThreadPool, ThreadPoolBuilder,
    context::{get, with},
};

#[cfg(feature = "tracing")]
mod spans;

/// A value that follows jobs.
#[derive(Debug, PartialEq, Eq)]
struct Number(usize);

fn pool(num_threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build().unwrap()
}

fn number() -> Option<usize> {
    get::<Number>().map(|number| number.0)
}

#[test]
fn values_are_set_within_a_closure() {
    assert_eq!(number(), None);
    with(Number(1), || {
        assert_eq!(number(), Some(1));
        with("another type", || {
            assert_eq!(number(), Some(1));
            assert_eq!(get::<&str>().as_deref(), Some(&"another type"));
            with(Number(2), || assert_eq!(number(), Some(2)));
            assert_eq!(number(), Some(1));
        });
        assert_eq!(get::<&str>(), None);
        let panic = catch_unwind(|| with(Number(3), || panic!("in the closure")));
        assert!(panic.map(|(): ()| ()).is_err());
        assert_eq!(number(), Some(1));
    });
    assert_eq!(number(), None);
}

/// What each kind of call finds in its jobs, on a worker and outside.
#[test]
fn each_kind_of_job_has_the_context_of_the_thread_that_makes_it() {
    fn check(pool: &ThreadPool, expected: Option<usize>) {
        assert_eq!(pool.install(number), expected);
        assert_eq!(pool.call(number), expected);
        assert_eq!(pool.join(number, number), (expected, expected));
        assert!(
            pool.broadcast(|_| number())
                .iter()
                .all(|it| *it == expected)
        );
        let seen = Mutex::new(Vec::new());
        let look = || seen.lock().unwrap().push(number());
        pool.scope(|scope| scope.spawn(|_| look()));
        pool.in_place_scope(|scope| {
            scope.spawn(|_| look());
            scope.spawn_broadcast(|_, _| look());
        });
        pool.scope_fifo(|scope| scope.spawn_fifo(|_| look()));
        let (sender, receiver) = mpsc::channel();
        let send = || {
            let sender = sender.clone();
            move || sender.send(number()).unwrap()
        };
        pool.spawn(send());
        pool.spawn_fifo(send());
        pool.spawn_urgent(send());
        pool.spawn_background(send());
        pool.spawn_many([send(), send()]);
        // This thread blocks below, and could not run its own job of a broadcast.
        if pool.current_thread_index().is_none() {
            let sends = Mutex::new(send());
            pool.spawn_broadcast(move |_| sends.lock().unwrap()());
        }
        drop(sender);
        seen.into_inner()
            .unwrap()
            .into_iter()
            .chain(receiver)
            .for_each(|it| assert_eq!(it, expected));
        assert_eq!(pool.spawn_handle(number).join().unwrap(), expected);
        let token = pool_std::CancelToken::new();
        assert_eq!(
            pool.spawn_handle_unless(&token, number).join().unwrap(),
            expected
        );
        let future = async {
            let first = number();
            pool_std::spawn_handle(|| ()).await.unwrap();
            (first, number())
        };
        assert_eq!(
            pool.spawn_future(future).join().unwrap(),
            (expected, expected)
        );
    }

    let (own, other) = (pool(2), pool(2));
    check(&own, None);
    with(Number(7), || check(&own, Some(7)));
    check(&own, None);
    with(Number(8), || other.install(|| check(&own, Some(8))));
    other.install(|| with(Number(9), || check(&own, Some(9))));
    own.install(|| with(Number(9), || check(&own, Some(9))));
}

#[test]
fn a_handle_of_a_scope_has_the_context_of_the_thread_that_spawns() {
    let pool = pool(2);
    let seen = pool.scope(|scope| {
        let plain = pool_std::spawn_handle_in(scope, |_| number());
        let set = with(Number(5), || pool_std::spawn_handle_in(scope, |_| number()));
        [plain, set].map(|job| job.join().unwrap())
    });
    assert_eq!(seen, [None, Some(5)]);
}

/// A worker that waits runs jobs that were made elsewhere.
#[test]
fn no_value_leaks_into_a_job_that_a_wait_runs() {
    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    pool.install(|| {
        pool_std::spawn(move || sender.send(number()).unwrap());
        with(Number(1), || {
            // The only worker runs the other job in this wait.
            pool_std::scope(|scope| scope.spawn(|_| assert_eq!(number(), Some(1))));
            while pool_std::yield_now() == Some(pool_std::Yield::Executed) {}
            assert_eq!(number(), Some(1));
        });
    });
    assert_eq!(receiver.recv(), Ok(None));
}

/// Many trees at a time, each with its number, on few workers that steal from each other.
#[test]
fn stress() {
    fn tree(depth: u32, expected: usize) {
        assert_eq!(number(), Some(expected));
        if depth == 0 {
            return;
        }
        if depth.is_multiple_of(3) {
            pool_std::scope(|scope| {
                scope.spawn(move |_| tree(depth - 1, expected));
                tree(depth - 1, expected);
            });
        } else {
            pool_std::join(|| tree(depth - 1, expected), || tree(depth - 1, expected));
        }
        assert_eq!(number(), Some(expected));
    }
    let (trees, depth) = if cfg!(miri) { (3, 4) } else { (200, 9) };
    let pool = pool(3);
    let ended = AtomicUsize::new(0);
    pool.in_place_scope(|scope| {
        for expected in 0..trees {
            let ended = &ended;
            with(Number(expected), || {
                scope.spawn(move |_| {
                    tree(depth, expected);
                    ended.fetch_add(1, SeqCst);
                });
            });
        }
    });
    assert_eq!(ended.into_inner(), trees);
}

/// A value lives as long as a job that has it, and its drop may look at the context.
#[test]
fn destructors() {
    struct Looks(Arc<Mutex<Vec<Option<usize>>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(number());
        }
    }
    let pool = pool(1);
    let log = Arc::new(Mutex::new(Vec::new()));
    let (go_on, may_end) = mpsc::channel::<()>();
    let job = with(Number(1), || {
        with(Looks(log.clone()), || {
            pool.spawn_handle(move || {
                may_end.recv().unwrap();
                assert!(get::<Looks>().is_some());
            })
        })
    });
    assert!(log.lock().unwrap().is_empty(), "the job has it");
    go_on.send(()).unwrap();
    job.join().unwrap();
    pool.wait_idle().unwrap();
    assert_eq!(*log.lock().unwrap(), [None]);
    with(Number(2), || with(Looks(log.clone()), || ()));
    assert_eq!(*log.lock().unwrap(), [None, Some(2)]);
}

/// While a thread ends, its variables are gone.
#[test]
fn a_thread_that_ends_may_ask() {
    struct AtEnd;
    impl Drop for AtEnd {
        fn drop(&mut self) {
            _ = number();
            with(Number(1), || _ = number());
        }
    }
    thread_local!(static AT_END: AtEnd = const { AtEnd });
    let asked = thread::spawn(|| {
        AT_END.with(|_| ());
        with(Number(1), || assert_eq!(number(), Some(1)));
    });
    asked.join().unwrap();
}

#[test]
fn a_panic_leaves_the_worker_as_it_was() {
    let pool = pool(1);
    let panics = || with(Number(1), || pool.install(|| panic!("in the job")));
    let panic = catch_unwind(AssertUnwindSafe(panics)).map(|(): ()| ());
    assert!(panic.is_err());
    assert_eq!(pool.install(number), None);
}

/// A value whose drop panics. The last reference to it is the job's.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the drop of a value");
    }
}

/// Returns a pool of one worker, and the number of panics that its handler has got.
fn pool_that_counts_panics() -> (ThreadPool, Arc<AtomicUsize>) {
    let panics = Arc::new(AtomicUsize::new(0));
    let count = panics.clone();
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.panic_handler(move |_| _ = count.fetch_add(1, SeqCst));
    (builder.build().unwrap(), panics)
}

/// Makes something with a value whose drop panics, which the closure does not drop.
fn with_bomb(make: impl FnOnce()) {
    let made = catch_unwind(AssertUnwindSafe(|| with(Bomb, make)));
    assert!(made.is_ok(), "what was made has the value");
}

#[test]
fn a_value_whose_drop_panics_does_not_end_a_worker_that_discards_its_job() {
    let (pool, panics) = pool_that_counts_panics();
    let (go_on, may_end) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    pool.spawn(move || {
        begin.send(()).unwrap();
        may_end.recv().unwrap();
    });
    begun.recv().unwrap();
    with_bomb(|| pool.spawn(|| unreachable!("it is discarded")));
    assert!(pool.shutdown_now(std::time::Duration::ZERO).is_err());
    go_on.send(()).unwrap();
    assert_eq!(pool.shutdown_now(std::time::Duration::MAX), Ok(1));
    assert_eq!(panics.load(SeqCst), 1);
}

#[test]
fn a_value_whose_drop_panics_does_not_end_a_worker_that_runs_its_job() {
    let (pool, panics) = pool_that_counts_panics();
    let (go_on, may_end) = mpsc::channel::<()>();
    pool.spawn(move || may_end.recv().unwrap());
    with_bomb(|| pool.spawn(|| ()));
    with_bomb(|| drop(pool.spawn_future(async {})));
    go_on.send(()).unwrap();
    pool.wait_idle().unwrap();
    assert_eq!(panics.load(SeqCst), 2);
    pool.shutdown().unwrap();
}

/// Each job sets a value and spawns the next one. A recursion over the values would overflow.
#[test]
fn a_chain_of_jobs_that_set_values_keeps_the_last_ones_alone() {
    struct Counted(#[allow(dead_code)] Arc<()>);

    fn step(left: usize, count: Arc<()>, done: mpsc::Sender<usize>) {
        if left == 0 {
            done.send(Arc::strong_count(&count)).unwrap();
            return;
        }
        let next = (count.clone(), done.clone());
        with(Counted(count), || {
            with(Number(left), move || {
                pool_std::spawn(move || step(left - 1, next.0, next.1))
            });
        });
    }

    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    let length = if cfg!(miri) { 50 } else { 300_000 };
    pool.spawn(move || step(length, Arc::new(()), sender));
    let references = receiver.recv().unwrap();
    assert!(references < 10, "{references}");
    pool.shutdown().unwrap();
}

/// The value that is there again when a closure ends is in the middle.
#[test]
fn a_value_is_replaced_by_one_of_its_type_among_others() {
    struct Other(u32);

    let look = || {
        (
            number(),
            get::<Other>().map(|other| other.0),
            get::<u8>().map(|it| *it),
        )
    };
    with(1_u8, || {
        with(Number(1), || {
            with(Other(2), || {
                with(Number(3), || {
                    assert_eq!(look(), (Some(3), Some(2), Some(1)))
                });
                with(4_u8, || assert_eq!(look(), (Some(1), Some(2), Some(4))));
                assert_eq!(look(), (Some(1), Some(2), Some(1)));
            });
        });
        assert_eq!(look(), (None, None, Some(1)));
    });
}

/// It is dropped on a worker that runs a job with another value.
#[test]
fn a_future_is_dropped_in_its_own_context() {
    struct LooksWhenDropped(mpsc::Sender<Option<usize>>);

    impl Drop for LooksWhenDropped {
        fn drop(&mut self) {
            self.0.send(number()).unwrap();
        }
    }

    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    let looks = LooksWhenDropped(sender);
    let future = std::future::poll_fn(move |_| {
        let _ = &looks;
        std::task::Poll::Ready(())
    });
    pool.install(|| {
        let job = with(Number(1), || pool_std::spawn_future(future));
        with(Number(2), || job.join().unwrap());
    });
    assert_eq!(receiver.recv(), Ok(Some(1)));
}
