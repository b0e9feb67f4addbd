//! What rayon-core documents of broadcasts.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::channel,
    },
    thread,
};

use rayon_core::{ThreadPool, ThreadPoolBuilder, broadcast, join, spawn_broadcast};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

#[test]
fn smoke() {
    let indices = broadcast(|context| {
        assert_eq!(context.num_threads(), rayon_core::current_num_threads());
        context.index()
    });
    let expected: Vec<_> = (0..rayon_core::current_num_threads()).collect();
    assert_eq!(indices, expected);
}

#[test]
fn results_come_in_the_order_of_the_workers() {
    let pool = pool(7);
    for _ in 0..50 {
        assert_eq!(
            pool.broadcast(|context| context.index()),
            [0, 1, 2, 3, 4, 5, 6]
        );
        let from_inside = pool.install(|| broadcast(|context| context.index()));
        assert_eq!(from_inside, [0, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn the_panic_of_the_first_worker_is_continued() {
    let pool = pool(3);
    let panicked = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.broadcast(|context| {
            // The last worker panics first.
            while panicked.load(SeqCst) < context.num_threads() - 1 - context.index() {
                thread::yield_now();
            }
            panicked.fetch_add(1, SeqCst);
            if context.index() > 0 {
                panic!("{}", context.index());
            }
        });
    }));
    assert_eq!(*result.unwrap_err().downcast::<String>().unwrap(), "1");
}

// rayon#992: a worker must see a job that only it may run before it sleeps.
#[test]
fn sleeping_workers_hear_it() {
    let pool = pool(4);
    for _ in 0..20 {
        pool.broadcast(|_| this_thread())
            .into_iter()
            .flatten()
            .for_each(wait_until_asleep);
        assert_eq!(pool.broadcast(|_| 1), [1; 4]);
    }
}

/// Returns the file in which Linux tells the state of this thread. Other systems have none.
fn this_thread() -> Option<PathBuf> {
    let directory = fs::canonicalize("/proc/thread-self").ok()?;
    Some(directory.join("stat"))
}

/// Waits until a thread sleeps: its state comes after its name, which is in parentheses.
fn wait_until_asleep(thread: PathBuf) {
    // Liveness: a worker without jobs falls asleep.
    let is_awake = |stat: String| {
        let fields = stat.rsplit_once(')');
        fields.is_some_and(|(_, fields)| !fields.starts_with(" S"))
    };
    while fs::read_to_string(&thread).is_ok_and(is_awake) {
        thread::yield_now();
    }
}

#[test]
fn workers_that_wait_hear_it() {
    let pool = pool(2);
    for _ in 0..20 {
        let (a, b) = pool.join(
            || pool.broadcast(|context| context.index()),
            || pool.broadcast(|context| context.index()),
        );
        assert_eq!((a, b), (vec![0, 1], vec![0, 1]));
    }
}

#[test]
fn a_broadcast_in_a_broadcast() {
    let sums = pool(3).broadcast(|_| broadcast(|context| context.index()).iter().sum::<usize>());
    assert_eq!(sums, [3; 3]);
}

#[test]
fn two_pools_broadcast_to_each_other() {
    let (left, right) = (pool(3), pool(5));
    let count = AtomicUsize::new(0);
    left.broadcast(|_| {
        right.broadcast(|_| {
            count.fetch_add(1, SeqCst);
        })
    });
    right.broadcast(|_| {
        left.broadcast(|_| {
            count.fetch_add(1, SeqCst);
        })
    });
    assert_eq!(count.into_inner(), 30);
}

#[test]
fn joins_in_a_broadcast() {
    let sums = pool(3).broadcast(|context| {
        let index = context.index();
        let (a, b) = join(|| index, || 10);
        a + b
    });
    assert_eq!(sums, [10, 11, 12]);
}

#[test]
fn a_spawned_broadcast_reaches_every_worker() {
    let (sender, receiver) = channel();
    let pool = pool(5);
    pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    let mut seen: Vec<_> = receiver.iter().collect();
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3, 4]);

    let (sender, receiver) = channel();
    spawn_broadcast(move |context| sender.send(context.num_threads()).unwrap());
    assert_eq!(receiver.iter().count(), rayon_core::current_num_threads());
}

#[test]
fn a_spawned_broadcast_outlives_the_drop_of_its_pool() {
    let (sender, receiver) = channel();
    let pool = pool(3);
    let pool_is_gone = Arc::new(Barrier::new(4));
    let gone = pool_is_gone.clone();
    pool.spawn_broadcast(move |context| {
        gone.wait();
        sender.send(context.index()).unwrap();
    });
    drop(pool);
    pool_is_gone.wait();
    assert_eq!(receiver.iter().sum::<usize>(), 3);
}

#[test]
fn a_panic_is_continued_when_all_have_ended() {
    let pool = pool(5);
    let ended = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.broadcast(|context| {
            ended.fetch_add(1, SeqCst);
            assert_ne!(context.index(), 3, "worker 3");
        })
    }));
    assert!(result.is_err());
    assert_eq!(ended.load(SeqCst), 5);

    let result = catch_unwind(AssertUnwindSafe(|| pool.broadcast(|_| panic!("all"))));
    assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "all");
    assert_eq!(pool.broadcast(|_| 1), [1; 5], "no worker was lost");
}
