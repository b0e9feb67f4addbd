//! Pools whose threads start when the pool is used.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{BuildError, ThreadPool, ThreadPoolBuilder};

/// How many threads of a pool have started, and ended.
#[derive(Clone, Default)]
struct Threads {
    started: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Threads {
    fn builder(&self) -> ThreadPoolBuilder {
        let Self { started, ended } = self.clone();
        ThreadPoolBuilder::new()
            .lazy_threads()
            .start_handler(move |_| _ = started.fetch_add(1, SeqCst))
            .exit_handler(move |_| _ = ended.fetch_add(1, SeqCst))
    }

    fn counts(&self) -> (usize, usize) {
        (self.started.load(SeqCst), self.ended.load(SeqCst))
    }
}

#[test]
fn looks_start_no_thread() {
    let threads = Threads::default();
    let pool = threads.builder().num_threads(3).build().unwrap();
    assert_eq!(pool.current_num_threads(), 3);
    assert_eq!(pool.active_workers(), 3);
    assert_eq!(pool.handle().num_threads(), 3);
    assert_eq!(pool.handle().wait_until_stopped(), Ok(()), "it has none");
    assert!(!format!("{pool:?}{:?}", pool.metrics()).is_empty());
    assert_eq!(pool.current_thread_index(), None);
    assert!(pool.yield_now().is_none());
    assert_eq!(pool.state().asleep().count(), 0);
    pool.wait_idle().unwrap();
    pool.shutdown().unwrap();
    assert_eq!(threads.counts(), (0, 0));
}

#[test]
fn each_use_starts_all_threads() {
    let uses: [fn(&ThreadPool); 12] = [
        |pool| assert_eq!(pool.install(|| 7), 7),
        |pool| assert_eq!(pool.call(|| 7), 7),
        |pool| assert_eq!(pool.join(|| 1, || 2), (1, 2)),
        |pool| pool.scope(|scope| scope.spawn(|_| ())),
        |pool| pool.in_place_scope(|scope| scope.spawn(|_| ())),
        |pool| pool.spawn(|| ()),
        |pool| pool.spawn_urgent(|| ()),
        |pool| pool.spawn_many([|| (), || ()]),
        |pool| assert_eq!(pool.spawn_handle(|| 7).join().unwrap(), 7),
        |pool| assert_eq!(pool.spawn_future(async { 7 }).join().unwrap(), 7),
        |pool| assert_eq!(pool.broadcast(|_| ()).len(), 3),
        |pool| pool.start_threads().unwrap(),
    ];
    for used in uses {
        let threads = Threads::default();
        let pool = threads.builder().num_threads(3).build().unwrap();
        used(&pool);
        pool.shutdown().unwrap();
        assert_eq!(threads.counts(), (3, 3));
    }
}

/// Operations of thread progress need the workers.
#[test]
fn thread_progress_starts_the_threads() {
    let threads = Threads::default();
    let pool = threads.builder().num_threads(2).build().unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.progress().defer(move || sender.send(7).unwrap());
    assert_eq!(receiver.recv(), Ok(7));
    pool.shutdown().unwrap();
    assert_eq!(threads.counts(), (2, 2));
}

/// Many threads use a pool for the first time at the same time.
#[test]
fn a_stampede_of_first_uses() {
    const CALLERS: usize = 6;
    for _ in 0..if cfg!(miri) { 2 } else { 100 } {
        let threads = Threads::default();
        let pool = threads.builder().num_threads(3).build().unwrap();
        let (barrier, runs) = (Barrier::new(CALLERS), Arc::new(AtomicUsize::new(0)));
        thread::scope(|callers| {
            for caller in 0..CALLERS {
                let (pool, barrier, runs) = (&pool, &barrier, runs.clone());
                callers.spawn(move || {
                    barrier.wait();
                    if caller % 2 == 0 {
                        pool.spawn(move || _ = runs.fetch_add(1, SeqCst));
                    } else {
                        pool.install(|| runs.fetch_add(1, SeqCst));
                    }
                });
            }
        });
        pool.shutdown().unwrap();
        assert_eq!(runs.load(SeqCst), CALLERS);
        assert_eq!(threads.counts(), (3, 3));
    }
}

#[test]
fn what_the_program_has_set_is_checked_by_the_build() {
    let name = ThreadPoolBuilder::new().num_threads(2).lazy_threads();
    let error = name.thread_name(|_| "a\0b".to_owned()).build().unwrap_err();
    assert!(matches!(error, BuildError::ThreadName { index: 0, .. }));
    let stack = ThreadPoolBuilder::new().lazy_threads().stack_size(1);
    assert!(matches!(
        stack.build(),
        Err(BuildError::StackTooSmall { .. })
    ));
    let named = ThreadPoolBuilder::new().num_threads(2).lazy_threads();
    let pool = named.thread_name(|index| format!("lazy-{index}"));
    let pool = pool.build().unwrap();
    let names = pool.broadcast(|_| thread::current().name().map(str::to_owned));
    assert_eq!(names, ["lazy-0", "lazy-1"].map(|it| Some(it.to_owned())));
}

#[test]
fn a_pool_that_cannot_wait_starts_its_threads_at_once() {
    let threads = Threads::default();
    let pool = threads.builder().num_threads(2).use_current_thread();
    let pool = pool.build().unwrap();
    // The adopted thread is a worker, and broadcasts without a method of the pool.
    assert_eq!(pool_std::broadcast(|_| ()).len(), 2);
    pool.shutdown().unwrap();

    let threads = Threads::default();
    let pool = threads.builder().num_threads(2).seeded(7).build().unwrap();
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    pool.shutdown().unwrap();
    assert_eq!(threads.counts(), (2, 2));
}

#[test]
fn an_elastic_pool_has_its_active_workers_from_the_beginning() {
    let threads = Threads::default();
    let pool = threads.builder().num_threads(4).build().unwrap();
    assert_eq!(pool.set_active_workers(1).unwrap(), 4);
    assert!((0..20).all(|_| pool.install(pool_std::current_thread_index) == Some(0)));
    assert_eq!(pool.broadcast(|_| ()).len(), 4);
    pool.shutdown().unwrap();
    assert_eq!(threads.counts(), (4, 4));
}

/// Each stack takes half of the addresses that a process has, so that the system refuses the second
/// one.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
#[test]
fn a_thread_that_is_refused_is_started_when_the_system_can() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const HALF: usize = 1 << 46;
    let threads = Threads::default();
    let large = |num_threads| threads.builder().num_threads(num_threads).stack_size(HALF);
    let first = large(1).build().unwrap();
    if first.start_threads().is_err() {
        // Even one is too much, as for a process with a limit.
        return;
    }
    let second = large(1).build().unwrap();
    for _ in 0..2 {
        let refused = second.start_threads();
        assert!(matches!(refused, Err(BuildError::Spawn { index: 0, .. })));
        let used = catch_unwind(AssertUnwindSafe(|| second.spawn(|| unreachable!())));
        let message = used.unwrap_err();
        let message = message.downcast_ref::<String>().unwrap();
        assert!(message.contains("cannot be used"), "{message}");
    }
    assert_eq!(first.install(|| 7), 7);
    first.shutdown().unwrap();
    // The last use of a stack is the join of its thread, just above.
    assert_eq!(second.install(|| 7), 7);
    second.shutdown().unwrap();

    // Some start, and the pool ends all the same.
    let before = threads.counts();
    let third = large(8).build().unwrap();
    assert!(third.start_threads().is_err());
    third.shutdown().unwrap();
    let after = threads.counts();
    assert_eq!(after.0 - before.0, after.1 - before.1);
    assert!(after.0 - before.0 < 8);
}
