//! Parkers of a driver: hints, and the worst implementations. None of them does more than keep
//! workers asleep or awake.

use std::{
    sync::{
        Arc, Condvar, Mutex, OnceLock, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use pool_std::{
    ActiveWorkersError, IdlePolicy, MarkError, SleepKind, WaitIdleError, current_thread_index,
    driver::{ChannelFull, Hint},
    join, mark_blocked, spawn,
};

use super::*;

/// Gives each worker a parker that a closure makes.
struct Parkers<F>(F);

impl<F, P> Driver for Parkers<F>
where
    F: Fn() -> P + Send + Sync + 'static,
    P: WorkerParker + 'static,
{
    fn parker(&self, _worker: usize) -> Option<Box<dyn WorkerParker>> {
        Some(Box::new((self.0)()))
    }
}

/// Builds a pool whose workers fall asleep at once.
fn pool<P: WorkerParker + 'static>(
    threads: usize,
    kind: SleepKind,
    parkers: impl Fn() -> P + Send + Sync + 'static,
) -> ThreadPool {
    let builder = builder(threads)
        .sleep(kind)
        .idle_policy(IdlePolicy::IMMEDIATE);
    builder.driver(|_| Ok(Parkers(parkers))).build().unwrap()
}

/// Uses a pool in many ways, while its workers fall asleep and are woken.
fn use_pool(pool: &ThreadPool) {
    fn sum(numbers: &[u64]) -> u64 {
        match numbers {
            [] => 0,
            [number] => *number,
            _ => {
                let (left, right) = numbers.split_at(numbers.len() / 2);
                let (left, right) = join(|| sum(left), || sum(right));
                left + right
            }
        }
    }

    let numbers: Vec<u64> = (0..200).collect();
    for _ in 0..if cfg!(miri) { 2 } else { 100 } {
        assert_eq!(pool.install(|| sum(&numbers)), 199 * 100);
        let count = AtomicUsize::new(0);
        pool.scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|_| _ = count.fetch_add(1, SeqCst));
            }
        });
        assert_eq!(count.into_inner(), 10);
        pool.spawn(|| spawn(|| ()));
        assert_eq!(pool.broadcast(|_| 1).len(), pool.current_num_threads());
        pool.wait_idle().unwrap();
    }
}

/// A token that several may share. Its `park` returns early from time to time, so that a token
/// which another worker has taken makes no worker sleep for good.
#[derive(Default)]
struct Token {
    is_there: Mutex<bool>,
    available: Condvar,
}

#[derive(Clone, Default)]
struct Shared(Arc<Token>);

impl WorkerParker for Shared {
    fn park(&self) {
        let token = self.0.is_there.lock().unwrap();
        let limit = Duration::from_millis(1);
        let wait = self
            .0
            .available
            .wait_timeout_while(token, limit, |token| !*token);
        *wait.unwrap().0 = false;
    }

    fn unpark(&self) {
        *self.0.is_there.lock().unwrap() = true;
        self.0.available.notify_one();
    }
}

#[test]
fn a_parker_that_never_parks_makes_its_worker_search_again() {
    struct Never;
    impl WorkerParker for Never {
        fn park(&self) {
            thread::yield_now();
        }
        fn unpark(&self) {}
    }

    for &kind in SleepKind::ALL {
        let pool = pool(3, kind, || Never);
        use_pool(&pool);
        pool.shutdown().unwrap();
    }
}

#[test]
fn one_parker_may_be_that_of_all_workers() {
    for &kind in SleepKind::ALL {
        let token = Shared::default();
        let pool = pool(3, kind, move || token.clone());
        use_pool(&pool);
        pool.shutdown().unwrap();
    }
}

/// How often a parker calls back at most, so that the pool comes to rest.
const CALLS: usize = if cfg!(miri) { 10 } else { 500 };

/// Its own pool and another one.
type Pools = Arc<OnceLock<(Weak<ThreadPool>, ThreadPool)>>;

/// Calls back into pools, and gives hints that are wrong.
struct CallsBack {
    token: Shared,
    pools: Pools,
    calls: Arc<AtomicUsize>,
    is_empty: AtomicBool,
}

impl CallsBack {
    /// Calls a closure with the pools, and a thread that is in the middle of falling asleep or of
    /// waking a worker.
    fn call_back(&self, closure: impl FnOnce(&ThreadPool, &ThreadPool)) {
        let Some((own, other)) = self.pools.get() else {
            return;
        };
        // The last reference may be this one.
        let Some(own) = own.upgrade() else { return };
        if self.calls.fetch_add(1, SeqCst) < CALLS {
            assert_eq!(own.current_thread_index(), None, "it counts as a worker");
            assert!(own.yield_now().is_none());
            assert_eq!(
                own.set_active_workers(1),
                Err(ActiveWorkersError::InHandler)
            );
            closure(&own, other);
        }
    }

    /// What a parker may do on its worker.
    fn call_back_as_sleeper(&self) {
        self.call_back(|own, other| {
            assert_eq!(mark_blocked("here").unwrap_err(), MarkError::InHandler);
            assert_eq!(own.wait_idle(), Err(WaitIdleError::FromWorker));
            own.spawn(|| assert!(current_thread_index().is_some()));
            // Waits for the other pool, as a thread outside does.
            assert_eq!(other.install(|| join(|| 1, || 2)), (1, 2));
        });
    }
}

impl WorkerParker for CallsBack {
    fn park(&self) {
        self.call_back_as_sleeper();
        self.token.park();
        self.call_back_as_sleeper();
    }

    fn unpark(&self) {
        self.call_back(|_, other| other.spawn(|| ()));
        self.token.unpark();
    }

    fn send(&self, _hint: Hint) -> Result<(), ChannelFull> {
        self.call_back(|_, other| other.spawn(|| ()));
        Err(ChannelFull)
    }

    fn receive(&self) -> Option<Hint> {
        self.call_back_as_sleeper();
        // There is no such worker.
        let is_full = self.is_empty.fetch_not(SeqCst);
        is_full.then_some(Hint::Worker(u16::MAX))
    }
}

#[test]
fn parkers_that_call_back_into_pools_count_as_no_worker() {
    for &kind in SleepKind::ALL {
        let (pools, calls) = (Pools::default(), Arc::new(AtomicUsize::new(0)));
        let own = Arc::new(pool(3, kind, {
            let (pools, calls) = (pools.clone(), calls.clone());
            move || CallsBack {
                token: Shared::default(),
                pools: pools.clone(),
                calls: calls.clone(),
                is_empty: AtomicBool::new(false),
            }
        }));
        let other = builder(1).build().unwrap();
        assert!(pools.set((Arc::downgrade(&own), other)).is_ok());
        use_pool(&own);
        assert!(calls.load(SeqCst) > 0);
    }
}

/// Carries hints itself, and counts them.
struct Carries {
    token: Shared,
    hints: Mutex<Vec<Hint>>,
    received: Arc<AtomicUsize>,
}

impl WorkerParker for Carries {
    fn park(&self) {
        self.token.park();
    }

    fn unpark(&self) {
        self.token.unpark();
    }

    fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        self.hints.lock().unwrap().push(hint);
        self.token.unpark();
        Ok(())
    }

    fn receive(&self) -> Option<Hint> {
        let hint = self.hints.lock().unwrap().pop()?;
        self.received.fetch_add(1, SeqCst);
        Some(hint)
    }
}

#[test]
fn a_parker_may_carry_hints() {
    let received = Arc::new(AtomicUsize::new(0));
    let pool = pool(2, SleepKind::Hints, {
        let received = received.clone();
        move || Carries {
            token: Shared::default(),
            hints: Mutex::default(),
            received: received.clone(),
        }
    });
    wait_for(|| {
        use_pool(&pool);
        received.load(SeqCst) > 0
    });
}
