//! Jobs whose results are taken in the order in which they end.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use pool_std::{
    CancelToken, JoinError, JoinSet, ThreadPool, ThreadPoolBuilder, block_on, isolate, scope,
    spawn, spawn_future, spawn_handle, spawn_handle_in,
};
use proptest::prelude::*;

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().unwrap()
}

/// Takes all results, and sorts them.
fn take_all<T: Ord>(jobs: &mut JoinSet<'_, T>) -> Vec<T> {
    let mut results = Vec::new();
    while let Some(result) = jobs.join_next() {
        results.push(result.unwrap());
    }
    assert!(jobs.is_empty() && jobs.try_join_next().is_none());
    results.sort();
    results
}

#[test]
fn results_come_in_the_order_in_which_the_jobs_end() {
    let pool = pool(3);
    let mut jobs = JoinSet::new();
    let go_on: Vec<_> = (0..3)
        .map(|number| {
            let (sender, receiver) = mpsc::channel::<()>();
            jobs.push(pool.spawn_handle(move || {
                receiver.recv().unwrap();
                number
            }));
            sender
        })
        .collect();
    for number in [2, 0, 1] {
        assert!(jobs.try_join_next().is_none());
        go_on[number].send(()).unwrap();
        assert_eq!(jobs.join_next().unwrap().unwrap(), number);
    }
    assert!(jobs.join_next().is_none());
    jobs.push(pool.spawn_handle(|| 7));
    assert_eq!(take_all(&mut jobs), [7], "it may be used again");
}

#[test]
fn the_only_worker_runs_the_jobs_that_it_waits_for() {
    let pool = pool(1);
    let wait = || {
        let mut jobs = JoinSet::from_iter((0..10).map(|number| spawn_handle(move || number)));
        jobs.push(spawn_future(async { 10 }));
        assert!(take_all(&mut jobs).into_iter().eq(0..=10));
    };
    pool.install(wait);
    pool.install(|| isolate(wait));
    pool.install(|| pool_std::join(wait, wait));
    pool.shutdown().unwrap();
}

/// The frame below may hold a lock that other jobs take.
#[test]
fn an_isolated_worker_runs_no_jobs_of_others() {
    let pool = pool(1);
    pool.install(|| {
        let is_held = Arc::new(std::sync::Mutex::new(()));
        let other = is_held.clone();
        spawn(move || drop(other.try_lock().unwrap()));
        isolate(|| {
            let _guard = is_held.lock().unwrap();
            let mut jobs = JoinSet::from_iter((0..3).map(|number| spawn_handle(move || number)));
            assert_eq!(take_all(&mut jobs), [0, 1, 2]);
        });
    });
    pool.shutdown().unwrap();
}

#[test]
fn jobs_of_a_scope_may_borrow() {
    let pool = pool(2);
    let words = ["one", "three", "four"].map(String::from);
    let lengths = pool.install(|| {
        scope(|scope| {
            let spawn = |word: &'_ String| word.len();
            let mut jobs: JoinSet<'_, usize> = JoinSet::new();
            for word in &words {
                jobs.push(spawn_handle_in(scope, move |_| spawn(word)));
            }
            take_all(&mut jobs)
        })
    });
    assert_eq!(lengths, [3, 4, 5]);
}

#[test]
fn a_set_that_is_dropped_detaches_its_jobs() {
    let pool = pool(1);
    let runs = Arc::new(AtomicUsize::new(0));
    pool.install(|| {
        let job = || {
            let runs = runs.clone();
            spawn_handle(move || runs.fetch_add(1, SeqCst))
        };
        drop(JoinSet::from_iter([job(), job()]));
        assert_eq!(runs.load(SeqCst), 0, "the only worker is here");
    });
    pool.wait_idle().unwrap();
    assert_eq!(runs.load(SeqCst), 2);
    assert_eq!(Arc::strong_count(&runs), 1);
}

#[test]
fn all_jobs_are_aborted_although_a_drop_panics() {
    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("by design");
        }
    }

    let pool = pool(1);
    pool.install(|| {
        let panics = || {
            let panics = Panics;
            spawn_handle(move || drop(panics))
        };
        let mut jobs = JoinSet::from_iter([panics(), spawn_handle(|| ()), panics()]);
        assert!(catch_unwind(AssertUnwindSafe(|| jobs.abort_all())).is_err());
        for _ in 0..3 {
            assert!(jobs.join_next().unwrap().unwrap_err().is_aborted());
        }
        assert!(jobs.join_next().is_none());
    });
}

/// Counts its calls.
#[derive(Default)]
struct Rings(AtomicUsize);

impl Wake for Rings {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_future_that_is_dropped_loses_no_result() {
    let pool = pool(1);
    let (go_on, receiver) = mpsc::channel::<()>();
    let mut jobs = JoinSet::new();
    jobs.push(pool.spawn_handle(move || receiver.recv().is_ok()));
    let rings: [Arc<Rings>; 2] = Default::default();
    for rings in &rings {
        let waker = Waker::from(rings.clone());
        let next = pin!(jobs.next());
        assert!(next.poll(&mut Context::from_waker(&waker)).is_pending());
    }
    go_on.send(()).unwrap();
    while rings[1].0.load(SeqCst) == 0 {
        thread::yield_now();
    }
    assert_eq!(rings[0].0.load(SeqCst), 0, "only the last one is woken");
    let poll = pin!(jobs.next()).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(poll, Poll::Ready(Some(Ok(true)))));
    assert!(block_on(jobs.next()).is_none());
}

#[test]
fn a_job_of_a_pool_that_has_ended_is_aborted() {
    let pool = pool(1);
    pool.shutdown_timeout(Duration::MAX).unwrap();
    let mut jobs = JoinSet::from_iter([pool.spawn_handle(|| 1)]);
    assert!(jobs.join_next().unwrap().unwrap_err().is_aborted());
}

/// What a job does, and what becomes of it.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Returns,
    Panics,
    /// Of a token that is cancelled before or after it begins.
    Cancelled,
    Future,
    /// Spawns another one, and waits for it.
    Nested,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Push(Kind),
    Join,
    TryJoin,
    Abort,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kinds = [
        Kind::Returns,
        Kind::Panics,
        Kind::Cancelled,
        Kind::Future,
        Kind::Nested,
    ];
    let step = prop_oneof![
        8 => prop::sample::select(kinds.to_vec()).prop_map(Step::Push),
        3 => Just(Step::Join),
        3 => Just(Step::TryJoin),
        1 => Just(Step::Abort),
    ];
    prop::collection::vec(step, 0..30)
}

/// Runs the steps, and accounts for each job. Each has a clone of `alive`.
fn run(steps: &[Step], alive: &Arc<()>) {
    let (mut jobs, token) = (JoinSet::new(), CancelToken::new());
    let (mut pushed, mut ended) = (Vec::new(), Vec::new());
    let mut take = |result: Result<usize, JoinError>| ended.push(result);
    let mut may_abort = false;
    for &step in steps {
        match step {
            Step::Push(kind) => {
                let (number, alive) = (pushed.len(), alive.clone());
                pushed.push(kind);
                let job = move || {
                    let _alive = alive;
                    match kind {
                        Kind::Panics => std::panic::resume_unwind(Box::new(number)),
                        Kind::Nested => {
                            let job = || spawn_handle(move || number);
                            let mut jobs = JoinSet::from_iter([job(), job()]);
                            take_all(&mut jobs)[0]
                        }
                        _ => number,
                    }
                };
                jobs.push(match kind {
                    Kind::Cancelled => token.spawn_handle(job),
                    Kind::Future => spawn_future(async move { job() }),
                    _ => spawn_handle(job),
                });
            }
            Step::Join => jobs.join_next().into_iter().for_each(&mut take),
            Step::TryJoin => jobs.try_join_next().into_iter().for_each(&mut take),
            Step::Abort => {
                may_abort = true;
                token.cancel();
                jobs.abort_all();
            }
        }
    }
    while let Some(result) = jobs.join_next() {
        take(result);
    }
    assert_eq!(ended.len(), pushed.len());
    let mut returned = Vec::new();
    for result in ended {
        match result {
            Ok(number) => {
                assert!(!matches!(pushed[number], Kind::Panics));
                returned.push(number);
            }
            Err(error) if error.is_aborted() => assert!(may_abort),
            Err(error) => {
                let number = *error.try_into_panic().unwrap().downcast::<usize>().unwrap();
                assert!(matches!(pushed[number], Kind::Panics));
                returned.push(number);
            }
        }
    }
    returned.sort_unstable();
    returned.dedup();
    assert!(
        may_abort || returned.len() == pushed.len(),
        "each ends once"
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_steps_account_for_each_job(steps in steps(), workers in 1..4_usize) {
        let (pool, alive) = (pool(workers), Arc::new(()));
        pool.install(|| run(&steps, &alive));
        pool.install(|| isolate(|| run(&steps, &alive)));
        // A job is aborted before its closure is dropped.
        pool.shutdown().unwrap();
        assert_eq!(Arc::strong_count(&alive), 1);
        run(&steps, &alive);
    }
}
