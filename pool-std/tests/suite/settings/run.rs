//! Makes the calls of a program.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::Poll,
    thread,
    time::Duration,
    vec::IntoIter,
};

use pool_std::{CancelToken, Isolation, JoinHandle, Scope, ThreadPool};

use super::{
    counts::{Counts, caught, throw},
    program::{Call, End, Leaf, Program, Reading, Spawn},
};

static NOTHING: Program = Vec::new();

/// Makes the calls of a program, as a worker of the pool or as another thread.
pub(super) fn run(pool: &Arc<ThreadPool>, program: &Program, counts: &Counts) {
    for call in program {
        make(pool, call, counts);
    }
}

fn make(pool: &Arc<ThreadPool>, call: &Call, counts: &Counts) {
    let closure = |program| counts.closure(pool, program);
    match call {
        Call::Join(a, b) => _ = pool.join(closure(a), counts.closure_for(pool, b, 1, true)),
        Call::Scope(jobs) => pool.scope(|scope| {
            for job in jobs {
                let job = closure(job);
                scope.spawn(move |_| job());
            }
        }),
        Call::ScopeFifo(jobs) => pool.scope_fifo(|scope| {
            for job in jobs {
                let job = closure(job);
                scope.spawn_fifo(move |_| job());
            }
        }),
        Call::InPlaceScope(jobs) => pool.in_place_scope(|scope| {
            for job in jobs {
                let job = closure(job);
                scope.spawn(move |_| job());
            }
        }),
        Call::ScopeChain(jobs) => {
            let jobs: Vec<_> = jobs.iter().map(closure).collect();
            pool.scope(|scope| match counts.isolation {
                // The wait for the scope takes no job that another worker has queued.
                Isolation::Nothing => jobs.into_iter().for_each(|job| scope.spawn(move |_| job())),
                _ => spawn_chain(scope, jobs.into_iter()),
            });
        }
        Call::Spawn(how, job) => match how {
            Spawn::Lifo => pool.spawn(closure(job)),
            Spawn::Fifo => pool.spawn_fifo(closure(job)),
            Spawn::Urgent => pool.spawn_urgent(closure(job)),
            Spawn::Background => pool.spawn_background(closure(job)),
        },
        Call::Handles(jobs, is_forward) => {
            let mut handles: Vec<_> = jobs
                .iter()
                .map(|job| pool.spawn_handle(closure(job)))
                .collect();
            if !is_forward {
                handles.reverse();
            }
            for handle in handles {
                counts.join(handle);
            }
        }
        Call::DroppedHandle(job) => drop(pool.spawn_handle(closure(job))),
        Call::Cancelled(job) => {
            let token = CancelToken::new();
            let handle = pool.spawn_handle_unless(&token, closure(job));
            token.cancel();
            match handle.join() {
                Err(error) if error.is_aborted() => counts.abort(),
                result => counts.check(result),
            }
        }
        Call::ScopedHandles(jobs) => pool.scope(|scope| {
            let spawn = |job| {
                let job = closure(job);
                pool_std::spawn_handle_in(scope, move |_| job())
            };
            let handles: Vec<_> = jobs.iter().map(spawn).collect();
            handles.into_iter().rev().for_each(|it| counts.join(it));
        }),
        Call::SpawnedByAnother(jobs, joins) => pool.scope(|scope| {
            let spawn = |job| {
                let job = closure(job);
                pool_std::spawn_handle_in(scope, move |_| job())
            };
            let spawn_all = || jobs.iter().map(spawn).collect::<Vec<_>>();
            let handles = if counts.may_depend_on_time {
                thread::scope(|threads| threads.spawn(spawn_all).join().unwrap())
            } else {
                spawn_all()
            };
            for handle in handles.into_iter().filter(|_| *joins) {
                counts.join(handle);
            }
        }),
        Call::ScopeWithBody(first, body, last, joins) => pool.scope(|scope| {
            let spawn = |job| {
                let job = closure(job);
                pool_std::spawn_handle_in(scope, move |_| job())
            };
            let handles: Vec<_> = (0..*first).map(|_| spawn(&NOTHING)).collect();
            pool.scope(|inner| {
                closure(body)();
                for handle in handles.into_iter().filter(|_| *joins) {
                    inner.spawn(|_| counts.join(handle));
                }
                for job in last {
                    let job = closure(job);
                    inner.spawn(move |_| job());
                }
            });
            last.iter().map(spawn).for_each(drop);
        }),
        Call::HandlesLeave(jobs, isolation, how) => {
            let inner = counts.isolated(*isolation);
            let handles = Mutex::new(Vec::new());
            pool.scope(|scope| {
                for job in jobs {
                    // A join in isolation may run it there.
                    let (job, handles) = (inner.closure(pool, job), &handles);
                    scope.spawn(move |_| {
                        let handle = pool.spawn_handle(job);
                        handles.lock().unwrap().push(handle);
                    });
                }
            });
            let handles = handles.into_inner().unwrap();
            let end_all = || {
                for handle in handles {
                    if end(pool, handle, *how, &inner) {
                        counts.abort();
                    }
                }
            };
            match pool.current_thread_index() {
                Some(_) => pool_std::with_isolation(*isolation, end_all),
                // The call would be a job, which one of these jobs may run on top of itself.
                None => end_all(),
            }
        }
        Call::Keep(leaf) => {
            let job = closure(&NOTHING);
            let pool_of_leaf = pool.clone();
            let handle = match *leaf {
                Leaf::Nothing => pool.spawn_handle(job),
                Leaf::Panics => pool.spawn_handle(move || {
                    job();
                    throw()
                }),
                Leaf::Spawns => pool.spawn_handle(move || pool_of_leaf.spawn(job)),
                Leaf::Future(waits) => pool.spawn_future(async move {
                    wait(waits).await;
                    job();
                }),
            };
            counts.keep(handle, *leaf);
        }
        Call::EndKept(how) => {
            if let Some((handle, leaf)) = counts.take_kept() {
                // An isolated call that yields may run any job. There, a future that has waited is
                // polled only by a worker that joins that future itself.
                let how = match (leaf, *how) {
                    (Leaf::Future(1..), End::BlockOn | End::Await) => End::Join,
                    (_, how) => how,
                };
                let is_aborted = end(pool, handle, how, counts);
                match leaf {
                    _ if !is_aborted => {}
                    Leaf::Future(_) => counts.abort_future(),
                    _ => counts.abort(),
                }
            }
        }
        Call::Future(waits, job) => {
            let (waits, job) = (*waits, closure(job));
            let future = async move {
                wait(waits).await;
                job();
            };
            counts.join(pool.spawn_future(future));
        }
        Call::FutureOfHandle(job) => {
            let (job, pool_of_future, checks) = (closure(job), pool.clone(), counts.clone());
            let future = async move { checks.check(pool_of_future.spawn_handle(job).await) };
            counts.join(pool.spawn_future(future));
        }
        Call::BlockOn(first, then) => pool_std::block_on(async {
            closure(first)();
            wait(1).await;
            counts.check(pool.spawn_handle(closure(then)).await);
        }),
        Call::Guest(job) => pool.call(closure(job)),
        Call::Broadcast(job) => {
            let job = counts.closure_for(pool, job, pool.current_num_threads(), false);
            pool.broadcast(|_| job());
        }
        Call::Install(job) => pool.install(closure(job)),
        Call::Isolate(how, job) => {
            pool_std::with_isolation(*how, counts.isolated(*how).closure(pool, job));
        }
        Call::BlockInPlace(job) => pool_std::block_in_place(closure(job)),
        Call::Read(how, job) => {
            let progress = pool.progress();
            let is_over = Arc::new(AtomicBool::new(false));
            let read = || {
                let _over = SetOnDrop(&is_over);
                let seen = is_over.clone();
                progress.defer(move || assert!(seen.load(SeqCst), "a reader is in the way"));
                closure(job)();
            };
            match how {
                Reading::Closure => progress.while_reading(|_| read()),
                Reading::Guard => {
                    let _guard = progress.read();
                    read();
                }
            }
        }
        Call::Catch(job) => {
            let _ = catch_unwind(AssertUnwindSafe(closure(job))).map_err(caught);
        }
        Call::Panic => throw(),
        Call::Yield => _ = pool.yield_now(),
        Call::YieldLocal => _ = pool.yield_local(),
        Call::SetActive(last) => {
            let count = 1 + last % pool.current_num_threads();
            pool.set_active_workers(count).unwrap();
        }
    }
}

/// Sets a flag also if a program panics.
struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Spawns a job of a scope, which spawns the next one.
fn spawn_chain<'scope, J: Fn() + Send + 'scope>(scope: &Scope<'scope>, mut jobs: IntoIter<J>) {
    if let Some(job) = jobs.next() {
        scope.spawn(move |scope| {
            spawn_chain(scope, jobs);
            job();
        });
    }
}

/// Ends the handle of a job that was spawned since this frame began, or of one that calls nothing.
/// Returns whether it has aborted the job.
pub(super) fn end(
    pool: &ThreadPool,
    mut handle: JoinHandle<()>,
    how: End,
    counts: &Counts,
) -> bool {
    match how {
        End::Drop => drop(handle),
        End::Abort => {
            let is_aborted = handle.abort();
            let result = handle.join();
            if is_aborted {
                assert!(result.is_err_and(|error| error.is_aborted()));
            } else {
                counts.check(result);
            }
            return is_aborted;
        }
        End::Wait if counts.may_depend_on_time => {
            let is_finished = handle.wait_timeout(Duration::from_micros(100));
            assert!(handle.is_finished() || !is_finished);
            counts.join(handle);
        }
        End::BlockOn => counts.check(pool_std::block_on(handle)),
        End::Await => {
            let checks = counts.clone();
            counts.join(pool.spawn_future(async move { checks.check(handle.await) }));
        }
        End::Join | End::Wait => counts.join(handle),
    }
    false
}

/// A future that waits so often, and is woken at once.
fn wait(times: u8) -> impl Future<Output = ()> + Send {
    let mut left = times;
    poll_fn(move |context| match left.checked_sub(1) {
        None => Poll::Ready(()),
        Some(fewer) => {
            left = fewer;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
}
