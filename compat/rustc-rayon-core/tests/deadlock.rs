//! Workers that block each other, by the interface of rustc's pool.

use std::{
    panic::catch_unwind,
    sync::{
        Arc, Barrier, Condvar, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use rayon_core::{
    Registry, ThreadPool, ThreadPoolBuilder, current_thread_index, join, mark_blocked,
    mark_unblocked, scope,
};

/// What a worker waits for that needs the value of a query, as in rustc: set once, and before that
/// the breaker of a cycle can take a waiter out.
#[derive(Default)]
struct QueryLatch {
    state: Mutex<LatchState>,
}

#[derive(Default)]
struct LatchState {
    value: Option<u32>,
    waiters: Vec<Arc<Waiter>>,
}

#[derive(Default)]
struct Waiter {
    woken: Condvar,
    answer: Mutex<Option<Answer>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Value(u32),
    Cycle,
}

impl QueryLatch {
    fn lock(&self) -> MutexGuard<'_, LatchState> {
        self.state.lock().unwrap()
    }

    /// Waits for the value. Marks the worker with the latch locked, as rustc does, so the handler
    /// is called then too.
    fn wait(&self) -> Answer {
        let mut state = self.lock();
        if let Some(value) = state.value {
            return Answer::Value(value);
        }
        let waiter = Arc::new(Waiter::default());
        state.waiters.push(waiter.clone());
        mark_blocked();
        let is_waiting = |_: &mut LatchState| waiter.answer.lock().unwrap().is_none();
        drop(waiter.woken.wait_while(state, is_waiting).unwrap());
        let answer = waiter.answer.lock().unwrap().take();
        answer.expect("it was woken")
    }

    fn set(&self, value: u32) {
        let mut state = self.lock();
        state.value = Some(value);
        for waiter in state.waiters.drain(..) {
            waiter.resume(&Registry::current(), Answer::Value(value));
        }
    }

    /// Breaks a cycle: resumes one waiter, which gets no value.
    fn break_cycle(&self, registry: &Registry) {
        let mut state = self.lock();
        let waiter = state.waiters.pop().expect("a blocked worker");
        waiter.resume(registry, Answer::Cycle);
    }
}

impl Waiter {
    /// Resumes the worker that waits. The latch is locked.
    fn resume(&self, registry: &Registry, answer: Answer) {
        *self.answer.lock().unwrap() = Some(answer);
        mark_unblocked(registry);
        self.woken.notify_one();
    }
}

/// Builds a pool whose handler sends its registry to the receiver, once for each report.
fn reporting_pool(threads: usize) -> (ThreadPool, Receiver<Arc<Registry>>) {
    let (sender, reports): (Sender<Arc<Registry>>, _) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .deadlock_handler(move || {
            assert!(current_thread_index().is_some());
            sender.send(Registry::current()).unwrap();
        })
        .build()
        .unwrap();
    (pool, reports)
}

/// Computes two queries that need each other, on two workers. Returns what each got of the other.
fn cyclic_queries(a: &QueryLatch, b: &QueryLatch) -> (Answer, Answer) {
    let both = Barrier::new(2);
    let query = |own: &QueryLatch, other: &QueryLatch, value| {
        both.wait();
        let answer = other.wait();
        own.set(value);
        answer
    };
    join(|| query(a, b, 1), || query(b, a, 2))
}

#[test]
fn two_workers_that_wait_for_each_other() {
    let (pool, reports) = reporting_pool(2);
    let (a, b) = (QueryLatch::default(), QueryLatch::default());
    thread::scope(|threads| {
        let queries = threads.spawn(|| pool.install(|| cyclic_queries(&a, &b)));
        let registry = reports.recv().unwrap();
        a.break_cycle(&registry);
        // The second query waited for the first, which then got the value of the second.
        let answers = queries.join().unwrap();
        assert_eq!(answers, (Answer::Value(2), Answer::Cycle));
    });
    assert_eq!(pool.join(|| 1, || 2), (1, 2), "the pool goes on");
    drop(pool);
    assert!(reports.try_iter().next().is_none(), "reported once");
}

#[test]
fn each_of_many_deadlocks_is_reported_once() {
    const ROUNDS: usize = 200;
    let (pool, reports) = reporting_pool(2);
    let counted = thread::scope(|threads| {
        let latches: Vec<_> = (0..ROUNDS).map(|_| <[QueryLatch; 2]>::default()).collect();
        let latches = Arc::new(latches);
        let breaker = threads.spawn({
            let latches = latches.clone();
            move || {
                let mut count = 0;
                for registry in reports {
                    latches[count][count % 2].break_cycle(&registry);
                    count += 1;
                }
                count
            }
        });
        for [a, b] in &*latches {
            let answers = pool.install(|| cyclic_queries(a, b));
            assert!([answers.0, answers.1].contains(&Answer::Cycle));
        }
        // With the handler, the sender ends.
        drop(pool);
        breaker.join().unwrap()
    });
    assert_eq!(counted, ROUNDS);
}

#[test]
fn a_blocked_worker_among_workers_that_sleep() {
    let (pool, reports) = reporting_pool(3);
    let latch = QueryLatch::default();
    thread::scope(|threads| {
        let query = threads.spawn(|| pool.install(|| latch.wait()));
        let registry = reports.recv().unwrap();
        latch.break_cycle(&registry);
        assert_eq!(query.join().unwrap(), Answer::Cycle);
    });
}

#[test]
fn workers_that_are_resumed_together() {
    for _ in 0..100 {
        let (pool, reports) = reporting_pool(4);
        let latch = QueryLatch::default();
        let waiting = AtomicUsize::new(0);
        let wait = || {
            waiting.fetch_add(1, SeqCst);
            assert_eq!(latch.wait(), Answer::Value(7));
        };
        pool.install(|| {
            scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|_| wait());
                }
                // This worker stays active, so nothing is reported.
                while waiting.load(SeqCst) < 3 {
                    thread::yield_now();
                }
                latch.set(7);
            });
        });
        assert!(reports.try_recv().is_err());
    }
}

#[test]
fn a_chain_of_queries_is_no_deadlock() {
    let (pool, reports) = reporting_pool(2);
    for _ in 0..200 {
        let latch = QueryLatch::default();
        let both = Barrier::new(2);
        let answers = pool.install(|| {
            join(
                || {
                    both.wait();
                    latch.wait()
                },
                || {
                    both.wait();
                    latch.set(3);
                },
            )
        });
        assert_eq!(answers.0, Answer::Value(3));
    }
    assert!(reports.try_recv().is_err());
}

#[test]
fn the_registry_of_a_worker_is_its_pools() {
    let (pool, reports) = reporting_pool(1);
    let (other, other_reports) = reporting_pool(1);
    let latch = QueryLatch::default();
    thread::scope(|threads| {
        let query = threads.spawn(|| pool.install(|| latch.wait()));
        latch.break_cycle(&reports.recv().unwrap());
        assert_eq!(query.join().unwrap(), Answer::Cycle);
    });
    assert_eq!(other.install(|| 1), 1);
    assert!(other_reports.try_recv().is_err());
}

#[test]
fn a_thread_that_is_no_worker_cannot_be_marked() {
    assert!(catch_unwind(mark_blocked).is_err());
}
