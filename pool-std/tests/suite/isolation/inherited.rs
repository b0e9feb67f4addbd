//! Jobs of an isolated call that reach another worker in some other way than by a steal from the
//! job that has spawned them.

use super::*;

/// How a call gives a part of its work to another worker, which begins it, and waits for it.
type Share = fn(begins: &(dyn Fn() + Sync), part: &Part);

/// What the other worker runs.
type Part = Arc<dyn Fn() + Send + Sync>;

/// Runs a call that shares its work. The other worker waits in its part for a third one, and a job
/// from outside is offered meanwhile, which would need a lock that the call holds. Returns whether
/// that job has begun while it could only begin in that wait.
fn begins_a_foreign_job(share: Share, is_guest: bool) -> bool {
    let pool = pool_with_guests(3);
    let [part_has_begun, job_has_begun, began] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    let part: Part = {
        let (part_has_begun, job_has_begun) = (part_has_begun.clone(), job_has_begun.clone());
        let began = began.clone();
        Arc::new(move || {
            // The thief of the second half waits until the first one waits for it.
            join(
                || wait_for(&part_has_begun),
                || {
                    part_has_begun.store(true, SeqCst);
                    let begin = Instant::now();
                    while !job_has_begun.load(SeqCst) && begin.elapsed() < CHANCE {
                        thread::yield_now();
                    }
                    began.store(job_has_begun.load(SeqCst), SeqCst);
                },
            );
        })
    };
    thread::scope(|threads| {
        threads.spawn(|| {
            wait_for(&part_has_begun);
            pool.install(|| job_has_begun.store(true, SeqCst));
        });
        let call = || share(&|| wait_for(&part_has_begun), &part);
        match is_guest {
            true => pool.call(call),
            false => pool.install(|| isolate(call)),
        }
    });
    began.load(SeqCst)
}

fn no_foreign_job_begins(share: Share) {
    for _ in 0..if cfg!(miri) { 1 } else { 5 } {
        for is_guest in [true, false] {
            assert!(
                !begins_a_foreign_job(share, is_guest),
                "as a guest: {is_guest}"
            );
        }
    }
}

#[test]
fn a_job_of_a_scope_is_isolated_on_a_thief() {
    no_foreign_job_begins(|begins, part| {
        pool_std::scope(|scope| {
            scope.spawn(|_| part());
            begins();
        });
    });
}

/// The thief runs it after the job that has spawned it.
#[test]
fn a_job_that_a_stolen_one_has_left_is_isolated() {
    no_foreign_job_begins(|begins, part| {
        pool_std::scope(|scope| {
            scope.spawn(|scope| scope.spawn(|_| part()));
            begins();
        });
    });
}

#[test]
fn a_job_of_a_broadcast_is_isolated() {
    no_foreign_job_begins(|begins, part| {
        let own = pool_std::current_thread_index();
        let other = own.map(|index| (index + 1) % 3);
        pool_std::broadcast(|context| match Some(context.index()) {
            index if index == other => part(),
            index if index == own => begins(),
            _ => (),
        });
    });
}

#[test]
fn a_job_of_a_broadcast_in_a_scope_is_isolated() {
    no_foreign_job_begins(|begins, part| {
        let other = pool_std::current_thread_index().map(|index| (index + 1) % 3);
        pool_std::scope(|scope| {
            scope.spawn_broadcast(|_, context| {
                if Some(context.index()) == other {
                    part();
                }
            });
            begins();
        });
    });
}

#[test]
fn a_job_whose_handle_is_joined_is_isolated() {
    no_foreign_job_begins(|begins, part| {
        let part = part.clone();
        let job = pool_std::spawn_handle(move || part());
        begins();
        job.join().unwrap();
    });
}

#[test]
fn a_future_whose_handle_is_joined_is_isolated() {
    no_foreign_job_begins(|begins, part| {
        let part = part.clone();
        let job = pool_std::spawn_future(async move { part() });
        begins();
        job.join().unwrap();
    });
}

/// What was queued before the call is not of the call, whenever it is stolen.
#[test]
fn a_job_that_is_older_than_an_isolated_call_is_not_isolated() {
    assert_ends("the older job is stolen during the call", || {
        let [is_busy, may_steal, has_begun] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
        let stays_on_its_worker = AtomicBool::new(false);
        pool(2).install(|| {
            pool_std::spawn({
                let (is_busy, may_steal) = (is_busy.clone(), may_steal.clone());
                move || {
                    is_busy.store(true, SeqCst);
                    wait_for(&may_steal);
                }
            });
            wait_for(&is_busy);
            join(
                || {
                    isolate(|| {
                        may_steal.store(true, SeqCst);
                        wait_for(&has_begun);
                    });
                },
                || {
                    // What an isolated job spawns goes into the injector.
                    pool_std::spawn(|| ());
                    let is_pending = pool_std::current_thread_has_pending_tasks();
                    stays_on_its_worker.store(is_pending == Some(true), SeqCst);
                    has_begun.store(true, SeqCst);
                },
            );
        });
        assert!(stays_on_its_worker.into_inner());
    });
}

/// A breadth-first deque cannot leave older jobs alone, so that nothing is isolated there.
#[test]
fn a_breadth_first_pool_isolates_nothing() {
    let builder = ThreadPoolBuilder::new().num_threads(1).breadth_first();
    let pool = builder.isolation(Isolation::Subtree).build().unwrap();
    pool.install(|| {
        pool_std::spawn(|| ());
        let is_pending = pool_std::current_thread_has_pending_tasks();
        assert_eq!(is_pending, Some(true), "the job is in the injector");
    });
}
