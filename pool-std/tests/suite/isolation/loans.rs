//! Waits whose worker is lent meanwhile: to a spare thread, which runs any job.

use super::*;

/// It has a stack of its own.
#[test]
fn a_spare_thread_runs_any_job_in_an_isolated_call() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.max_blocking_threads(1).build().unwrap();
    let (sender, receiver) = mpsc::channel();
    let received = pool.install(|| {
        isolate(|| {
            pool_std::spawn(move || sender.send(7).unwrap());
            pool_std::block_in_place(move || receiver.recv())
        })
    });
    assert_eq!(received, Ok(7));
}

/// Calls a closure in the body of an isolated scope, on the only worker, after a spare thread has
/// borrowed the worker and has taken one of two older jobs, which has spawned others. Returns
/// whether the other one, or one of these, has run in the wait.
fn after_a_loan(body: impl FnOnce(&pool_std::Scope<'_>) + Send) -> bool {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.max_blocking_threads(1).build().unwrap();
    let [has_begun, is_over, is_isolated] = [(); 3].map(|()| AtomicBool::new(false));
    let ran_in_the_wait = AtomicBool::new(false);
    pool.install(|| {
        let owner = thread::current().id();
        let note = || {
            let is_owner = thread::current().id() == owner;
            ran_in_the_wait.fetch_or(is_owner && is_isolated.load(SeqCst), SeqCst);
            is_owner
        };
        pool_std::scope(|outer| {
            for _ in 0..2 {
                outer.spawn(|outer| {
                    if note() {
                        return;
                    }
                    outer.spawn(|_| _ = note());
                    outer.spawn_many((0..2).map(|_| |_: &_| _ = note()));
                    has_begun.store(true, SeqCst);
                    wait_for(&is_over);
                    // So that the spare takes no second one.
                    thread::sleep(CHANCE / 5);
                });
            }
            isolate(|| {
                is_isolated.store(true, SeqCst);
                pool_std::scope(|scope| {
                    pool_std::block_in_place(|| {
                        wait_for(&has_begun);
                        is_over.store(true, SeqCst);
                    });
                    body(scope);
                });
                is_isolated.store(false, SeqCst);
            });
        });
    });
    ran_in_the_wait.into_inner()
}

#[test]
fn a_wait_runs_no_older_job_after_a_loan() {
    // Something to wait for, which is not on the deque.
    let from_outside = |scope: &pool_std::Scope<'_>| {
        thread::scope(|threads| {
            threads.spawn(|| scope.spawn(|_| ()));
        });
    };
    assert!(!after_a_loan(from_outside));
}

#[test]
fn a_wait_after_a_loan_runs_what_its_body_has_spawned() {
    let count = Arc::new(AtomicUsize::new(0));
    let body = |scope: &pool_std::Scope<'_>| {
        for _ in 0..3 {
            let count = count.clone();
            scope.spawn(move |_| _ = count.fetch_add(1, SeqCst));
        }
    };
    assert!(!after_a_loan(body));
    assert_eq!(count.load(SeqCst), 3);
}
