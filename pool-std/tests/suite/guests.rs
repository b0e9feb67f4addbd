//! Calls from outside, on the calling thread in the place of a worker that sleeps.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread::{self, ThreadId},
    time::Duration,
};

#[cfg(not(miri))]
use crate::again;
use pool_std::{IdlePolicy, SleepKind, ThreadPool, ThreadPoolBuilder, WorkerState};

fn builder(workers: usize) -> ThreadPoolBuilder {
    // Whatever the environment of the test chooses.
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .sleep(SleepKind::Jec)
        .idle_policy(IdlePolicy::IMMEDIATE)
}

fn pool(workers: usize) -> ThreadPool {
    builder(workers).build().unwrap()
}

fn this_thread() -> ThreadId {
    thread::current().id()
}

/// Waits until a worker sleeps. Without metrics no thread can see that, so this only leaves the
/// workers some time, and its caller asks again.
fn wait_for_sleeper(pool: &ThreadPool) {
    let has_state = |wanted| {
        let workers = pool.metrics();
        workers
            .workers()
            .iter()
            .any(|worker| worker.state == wanted)
    };
    if !cfg!(feature = "metrics") {
        thread::sleep(Duration::from_millis(1));
        return;
    }
    // Liveness: a worker without work falls asleep at once, by the policy of these pools.
    while !has_state(WorkerState::Asleep) {
        thread::yield_now();
    }
}

/// Calls until the closure runs on this thread, which it does as soon as a worker sleeps.
fn call_as_guest<R: Send>(pool: &ThreadPool, closure: impl FnOnce() -> R + Send) -> R {
    let caller = this_thread();
    let mut closure = Some(closure);
    loop {
        // A call that is no guest wakes a worker, which then searches for a while. Calls without a
        // pause could go on forever.
        wait_for_sleeper(pool);
        let attempt = || (this_thread() == caller).then(|| closure.take().expect("called once")());
        if let Some(result) = pool.call(attempt) {
            return result;
        }
        thread::yield_now();
    }
}

#[test]
fn a_guest_is_a_worker_of_the_pool() {
    let pool = pool(2);
    for _ in 0..10 {
        let index = call_as_guest(&pool, || {
            assert_eq!(pool_std::current_num_threads(), 2);
            assert_eq!(pool_std::join(|| 1, || 2), (1, 2));
            let scoped = AtomicUsize::new(0);
            pool_std::scope(|scope| {
                for _ in 0..5 {
                    scope.spawn(|_| _ = scoped.fetch_add(1, SeqCst));
                }
            });
            assert_eq!(scoped.into_inner(), 5);
            pool.current_thread_index()
        });
        assert!(index.unwrap() < 2);
        assert_eq!(pool.current_thread_index(), None);
    }
    pool.shutdown().unwrap();
}

/// Such a worker looked like one that sleeps while jobs wait.
#[test]
fn a_guest_is_active_in_the_state_of_its_pool() {
    let pool = pool(1);
    let state = call_as_guest(&pool, || pool.state());
    assert_eq!(state.asleep().count(), 0, "{state}");
    pool.shutdown().unwrap();
}

#[test]
fn a_panic_passes_through() {
    let pool = pool(1);
    for _ in 0..3 {
        let call = || call_as_guest(&pool, || resume_unwind(Box::new("oops")));
        let panic: Result<(), _> = catch_unwind(AssertUnwindSafe(call));
        let panic = panic.unwrap_err();
        assert_eq!(*panic.downcast::<&str>().unwrap(), "oops");
        assert_eq!(pool.current_thread_index(), None);
    }
    assert_eq!(pool.install(|| 7), 7, "the worker has its place back");
    pool.shutdown().unwrap();
}

#[test]
fn jobs_that_a_guest_leaves_are_run() {
    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    for number in 0..10 {
        let sender = sender.clone();
        call_as_guest(&pool, || {
            pool_std::spawn(move || sender.send(number).unwrap())
        });
        assert_eq!(receiver.recv(), Ok(number));
    }
    call_as_guest(&pool, || pool_std::spawn(move || sender.send(10).unwrap()));
    pool.shutdown().unwrap();
    assert_eq!(receiver.recv(), Ok(10), "also at the end");
}

#[test]
fn a_broadcast_reaches_the_place_of_a_guest() {
    let pool = pool(2);
    for _ in 0..10 {
        let (sender, receiver) = mpsc::channel();
        call_as_guest(&pool, || {
            pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        });
        let mut reached: Vec<_> = receiver.iter().collect();
        reached.sort_unstable();
        assert_eq!(reached, [0, 1]);
        let reached = call_as_guest(&pool, || pool.broadcast(|context| context.index()));
        assert_eq!(reached, [0, 1], "the guest runs its job while it waits");
    }
    pool.shutdown().unwrap();
}

/// The second half ends when the guest, which waits for it, sleeps.
#[test]
#[cfg_attr(
    not(feature = "metrics"),
    ignore = "only metrics say that the guest sleeps"
)]
fn a_guest_sleeps_in_a_join_beside_its_host() {
    let pool = pool(2);
    for _ in 0..10 {
        let has_begun = AtomicBool::new(false);
        let (guest, thief) = call_as_guest(&pool, || {
            let place = pool_std::current_thread_index().unwrap();
            let (has_begun, pool) = (&has_begun, &pool);
            pool_std::join(
                move || {
                    while !has_begun.load(SeqCst) {
                        // Without a process fence a worker that falls asleep may overlook one job.
                        pool_std::join(|| (), || ());
                        thread::yield_now();
                    }
                    this_thread()
                },
                move || {
                    has_begun.store(true, SeqCst);
                    while pool.metrics().workers()[place].state != WorkerState::Asleep {
                        thread::yield_now();
                    }
                    this_thread()
                },
            )
        });
        assert_eq!(guest, this_thread());
        assert_ne!(guest, thief);
    }
    pool.shutdown().unwrap();
}

#[test]
fn a_worker_of_another_pool_is_no_guest() {
    let (own, other) = (pool(1), pool(1));
    let (caller, called) = own.install(|| (this_thread(), other.call(this_thread)));
    assert_ne!(caller, called);
    // Nor is a guest of another pool, which is a worker of that.
    let called = call_as_guest(&own, || {
        assert_eq!(own.call(this_thread), this_thread(), "at once");
        other.call(this_thread)
    });
    assert_ne!(called, this_thread());
    own.shutdown().unwrap();
    other.shutdown().unwrap();
}

#[test]
fn a_guest_may_block_in_place() {
    let pool = builder(1).max_blocking_threads(1).build().unwrap();
    let (sender, receiver) = mpsc::channel();
    let received = call_as_guest(&pool, || {
        pool_std::spawn(move || sender.send(7).unwrap());
        // A spare thread runs the job in the guest's place.
        pool_std::block_in_place(move || receiver.recv())
    });
    assert_eq!(received, Ok(7));
    pool.shutdown().unwrap();
}

#[test]
fn a_worker_whose_place_is_lent_parks_afterwards() {
    let pool = pool(2);
    for _ in 0..5 {
        call_as_guest(&pool, || {
            assert_eq!(pool.set_active_workers(1), Ok(2));
            assert_eq!(pool_std::join(|| 1, || 2), (1, 2));
        });
        assert_eq!(pool.install(|| 3), 3);
        assert_eq!(pool.set_active_workers(2), Ok(1));
    }
    pool.shutdown().unwrap();
}

#[test]
fn guests_and_calls_that_are_installed_take_turns() {
    let pool = pool(2);
    let calls = if cfg!(miri) { 3 } else { 300 };
    let (running, run) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..calls {
                    pool.call(|| {
                        assert!(running.fetch_add(1, SeqCst) < 2, "more than workers");
                        thread::yield_now();
                        running.fetch_sub(1, SeqCst);
                        let (one, two) = pool_std::join(|| 1, || 2);
                        run.fetch_add(one + two, SeqCst);
                    });
                }
            });
        }
    });
    assert_eq!(run.into_inner(), 4 * calls * 3);
    pool.shutdown().unwrap();
}

/// As a worker of the other pool it would run jobs of that, and they may wait for the worker that
/// is in the handler.
#[test]
fn a_handler_is_no_guest() {
    let other = Arc::new(builder(1).build().unwrap());
    call_as_guest(&other, || ());
    let (sender, is_guest) = mpsc::channel();
    let used = other.clone();
    let handler = move || _ = sender.send(used.call(this_thread) == this_thread());
    let pool = builder(1).acquire_thread_handler(handler).build().unwrap();
    pool.install(|| ());
    assert_eq!(is_guest.recv(), Ok(false));
}

/// Calls until a worker has certainly slept. All of the calls are run on threads of the pool.
fn assert_has_no_guests(pool: &ThreadPool) {
    let caller = this_thread();
    for _ in 0..5 {
        wait_for_sleeper(pool);
        assert_ne!(pool.call(this_thread), caller);
    }
}

#[test]
fn pools_that_have_no_guests_install() {
    assert_has_no_guests(&builder(1).guests(false).build().unwrap());
    assert_has_no_guests(&builder(1).deadlock_handler(|_| ()).build().unwrap());
    assert_has_no_guests(&builder(1).acquire_thread_handler(|| ()).build().unwrap());
    assert_has_no_guests(&builder(1).release_thread_handler(|| ()).build().unwrap());
    for kind in [SleepKind::Classic, SleepKind::Hints, SleepKind::Seeded] {
        assert_has_no_guests(&builder(1).sleep(kind).build().unwrap());
    }
}

/// It would run out of stack where a worker does not. The standard library gives a worker what the
/// program says, or else the environment.
#[cfg(all(
    any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        windows
    ),
    not(miri)
))]
#[test]
fn a_thread_with_a_smaller_stack_is_no_guest() {
    const STACK_OF_WORKERS: usize = 8 << 20;

    fn build() -> ThreadPool {
        let builder = builder(1).stack_size(STACK_OF_WORKERS);
        builder.build().unwrap()
    }

    let on_stack = |size, test: fn()| {
        let thread = thread::Builder::new().stack_size(size);
        thread.spawn(test).unwrap().join().unwrap();
    };
    let on_small_stack = |test| on_stack(STACK_OF_WORKERS / 8 * 6, test);
    if again::is_child() {
        return on_small_stack(|| assert_has_no_guests(&pool(1)));
    }
    on_small_stack(|| assert_has_no_guests(&build()));
    on_stack(STACK_OF_WORKERS, || call_as_guest(&build(), || ()));
    let mut child = again::child("guests::a_thread_with_a_smaller_stack_is_no_guest");
    let child = child.env("RUST_MIN_STACK", STACK_OF_WORKERS.to_string());
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{text}");
}

/// Reproduces a bug: jobs that the guest ran found that their thread was panicking, so that a mutex
/// was not poisoned by their panics.
#[test]
fn a_thread_that_unwinds_is_no_guest() {
    struct CallsInDrop<'p>(&'p ThreadPool);

    impl Drop for CallsInDrop<'_> {
        fn drop(&mut self) {
            assert!(thread::panicking());
            assert_has_no_guests(self.0);
            let mutex = Mutex::new(());
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                self.0.call(|| {
                    let _guard = mutex.lock();
                    resume_unwind(Box::new(()));
                });
            }));
            assert!(panicked.is_err() && mutex.is_poisoned());
        }
    }

    let pool = pool(1);
    let unwinding = catch_unwind(AssertUnwindSafe(|| {
        let _calls = CallsInDrop(&pool);
        resume_unwind(Box::new("unwinds"));
    }));
    assert_eq!(
        *unwinding.unwrap_err().downcast::<&str>().unwrap(),
        "unwinds"
    );
    call_as_guest(&pool, || ());
}
