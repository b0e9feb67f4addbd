//! Random sequences of what a program does with handles, against what each job says of itself.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use proptest::prelude::*;

use super::*;
use crate::{
    CancelToken, Priority, Scope, ShutdownError, ThreadPool, ThreadPoolBuilder, sync::lock,
};

/// How a job comes into being.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Closure,
    /// In an isolated call, so that no worker finds it in its own deque.
    Isolated,
    Unless,
    /// In the queue of urgent or of background jobs.
    Prioritized(bool),
    /// Of the scope that the thread is in.
    Scoped,
    /// Of the same scope, spawned by a thread outside.
    ScopedElsewhere,
    /// Polled once more than this number of times.
    Future(u8),
}

/// What is done with a handle. It is dropped after the last step, unless that consumes it.
#[derive(Debug, Clone, Copy)]
enum Step {
    Poll,
    Wait(u8),
    Isolated(u8),
    Look,
    Abort,
    Join,
    IsolatedJoin,
    BlockOn,
    /// A spawned job does the other steps.
    Pass,
}

/// What a thread does in turn.
#[derive(Debug, Clone)]
enum Action {
    Spawn {
        kind: Kind,
        panics: bool,
    },
    /// With the handle of this number, modulo how many there are.
    End(usize, Vec<Step>),
    Cancel,
    Yield,
}

#[derive(Debug, Clone, Copy)]
struct Setting {
    threads: usize,
    adopts: bool,
    calls: u8,
    /// After how many actions another thread discards the jobs.
    discards_after: Option<usize>,
}

fn action() -> impl Strategy<Value = Action> {
    let kind = prop_oneof![
        2 => Just(Kind::Closure),
        2 => Just(Kind::Isolated),
        1 => Just(Kind::Unless),
        2 => any::<bool>().prop_map(Kind::Prioritized),
        2 => Just(Kind::Scoped),
        1 => Just(Kind::ScopedElsewhere),
        2 => (0..3_u8).prop_map(Kind::Future),
    ];
    let step = prop_oneof![
        2 => Just(Step::Poll),
        2 => (0..60_u8).prop_map(Step::Wait),
        1 => (0..60_u8).prop_map(Step::Isolated),
        1 => Just(Step::Look),
        1 => Just(Step::Abort),
        2 => Just(Step::Join),
        2 => Just(Step::IsolatedJoin),
        1 => Just(Step::BlockOn),
        2 => Just(Step::Pass),
    ];
    prop_oneof![
        6 => (kind, any::<bool>()).prop_map(|(kind, panics)| Action::Spawn { kind, panics }),
        5 => (any::<usize>(), prop::collection::vec(step, 0..5))
            .prop_map(|(number, steps)| Action::End(number, steps)),
        1 => Just(Action::Cancel),
        1 => Just(Action::Yield),
    ]
}

fn setting() -> impl Strategy<Value = Setting> {
    let discards_after = prop::option::weighted(0.3, 0..20_usize);
    (1..4_usize, any::<bool>(), 0..3_u8, discards_after).prop_map(
        |(threads, adopts, calls, discards_after)| Setting {
            threads,
            adopts,
            calls,
            discards_after,
        },
    )
}

/// What a job says of itself.
#[derive(Default)]
struct Said {
    runs: AtomicUsize,
    /// How many of its runs have not ended.
    running: AtomicUsize,
    /// How many of its closure and its result live.
    alive: AtomicUsize,
    /// Its panic went to the pool's handler.
    handled: AtomicUsize,
    /// Its handle has given its result, or was dropped when the job had ended.
    ended: AtomicUsize,
    /// Its handle has aborted it. If it is a future, its last poll may have begun by then, and a
    /// panic of that goes to the pool's handler.
    aborted: AtomicUsize,
}

/// Lives as long as a closure or a result.
struct Alive(Arc<Said>);

impl Alive {
    fn new(said: &Arc<Said>) -> Self {
        said.alive.fetch_add(1, SeqCst);
        Self(said.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
    }
}

/// The panic of a job.
struct Expected(Arc<Said>);

type Handle = JoinHandle<Alive>;

/// Where jobs are spawned.
#[derive(Clone, Copy)]
struct Place<'p> {
    pool: &'p ThreadPool,
    scope: &'p Scope<'static>,
    token: &'p CancelToken,
}

fn spawn(place: Place<'_>, kind: Kind, panics: bool) -> (Handle, Arc<Said>) {
    let Place { pool, scope, token } = place;
    let said = Arc::<Said>::default();
    let alive = Alive::new(&said);
    let job = move || {
        alive.0.runs.fetch_add(1, SeqCst);
        alive.0.running.fetch_add(1, SeqCst);
        thread::yield_now();
        alive.0.running.fetch_sub(1, SeqCst);
        if panics {
            resume_unwind(Box::new(Expected(alive.0.clone())));
        }
        Alive::new(&alive.0)
    };
    let handle = match kind {
        Kind::Closure => pool.spawn_handle(job),
        Kind::Isolated => crate::isolate(|| pool.spawn_handle(job)),
        Kind::Unless => pool.spawn_handle_unless(token, job),
        Kind::Prioritized(true) => pool.spawn_handle_with(Priority::Urgent, job),
        Kind::Prioritized(false) => pool.spawn_handle_with(Priority::Background, job),
        Kind::Scoped => crate::spawn_handle_in(scope, move |_| job()),
        Kind::ScopedElsewhere => thread::scope(|threads| {
            let spawn = || crate::spawn_handle_in(scope, move |_| job());
            threads.spawn(spawn).join().unwrap()
        }),
        Kind::Future(mut polls) => {
            let mut job = Some(job);
            pool.spawn_future(poll_fn(move |context| match polls.checked_sub(1) {
                Some(left) => {
                    polls = left;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                None => Poll::Ready(job.take().expect("it is polled no more")()),
            }))
        }
    };
    (handle, said)
}

/// Notes what a handle has returned, which agrees with what its job says.
fn note(result: Result<Alive, JoinError>, said: &Arc<Said>) {
    said.ended.fetch_add(1, SeqCst);
    let runs = said.runs.load(SeqCst);
    match result {
        Ok(alive) => assert!(runs == 1 && Arc::ptr_eq(&alive.0, said)),
        // A future that is aborted in its last poll has run.
        Err(error) if error.is_aborted() => assert!(runs <= 1),
        Err(error) => {
            let panic = error.try_into_panic().expect("neither forked nor aborted");
            let panic = panic.downcast::<Expected>().expect("its own panic");
            assert!(runs == 1 && Arc::ptr_eq(&panic.0, said));
        }
    }
}

fn end(pool: &Arc<ThreadPool>, mut handle: Handle, said: Arc<Said>, steps: &[Step]) {
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Poll => {
                let mut context = Context::from_waker(Waker::noop());
                if let Poll::Ready(result) = Pin::new(&mut handle).poll(&mut context) {
                    return note(result, &said);
                }
            }
            Step::Wait(micros) => {
                let has_ended = handle.wait_timeout(Duration::from_micros(micros.into()));
                assert!(!has_ended || handle.is_finished());
            }
            Step::Isolated(micros) => {
                let wait = || handle.wait_timeout(Duration::from_micros(micros.into()));
                crate::isolate(wait);
            }
            Step::Look => _ = handle.is_finished(),
            Step::Abort if handle.abort() => {
                said.aborted.fetch_add(1, SeqCst);
                assert!(handle.is_finished());
            }
            Step::Abort => {}
            Step::IsolatedJoin => return note(crate::isolate(|| handle.join()), &said),
            Step::BlockOn => return note(crate::block_on(handle), &said),
            Step::Join => return note(handle.join(), &said),
            Step::Pass => {
                // A pool that discards its jobs drops the handle.
                let (own, rest) = (Arc::downgrade(pool), steps[number + 1..].to_vec());
                return pool.spawn(move || {
                    if let Some(pool) = own.upgrade() {
                        end(&pool, handle, said, &rest);
                    }
                });
            }
        }
    }
    let is_finished = handle.is_finished();
    drop(handle);
    said.ended.fetch_add(usize::from(is_finished), SeqCst);
}

fn run(setting: Setting, actions: &[Action]) {
    let handler = |panic: Box<dyn Any + Send>| {
        let panic = panic.downcast::<Expected>();
        let said = panic.expect("the panic of a job").0;
        said.handled.fetch_add(1, SeqCst);
    };
    let builder = ThreadPoolBuilder::new().num_threads(setting.threads);
    let mut builder = builder.panic_handler(handler);
    if setting.adopts {
        builder = builder.use_current_thread();
    }
    let pool = Arc::new(builder.build().unwrap());
    let (token, all) = (CancelToken::new(), Mutex::new(Vec::new()));
    let act = |scope: &Scope<'static>| {
        let (pool, token) = (&pool, &token);
        let place = Place { pool, scope, token };
        let mut handles = Vec::new();
        for (number, action) in actions.iter().enumerate() {
            if setting.discards_after == Some(number) {
                let discard = || pool.shutdown_now(Duration::ZERO);
                let begun = thread::scope(|threads| threads.spawn(discard).join().unwrap());
                assert_eq!(
                    begun,
                    Err(ShutdownError::TimedOut),
                    "a scope keeps the pool"
                );
            }
            match action {
                Action::Spawn { kind, panics } => {
                    let (handle, said) = spawn(place, *kind, *panics);
                    let is_scoped = matches!(kind, Kind::Scoped | Kind::ScopedElsewhere);
                    lock(&all).push((said.clone(), is_scoped));
                    handles.push((handle, said));
                }
                Action::End(_, _) if handles.is_empty() => {}
                Action::End(number, steps) => {
                    let (handle, said) = handles.swap_remove(number % handles.len());
                    end(pool, handle, said, steps);
                }
                Action::Cancel => token.cancel(),
                Action::Yield => _ = crate::yield_now(),
            }
        }
    };
    // Keeps the pool from ending, which must still take jobs.
    let in_scope = || {
        pool.in_place_scope(|scope| match setting.calls {
            0 => act(scope),
            1 => pool.install(|| act(scope)),
            _ => pool.call(|| act(scope)),
        })
    };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(in_scope)) {
        match panic.downcast::<Expected>() {
            // The first one of a job of the scope whose handle was gone.
            Ok(panic) => _ = panic.0.handled.fetch_add(1, SeqCst),
            Err(panic) => resume_unwind(panic),
        }
    }
    let all = all.into_inner().unwrap();
    for (said, is_scoped) in &all {
        assert!(
            !is_scoped || said.running.load(SeqCst) == 0,
            "the scope is over"
        );
    }
    while pool.shutdown_timeout(Duration::from_secs(60)) == Err(ShutdownError::TimedOut) {}
    for (said, _) in all {
        let [runs, alive, handled, ended] =
            [&said.runs, &said.alive, &said.handled, &said.ended].map(|it| it.load(SeqCst));
        let aborted = said.aborted.load(SeqCst);
        assert!(runs <= 1 && alive == 0 && handled <= runs && ended <= 1 && aborted <= 1);
        assert!(
            handled + ended <= 1 + aborted,
            "a result came to two places"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_handles_return_what_their_jobs_did(
        setting in setting(),
        actions in prop::collection::vec(action(), 0..if cfg!(miri) { 10 } else { 40 }),
    ) {
        // A thread is adopted only once.
        thread::scope(|threads| threads.spawn(|| run(setting, &actions)).join())
            .unwrap_or_else(|panic| resume_unwind(panic));
    }
}

/// As those of Tokio. Those of the standard library are not.
#[test]
fn handles_may_be_used_after_a_panic() {
    fn check<T: UnwindSafe + RefUnwindSafe>() {}
    check::<JoinHandle<Mutex<u8>>>();
    check::<ScopedJoinHandle<'_, &mut u8>>();
    check::<AbortOnDropHandle<u8>>();
}
