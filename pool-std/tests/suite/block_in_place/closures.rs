//! Where the closure runs, and what it finds there.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::{self, TryRecvError},
    },
    thread,
};

use pool_std::{
    Scope, ThreadPoolBuilder, block_in_place, blocking, current_num_threads, current_thread_index,
    join, mark_blocked, scope, spawn, spawn_many,
};

use super::{here, lends, pool};

// The only worker waits for a message that another job of the same pool sends.
#[test]
fn a_job_that_waits_for_another_one_goes_on_with_a_spare() {
    let pool = pool(1, 1);
    let (sender, receiver) = mpsc::channel();
    let received = pool.install(|| {
        let before = here();
        spawn(move || {
            assert_eq!(current_thread_index(), Some(0), "the place is the worker's");
            assert_ne!(here(), before, "the thread is the spare's");
            sender.send(7).unwrap();
        });
        let received = block_in_place(move || {
            assert_eq!(current_thread_index(), None);
            receiver.recv()
        });
        assert_eq!((here(), current_thread_index()), (before, Some(0)));
        received
    });
    assert_eq!(received, Ok(7));
}

// The closure runs on the worker, whose jobs wait until it has ended.
/// Programs see spares even if they never block: by the names and the handlers.
#[test]
fn a_pool_has_no_spares_by_default() {
    let named = Arc::new(AtomicUsize::new(0));
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .thread_name({
            let named = named.clone();
            move |number| {
                assert!(number < 2);
                named.fetch_add(1, SeqCst);
                format!("worker {number}")
            }
        })
        .build()
        .unwrap();
    assert_eq!(named.load(SeqCst), 2);
    assert!(!pool.install(lends));
}

#[test]
fn without_a_spare_the_closure_runs_on_the_worker() {
    let pool = pool(1, 0);
    let (sender, receiver) = mpsc::channel();
    let receiver = pool.install(|| {
        spawn(move || sender.send(7).unwrap());
        block_in_place(move || {
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            receiver
        })
    });
    assert_eq!(receiver.recv(), Ok(7));
}

// Jobs that the worker has queued and that no sleeping worker has seen are announced before it
// blocks.
#[test]
fn without_a_spare_others_take_the_jobs() {
    let pool = pool(2, 0);
    for _ in 0..if cfg!(miri) { 3 } else { 500 } {
        let is_run = AtomicBool::new(false);
        let wait = || {
            block_in_place(|| {
                while !is_run.load(SeqCst) {
                    thread::yield_now();
                }
            });
        };
        pool.join(wait, || is_run.store(true, SeqCst));
    }
}

// While it blocks, the worker cannot run what it has deferred.
#[test]
fn without_a_spare_others_run_what_the_worker_has_deferred() {
    let pool = pool(2, 0);
    let progress = pool.progress();
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        let is_run = Arc::new(AtomicBool::new(false));
        let operation = is_run.clone();
        let deferring = progress.clone();
        pool.install(move || {
            deferring.defer(move || operation.store(true, SeqCst));
            block_in_place(|| {
                while !is_run.load(SeqCst) {
                    thread::yield_now();
                }
            });
        });
    }
}

// Otherwise the spare's jobs would be part of the section, and could end it.
#[test]
fn in_a_blocked_section_the_closure_runs_on_the_worker() {
    let pool = pool(1, 1);
    pool.install(|| {
        assert!(lends());
        let is_lent = blocking("a section", |_| lends());
        assert!(!is_lent);
        assert!(lends(), "the section has ended");

        let (sender, receiver) = mpsc::channel();
        let blocked = mark_blocked("a mark").unwrap();
        spawn(move || {
            let result = blocking("a job", |blocked| blocked.mark_unblocked());
            sender.send(result).unwrap();
        });
        let receiver = block_in_place(move || {
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            receiver
        });
        blocked.mark_unblocked().unwrap();
        // Now the job has a section of its own.
        assert_eq!(block_in_place(move || receiver.recv()), Ok(Ok(())));
    });
}

#[test]
fn outside_every_pool_the_closure_runs_here() {
    let before = here();
    let not_send = block_in_place(|| Rc::new(here()));
    assert_eq!(*not_send, before);
}

#[test]
fn the_free_functions_use_the_pool_that_is_lent() {
    let pool = pool(3, 1);
    pool.install(|| {
        block_in_place(|| {
            assert_eq!(current_num_threads(), 3);
            let in_pool = || pool.current_thread_index().is_some();
            assert_eq!(join(in_pool, in_pool), (true, true));
            assert!(scope(|_| in_pool()));
            assert!(pool.install(in_pool));
            let indices = pool_std::broadcast(|context| context.index());
            assert_eq!(indices, [0, 1, 2]);
            let (sender, receiver) = mpsc::channel();
            let threads = current_num_threads();
            spawn(move || sender.send(current_num_threads()).unwrap());
            assert_eq!(receiver.recv(), Ok(threads));
        });
    });
}

#[test]
fn a_scope_of_a_lent_worker_takes_jobs_from_the_closure() {
    let pool = pool(1, 1);
    let ran = AtomicUsize::new(0);
    let job = || _ = ran.fetch_add(1, SeqCst);
    pool.scope(|scope| {
        scope.spawn(|_| job());
        block_in_place(|| {
            scope.spawn(|_| job());
            while ran.load(SeqCst) < 2 {
                thread::yield_now();
            }
        });
        scope.spawn(|_| job());
    });
    assert_eq!(ran.into_inner(), 3);
}

#[test]
fn a_panic_comes_when_the_worker_is_back() {
    let pool = pool(1, 1);
    for _ in 0..3 {
        let payload = pool.install(|| {
            let panics = || block_in_place(|| std::panic::panic_any("on purpose"));
            let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(join(|| 1, || 2), (1, 2));
            *payload.downcast::<&str>().unwrap()
        });
        assert_eq!(payload, "on purpose");
    }
}

// In the closure the thread is outside the pool; in a job of a spare it is a worker, and takes
// another spare.
#[test]
fn nested_calls_take_spares_until_there_are_none() {
    fn level(depth: usize, spares: usize) {
        if depth == 0 {
            return;
        }
        let is_over = AtomicBool::new(false);
        scope(|scope| {
            let is_over = &is_over;
            scope.spawn(move |_| {
                level(depth - 1, spares.saturating_sub(1));
                is_over.store(true, SeqCst);
            });
            block_in_place(|| {
                assert_eq!(current_thread_index().is_none(), spares > 0);
                let outside = here();
                block_in_place(|| assert_eq!(here(), outside));
                while spares > 0 && !is_over.load(SeqCst) {
                    thread::yield_now();
                }
            });
        });
        assert_eq!(current_thread_index(), Some(0));
    }
    for spares in 0..3 {
        let pool = pool(1, spares);
        for _ in 0..3 {
            pool.install(|| level(4, spares));
        }
        pool.shutdown().unwrap();
    }
}

#[test]
fn one_spare_serves_many_calls() {
    let pool = pool(1, 3);
    let mut threads = HashSet::new();
    for _ in 0..20 {
        threads.extend(pool.install(|| {
            let (sender, receiver) = mpsc::channel();
            spawn(move || sender.send(here()).unwrap());
            block_in_place(move || receiver.recv())
        }));
    }
    assert_eq!(threads.len(), 1);
}

/// Opens itself only on the thread that made it, and is therefore `Send`. The crate `send_wrapper`
/// has such a type.
struct OnOneThread<T>(T, thread::ThreadId);

// SAFETY: the value is used only by the thread that made the wrapper, and is not dropped by another
// one here.
unsafe impl<T> Send for OnOneThread<T> {}

impl<T> OnOneThread<T> {
    fn new(value: T) -> Self {
        Self(value, here())
    }

    fn get(&self) -> &T {
        assert_eq!(here(), self.1, "made by another thread");
        &self.0
    }
}

// Otherwise two threads would push to the owner's end of one deque.
#[test]
fn a_wrapped_worker_does_not_join_beside_its_spare() {
    let text = pool(1, 1).install_with(|worker| {
        let wrapped = OnOneThread::new(worker);
        let panic = block_in_place(move || {
            assert_eq!(wrapped.get().index(), 0);
            // The closures are dropped, large or small.
            let value = Arc::new(());
            let (small, large) = (value.clone(), (value.clone(), [0; 2]));
            let joining = AssertUnwindSafe(|| {
                let worker = wrapped.get();
                worker.join(move |_| drop(small), move |_| drop(large))
            });
            let panic = catch_unwind(joining).unwrap_err();
            assert_eq!(Arc::strong_count(&value), 1);
            panic
        });
        worker.join(|_| (), |_| ());
        *panic.downcast::<&str>().unwrap()
    });
    assert!(text.contains("not the worker"), "{text}");
}

/// Gives its elements in a blocked section if one call takes all of them.
struct Blocking<I>(I);

impl<I: Iterator> Iterator for Blocking<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn fold<B, F: FnMut(B, I::Item) -> B>(self, init: B, mut each: F) -> B {
        let thread = here();
        let all = OnOneThread::new(Cell::new(Some((self.0, init))));
        let each = OnOneThread::new(RefCell::new(&mut each));
        let folded = block_in_place(move || {
            let (elements, init) = all.get().take().expect("called once");
            let mut each = each.get().borrow_mut();
            OnOneThread::new(Cell::new(Some(elements.fold(init, &mut **each))))
        });
        assert_eq!(here(), thread);
        folded.get().take().expect("called once")
    }
}

/// Reproduces a bug: an iterator's own `fold` was given the closure that queues the jobs, and could
/// call it while a spare had the worker. So two threads pushed to one deque.
#[test]
fn jobs_are_not_queued_while_their_iterator_has_lent_the_worker() {
    const JOBS: usize = if cfg!(miri) { 200 } else { 20_000 };
    let pool = pool(1, 1);
    let run = Arc::new(AtomicUsize::new(0));
    let jobs = |run: Arc<AtomicUsize>| {
        Blocking((0..JOBS).map(move |_| {
            let run = run.clone();
            move || _ = run.fetch_add(1, SeqCst)
        }))
    };
    pool.install(|| spawn_many(jobs(run.clone())));
    pool.install(|| {
        scope(|scope| {
            scope.spawn_many(jobs(run.clone()).map(|job| move |_: &Scope<'_>| job()));
        });
    });
    pool.wait_idle().unwrap();
    assert_eq!(run.load(SeqCst), 2 * JOBS);
}
