//! Programs of calls of a pool, which call each other.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::Poll,
    thread,
    time::Duration,
};

use pool_std::{CancelToken, Isolation, ThreadPool};
use proptest::prelude::*;

/// One call, and what is called in it.
#[derive(Debug, Clone)]
pub(super) enum Call {
    Join(Program, Program),
    Scope(Vec<Program>),
    ScopeFifo(Vec<Program>),
    InPlaceScope(Vec<Program>),
    Spawn(Spawn, Program),
    /// The handles are joined, in this order or backwards.
    Handles(Vec<Program>, bool),
    DroppedHandle(Program),
    /// Handles of a scope.
    ScopedHandles(Vec<Program>),
    /// Another thread spawns them in a scope. Their handles are joined there, or not at all.
    SpawnedByAnother(Vec<Program>, bool),
    /// So many jobs of a scope, a body that runs a program, and jobs of the scope again. The
    /// handles of the first ones are joined by jobs of a scope in the body, or not at all. They
    /// call nothing, so that no such job is run on top of the one that it waits for.
    ScopeWithBody(u8, Program, Vec<Program>, bool),
    /// Does not begin, or is waited for.
    Cancelled(Program),
    /// Likewise.
    Aborted(Program),
    /// The first wait has a limit of time.
    TimedHandle(Program),
    /// A future that waits so often, is woken at once, and then runs a program.
    Future(u8, Program),
    /// As a guest, from outside.
    Guest(Program),
    Broadcast(Program),
    Install(Program),
    Isolate(Isolation, Program),
    BlockInPlace(Program),
    /// The panic of the second half is caught.
    Panic(Program),
    Yield,
}

pub(super) type Program = Vec<Call>;

/// How a job is spawned for which no caller waits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spawn {
    Lifo,
    Fifo,
    Urgent,
    Background,
}

pub(super) fn program() -> impl Strategy<Value = Program> {
    use prop::{collection::vec, sample::select};

    let leaf = prop_oneof![Just(Vec::new()), Just(vec![Call::Yield])];
    leaf.prop_recursive(5, 200, 6, |inner| {
        let some = || vec(inner.clone(), 0..5);
        let one = || inner.clone();
        let spawns = [Spawn::Lifo, Spawn::Fifo, Spawn::Urgent, Spawn::Background];
        let isolations = [Isolation::Anything, Isolation::Subtree, Isolation::Nothing];
        let call = prop_oneof![
            3 => (one(), one()).prop_map(|(a, b)| Call::Join(a, b)),
            2 => some().prop_map(Call::Scope),
            1 => some().prop_map(Call::ScopeFifo),
            1 => some().prop_map(Call::InPlaceScope),
            3 => (select(spawns.to_vec()), one()).prop_map(|(how, it)| Call::Spawn(how, it)),
            2 => (some(), any::<bool>()).prop_map(|(jobs, order)| Call::Handles(jobs, order)),
            1 => one().prop_map(Call::DroppedHandle),
            1 => some().prop_map(Call::ScopedHandles),
            1 => (some(), any::<bool>()).prop_map(|(jobs, joins)| Call::SpawnedByAnother(jobs, joins)),
            3 => (0..4_u8, one(), some(), any::<bool>())
                .prop_map(|(first, body, last, joins)| Call::ScopeWithBody(first, body, last, joins)),
            1 => one().prop_map(Call::Cancelled),
            1 => one().prop_map(Call::Aborted),
            1 => one().prop_map(Call::TimedHandle),
            2 => (0..4_u8, one()).prop_map(|(waits, it)| Call::Future(waits, it)),
            2 => one().prop_map(Call::Guest),
            1 => one().prop_map(Call::Broadcast),
            1 => one().prop_map(Call::Install),
            2 => (select(isolations.to_vec()), one()).prop_map(|(how, it)| Call::Isolate(how, it)),
            1 => one().prop_map(Call::BlockInPlace),
            1 => one().prop_map(Call::Panic),
            1 => Just(Call::Yield),
        ];
        vec(call, 1..6)
    })
}

/// Counts the closures that should run, and those that did.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    expected: Arc<AtomicUsize>,
    run: Arc<AtomicUsize>,
}

impl Counts {
    pub(super) fn check(&self) {
        assert_eq!(self.run.load(SeqCst), self.expected.load(SeqCst));
    }

    /// Returns a closure that counts itself and runs a program.
    fn closure(
        &self,
        pool: &Arc<ThreadPool>,
        program: &Program,
    ) -> impl Fn() + Send + Sync + use<> {
        self.expected.fetch_add(1, SeqCst);
        let (counts, pool, program) = (self.clone(), pool.clone(), program.clone());
        move || {
            counts.run.fetch_add(1, SeqCst);
            run(&pool, &program, &counts);
        }
    }
}

/// Makes the calls of a program, as a worker of the pool or as another thread.
pub(super) fn run(pool: &Arc<ThreadPool>, program: &Program, counts: &Counts) {
    for call in program {
        make(pool, call, counts);
    }
}

fn make(pool: &Arc<ThreadPool>, call: &Call, counts: &Counts) {
    let closure = |program| counts.closure(pool, program);
    match call {
        Call::Join(a, b) => _ = pool.join(closure(a), closure(b)),
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
                handle.join().unwrap();
            }
        }
        Call::DroppedHandle(job) => drop(pool.spawn_handle(closure(job))),
        Call::Cancelled(job) => {
            let token = CancelToken::new();
            let handle = pool.spawn_handle_unless(&token, closure(job));
            token.cancel();
            if handle.join().is_err() {
                counts.run.fetch_add(1, SeqCst);
            }
        }
        Call::ScopedHandles(jobs) => pool.scope(|scope| {
            let spawn = |job| {
                let job = closure(job);
                pool_std::spawn_handle_in(scope, move |_| job())
            };
            let handles: Vec<_> = jobs.iter().map(spawn).collect();
            handles.into_iter().rev().for_each(|it| it.join().unwrap());
        }),
        Call::SpawnedByAnother(jobs, joins) => pool.scope(|scope| {
            let spawn = |job| {
                let job = closure(job);
                pool_std::spawn_handle_in(scope, move |_| job())
            };
            let handles: Vec<_> = thread::scope(|threads| {
                threads
                    .spawn(|| jobs.iter().map(spawn).collect())
                    .join()
                    .unwrap()
            });
            for handle in handles.into_iter().filter(|_| *joins) {
                handle.join().unwrap();
            }
        }),
        Call::ScopeWithBody(first, body, last, joins) => pool.scope(|scope| {
            let spawn = |job| {
                let job = closure(job);
                pool_std::spawn_handle_in(scope, move |_| job())
            };
            static NOTHING: Program = Vec::new();
            let handles: Vec<_> = (0..*first).map(|_| spawn(&NOTHING)).collect();
            pool.scope(|inner| {
                closure(body)();
                for handle in handles.into_iter().filter(|_| *joins) {
                    inner.spawn(|_| handle.join().unwrap());
                }
                for job in last {
                    let job = closure(job);
                    inner.spawn(move |_| job());
                }
            });
            last.iter().map(spawn).for_each(drop);
        }),
        Call::Aborted(job) => {
            let handle = pool.spawn_handle(closure(job));
            let is_aborted = handle.abort();
            assert_eq!(handle.join().is_err(), is_aborted);
            counts.run.fetch_add(usize::from(is_aborted), SeqCst);
        }
        Call::TimedHandle(job) => {
            let mut handle = pool.spawn_handle(closure(job));
            let is_finished = handle.wait_timeout(Duration::from_micros(100));
            assert!(handle.is_finished() || !is_finished);
            handle.join().unwrap();
        }
        Call::Future(waits, job) => {
            let job = closure(job);
            let mut left = *waits;
            let waits = poll_fn(move |context| match left.checked_sub(1) {
                None => Poll::Ready(()),
                Some(fewer) => {
                    left = fewer;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
            });
            let future = async move {
                waits.await;
                job();
            };
            pool.spawn_future(future).join().unwrap();
        }
        Call::Guest(job) => pool.call(closure(job)),
        Call::Broadcast(job) => {
            let workers = pool.current_num_threads();
            counts.expected.fetch_add(workers - 1, SeqCst);
            let job = closure(job);
            pool.broadcast(|_| job());
        }
        Call::Install(job) => pool.install(closure(job)),
        Call::Isolate(how, job) => pool_std::with_isolation(*how, closure(job)),
        Call::BlockInPlace(job) => pool_std::block_in_place(closure(job)),
        Call::Panic(job) => {
            let job = closure(job);
            let panics = || pool.join(job, || resume_unwind(Box::new("as it should")));
            let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            assert!(payload.is::<&str>());
        }
        Call::Yield => _ = pool.yield_now(),
    }
}
