//! Futures that a worker awaits by their handles, without a join, in a call in which it takes
//! nothing from the pool's queues.

use std::{pin::Pin, task::Wake};

use pool_std::{JoinSet, Yield, isolate, spawn_future, spawn_handle, yield_now};

use super::{isolated::isolated_pools, *};

/// Calls a closure in isolation on the only worker of each pool, with an event that happens as soon
/// as a future awaits it. In each pool, that is once from outside and once as a guest.
fn with_event(call: impl Fn(Event) + Sync) {
    for pool in isolated_pools(1) {
        for is_guest in [false, true] {
            let event = Event::default();
            thread::scope(|threads| {
                threads.spawn(|| {
                    event.wait_until_awaited();
                    event.happen();
                });
                let isolated = || isolate(|| call(event.clone()));
                if is_guest {
                    pool.call(isolated);
                } else {
                    pool.install(isolated);
                }
            });
        }
        pool.shutdown().unwrap();
    }
}

#[test]
fn an_isolated_worker_polls_the_future_that_it_blocks_on() {
    with_event(|event| {
        let future = spawn_future(async move {
            event.wait().await;
            1
        });
        assert_eq!(block_on(future).unwrap(), 1);
    });
}

#[test]
fn an_isolated_worker_polls_what_its_future_awaits() {
    let chain = |event: Event| {
        let first = spawn_future(async move {
            event.wait().await;
            give_way().await;
            1
        });
        let second = spawn_future(async { first.await.unwrap() + 1 });
        spawn_future(async { second.await.unwrap() + 1 })
    };
    with_event(|event| assert_eq!(chain(event).join().unwrap(), 3));
    with_event(|event| assert_eq!(block_on(chain(event)).unwrap(), 3));
}

#[test]
fn an_isolated_worker_polls_the_futures_of_a_set() {
    with_event(|event| {
        let mut jobs = JoinSet::new();
        for number in 0..3 {
            let event = event.clone();
            jobs.push(spawn_future(async move {
                event.wait().await;
                number
            }));
        }
        jobs.push(spawn_handle(|| 3));
        let results = std::iter::from_fn(|| jobs.join_next());
        let mut results: Vec<_> = results.flatten().collect();
        results.sort_unstable();
        assert_eq!(results, [0, 1, 2, 3]);
    });
}

/// The wait ends by another job. The waker that it has left is called later, or never.
#[test]
fn a_wait_leaves_a_future_to_the_workers() {
    for pool in isolated_pools(1) {
        let [event, never] = [(); 2].map(|()| Event::default());
        let (awaited, unused) = (event.clone(), never.clone());
        let mut jobs = JoinSet::new();
        pool.install(|| {
            isolate(|| {
                jobs.push(spawn_future(async move {
                    awaited.wait().await;
                    1
                }));
                jobs.push(spawn_future(async move {
                    unused.wait().await;
                    2
                }));
                jobs.push(spawn_handle(|| 3));
                assert_eq!(jobs.join_next().unwrap().unwrap(), 3);
                jobs.push(spawn_handle(|| 4));
                assert_eq!(jobs.join_next().unwrap().unwrap(), 4);
            });
        });
        event.happen();
        assert_eq!(jobs.join_next().unwrap().unwrap(), 1);
        jobs.abort_all();
        assert!(
            jobs.join_next()
                .unwrap()
                .is_err_and(|error| error.is_aborted())
        );
        drop(never);
        pool.shutdown().unwrap();
    }
}

/// The wake-ups come at any moment of the wait, and the futures go back and forth between the
/// workers.
#[test]
fn wake_ups_against_an_isolated_block_on() {
    let rounds = if cfg!(miri) { 5 } else { 1_000 };
    for workers in [1, 2] {
        for pool in isolated_pools(workers) {
            beside_a_waker(|waker| {
                for _ in 0..rounds {
                    let events = [(); 3].map(|()| Event::default());
                    let [first, second, third] = events.clone();
                    waker.send(events.into()).unwrap();
                    let wait = || {
                        let inner = spawn_future(async move {
                            first.wait().await;
                            second.wait().await;
                        });
                        let other = spawn_future(async move { third.wait().await });
                        let outer = spawn_future(async { inner.await.unwrap() });
                        let mut jobs = JoinSet::from_iter([outer, other]);
                        while let Some(result) = jobs.join_next() {
                            result.unwrap();
                        }
                    };
                    pool.install(|| isolate(wait));
                }
            });
        }
    }
}

/// The waker is code of the user. Its panic goes to the pool, and not to the thread that wakes the
/// future.
#[test]
fn a_waker_may_panic_when_a_future_is_due() {
    struct Panics(AtomicUsize);
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            if self.0.fetch_add(1, SeqCst) == 0 {
                panic_any("a waker");
            }
        }
    }

    let (pool, panics) = pool_with_handler();
    let event = Event::default();
    let calls = Arc::new(Panics(AtomicUsize::new(0)));
    let waker = Waker::from(calls.clone());
    let mut future = pool.install(|| {
        let awaited = event.clone();
        let mut future = spawn_future(async move {
            awaited.wait().await;
            1
        });
        let poll = || pin!(&mut future).poll(&mut Context::from_waker(&waker));
        assert!(isolate(poll).is_pending());
        future
    });
    event.happen();
    assert_eq!(block_on(&mut future).unwrap(), 1);
    let panic = panics.recv().unwrap();
    assert_eq!(panic.downcast_ref(), Some(&"a waker"));
    assert!(calls.0.load(SeqCst) >= 1);
}

/// The waker is code of the user, and runs the task at once.
#[test]
fn a_waker_may_poll_the_handle() {
    struct Task(Mutex<Option<JoinHandle<()>>>);

    impl Task {
        fn run(self: &Arc<Self>) {
            // It is woken in its own polls, too.
            let Ok(mut handle) = self.0.try_lock() else {
                return;
            };
            let waker = Waker::from(self.clone());
            let mut context = Context::from_waker(&waker);
            let is_over = |handle: &mut JoinHandle<()>| {
                let poll = Pin::new(handle).poll(&mut context);
                poll.map(Result::unwrap).is_ready()
            };
            if handle.as_mut().is_some_and(is_over) {
                *handle = None;
            }
        }
    }

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.run();
        }
    }

    for pool in isolated_pools(1) {
        let call = || {
            let events = [(); 2].map(|()| Event::default());
            let [first, second] = events.clone();
            let future = spawn_future(async move {
                first.wait().await;
                second.wait().await;
            });
            let task = Arc::new(Task(Mutex::new(Some(future))));
            task.run();
            for event in events {
                assert!(task.0.lock().unwrap().is_some());
                event.happen();
            }
            assert!(task.0.lock().unwrap().is_none());
        };
        pool.install(|| isolate(call));
        pool.shutdown().unwrap();
    }
}

/// They were polled before, where the worker takes each of them from a queue.
#[test]
fn an_isolated_worker_polls_what_its_future_awaits_since_before_the_call() {
    let waits: [fn(JoinHandle<u8>) -> u8; 4] = [
        |outer| outer.join().unwrap(),
        |outer| block_on(outer).unwrap(),
        |outer| JoinSet::from_iter([outer]).join_next().unwrap().unwrap(),
        |mut outer| {
            while !outer.wait_timeout(Duration::ZERO) {}
            outer.join().unwrap()
        },
    ];
    for pool in isolated_pools(1) {
        for wait in waits {
            let event = Event::default();
            let awaited = event.clone();
            pool.install(|| {
                let inner = spawn_future(async move {
                    awaited.wait().await;
                    1
                });
                let outer = spawn_future(async { inner.await.unwrap() + 1 });
                while yield_now() == Some(Yield::Executed) {}
                event.happen();
                assert_eq!(isolate(|| wait(outer)), 2);
            });
        }
        pool.shutdown().unwrap();
    }
}

/// The other worker has the job on its deque, and waits for the isolated call.
#[test]
fn an_isolated_worker_runs_what_its_future_awaits_since_another_one_has_polled_it() {
    let pool = pool(2);
    let (end, may_end) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let ends = Mutex::new(Some(may_end));
    let joiner = Arc::new(AtomicUsize::new(usize::MAX));
    let polled_by = joiner.clone();
    let mut job: Option<JoinHandle<()>> = None;
    let future = pool.spawn_future(poll_fn(move |context| {
        let here = pool_std::current_thread_index().unwrap();
        if let Some(job) = &mut job {
            return Pin::new(job).poll(context).map(Result::unwrap);
        }
        if polled_by.load(SeqCst) == usize::MAX || here == polled_by.load(SeqCst) {
            // Until the other worker polls it.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let job = job.insert(spawn_handle(|| ()));
        assert!(Pin::new(job).poll(context).is_pending());
        let (may_end, begun) = (ends.lock().unwrap().take().unwrap(), begun.clone());
        // The newest job of the deque, which it begins next.
        pool_std::spawn(move || {
            begun.send(()).unwrap();
            _ = may_end.recv();
        });
        Poll::Pending
    }));
    pool.install(|| {
        joiner.store(pool_std::current_thread_index().unwrap(), SeqCst);
        isolate(|| future.join().unwrap());
    });
    begins.recv().unwrap();
    drop(end);
    pool.shutdown().unwrap();
}
