//! Jobs that are spawned in a scope by a worker that is in no job of that scope, or in one that its
//! queue did not give it. If the scope's worker waits in isolation, it does not find such jobs on
//! that worker's deque.

use pool_std::{Scope, current_thread_index, scope, spawn_handle_in, spawn_urgent};

use super::*;

type Spawn = Arc<dyn Fn(&Scope<'static>) + Send + Sync>;

/// Runs a job of a pool of two workers that opens a scope, under a lock, and lends the scope. What
/// it is lent to spawns a job in it, on the other worker, which then waits for the lock, before it
/// looks at its deque.
fn assert_runs_what_is_spawned(
    is_whole_pool: bool,
    lend: fn(&'static ThreadPool, &Scope<'static>, Spawn),
) {
    assert_ends("the other worker keeps the job, and waits", move || {
        let builder = builder_with_guests(2);
        let builder = if is_whole_pool {
            builder.isolation(Isolation::Subtree)
        } else {
            builder
        };
        let pool: &'static ThreadPool = Box::leak(Box::new(builder.build().unwrap()));
        let lock = Arc::new(Mutex::new(()));
        let [has_spawned, is_run] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let spawn = {
            let (lock, has_spawned, is_run) = (lock.clone(), has_spawned.clone(), is_run.clone());
            move |scope: &Scope<'static>| {
                let (lock, is_run) = (lock.clone(), is_run.clone());
                spawn_urgent(move || drop(lock.lock().unwrap()));
                scope.spawn(move |_| is_run.store(true, SeqCst));
                has_spawned.store(true, SeqCst);
            }
        };
        let call = || {
            let held = lock.lock().unwrap();
            scope(|scope| {
                lend(pool, scope, Arc::new(spawn));
                wait_for(&has_spawned);
            });
            assert!(is_run.load(SeqCst));
            drop(held);
        };
        if is_whole_pool {
            pool.install(call);
        } else {
            pool.install(|| isolate(call));
        }
    });
}

/// Calls a closure on a thread that is not a worker.
fn on_another_thread(closure: impl FnOnce() + Send) {
    thread::scope(|threads| _ = threads.spawn(closure));
}

#[test]
fn a_call_into_the_pool_spawns_in_an_isolated_scope() {
    assert_runs_what_is_spawned(false, |pool, scope, spawn| {
        on_another_thread(|| pool.install(|| spawn(scope)));
    });
    assert_runs_what_is_spawned(false, |pool, scope, spawn| {
        on_another_thread(|| pool.call(|| spawn(scope)));
    });
}

#[test]
fn a_job_of_another_scope_spawns_in_an_isolated_scope() {
    assert_runs_what_is_spawned(false, |pool, scope, spawn| {
        on_another_thread(|| pool.scope(|other| other.spawn(|_| spawn(scope))));
    });
}

#[test]
fn jobs_of_a_pool_that_isolates_spawn_in_their_scope() {
    assert_runs_what_is_spawned(true, |_, scope, spawn| {
        on_another_thread(|| scope.spawn(move |scope| spawn(scope)));
    });
    assert_runs_what_is_spawned(true, |_, scope, spawn| {
        let here = current_thread_index().unwrap();
        scope.spawn_broadcast(move |scope, context| {
            if context.index() != here {
                spawn(scope);
            }
        });
    });
}

/// The owner of a handle runs the job itself, and then waits for the lock that the worker of the
/// job's scope holds.
#[test]
fn a_job_that_its_owner_runs_spawns_in_its_isolated_scope() {
    assert_ends("the owner keeps the job, and waits", || {
        let pool = pool_with_guests(2);
        let lock = Arc::new(Mutex::new(()));
        let (sender, receiver) = mpsc::channel::<pool_std::JoinHandle<()>>();
        let [has_begun, has_joined] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let owner = pool.spawn_handle({
            let (lock, has_begun, has_joined) =
                (lock.clone(), has_begun.clone(), has_joined.clone());
            move || {
                isolate(move || {
                    has_begun.store(true, SeqCst);
                    receiver.recv().unwrap().join().unwrap();
                    has_joined.store(true, SeqCst);
                    drop(lock.lock().unwrap());
                });
            }
        });
        wait_for(&has_begun);
        pool.install(|| {
            let _held = lock.lock().unwrap();
            isolate(|| {
                scope(|scope: &Scope<'static>| {
                    let job = spawn_handle_in(scope, |scope| scope.spawn(|_| ()));
                    sender.send(job).unwrap();
                    wait_for(&has_joined);
                });
            });
        });
        owner.join().unwrap();
    });
}
