//! What rayon-core documents of `spawn` and `spawn_fifo`.

use std::{
    any::Any,
    process::Command,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::channel,
    },
    time::Duration,
};

use rayon_core::{ThreadPool, ThreadPoolBuilder, scope, spawn, spawn_fifo};

/// A multiple of what the slowest machine needs: it only ends a test that fails.
const PATIENCE: Duration = Duration::from_secs(300);

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

#[test]
fn smoke() {
    let (sender, receiver) = channel();
    let from_fifo = sender.clone();
    spawn(move || sender.send(22).unwrap());
    spawn_fifo(move || from_fifo.send(20).unwrap());
    let sum = receiver.recv_timeout(PATIENCE).unwrap() + receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(sum, 42);
}

/// Returns the order in which the jobs of one worker run, if no other worker takes one.
fn order(pool: &ThreadPool, spawn: fn(Box<dyn FnOnce() + Send>)) -> Vec<u32> {
    let (sender, receiver) = channel();
    pool.install(|| {
        for n in 0..5 {
            let sender = sender.clone();
            spawn(Box::new(move || sender.send(n).unwrap()));
        }
    });
    drop(sender);
    receiver.iter().collect()
}

#[test]
fn a_worker_runs_its_newest_first() {
    assert_eq!(order(&pool(1), spawn), [4, 3, 2, 1, 0]);
}

#[test]
fn spawn_fifo_runs_the_oldest_first() {
    assert_eq!(order(&pool(1), spawn_fifo), [0, 1, 2, 3, 4]);
}

#[test]
#[allow(deprecated)]
fn breadth_first_turns_the_order() {
    let builder = ThreadPoolBuilder::new().num_threads(1).breadth_first();
    let pool = builder.build().unwrap();
    assert_eq!(order(&pool, spawn), [0, 1, 2, 3, 4]);
    assert_eq!(order(&pool, spawn_fifo), [0, 1, 2, 3, 4]);
}

#[test]
fn both_orders_on_one_worker() {
    let (sender, receiver) = channel();
    pool(1).install(|| {
        let send = |n| {
            let sender = sender.clone();
            move || sender.send(n).unwrap()
        };
        // Newest first, where the places of the FIFO's jobs are given to the oldest of them.
        spawn(send(0));
        spawn_fifo(send(1));
        spawn(send(2));
        spawn_fifo(send(3));
    });
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2, 3, 0]);
}

#[test]
fn what_comes_from_outside_runs_in_its_order() {
    let (sender, receiver) = channel();
    let pool = pool(1);
    for n in 0..5 {
        let sender = sender.clone();
        pool.spawn_fifo(move || sender.send(n).unwrap());
    }
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_panic_goes_to_the_handler() {
    let (sender, receiver) = channel::<Box<dyn Any + Send>>();
    let sender = Mutex::new(sender);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap())
        .build()
        .unwrap();
    pool.spawn(|| panic!("spawn"));
    let panic = receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(panic.downcast_ref(), Some(&"spawn"));
    pool.spawn_fifo(|| panic!("spawn_fifo"));
    let panic = receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(panic.downcast_ref(), Some(&"spawn_fifo"));
    pool.spawn_broadcast(|_| panic!("spawn_broadcast"));
    for _ in 0..2 {
        let panic = receiver.recv_timeout(PATIENCE).unwrap();
        assert_eq!(panic.downcast_ref(), Some(&"spawn_broadcast"));
    }
    assert_eq!(pool.join(|| 1, || 2), (1, 2), "no worker was lost");
}

/// Runs one of the ignored tests below in a process of its own; true if it aborted.
fn aborts(test: &str) -> bool {
    let (_program, module) = module_path!().split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", &format!("{module}::{test}")])
        .output()
        .unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        const SIGABRT: i32 = 6;
        output.status.signal() == Some(SIGABRT)
    }
    #[cfg(not(unix))]
    {
        !output.status.success()
    }
}

#[test]
fn a_panic_without_a_handler_aborts() {
    assert!(aborts("abort_of_a_job_without_handler"));
}

#[test]
fn a_panic_of_the_handler_aborts() {
    assert!(aborts("abort_of_a_panicking_handler"));
}

#[test]
#[ignore = "aborts the process; run by a_panic_without_a_handler_aborts"]
fn abort_of_a_job_without_handler() {
    pool(1).spawn(|| panic!("no caller waits"));
    std::thread::sleep(PATIENCE);
}

#[test]
#[ignore = "aborts the process; run by a_panic_of_the_handler_aborts"]
fn abort_of_a_panicking_handler() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(|_| panic!("the handler too"))
        .build()
        .unwrap();
    pool.spawn(|| panic!("first"));
    std::thread::sleep(PATIENCE);
}

#[test]
fn spawned_jobs_outlive_the_drop_of_their_pool() {
    let pool = pool(2);
    let (sender, receiver) = channel();
    let begun = Arc::new(Barrier::new(2));
    let wait = begun.clone();
    pool.spawn(move || {
        wait.wait();
        // Spawned on a pool that has no owner any more.
        for n in 0..100 {
            let sender = sender.clone();
            spawn(move || sender.send(n).unwrap());
        }
    });
    drop(pool);
    begun.wait();
    assert_eq!(receiver.iter().sum::<u32>(), 4950);
}

#[test]
fn a_job_may_hold_the_last_handle_of_its_pool() {
    let (sender, receiver) = channel();
    let pool = Arc::new(pool(2));
    let own = pool.clone();
    pool.spawn(move || {
        let count = own.install(rayon_core::current_num_threads);
        drop(own);
        sender.send(count).unwrap();
    });
    drop(pool);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(2));
}

#[test]
fn spawns_of_a_worker_stay_in_its_pool() {
    let (sender, receiver) = channel();
    pool(3).install(|| {
        spawn(move || sender.send(rayon_core::current_num_threads()).unwrap());
    });
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(3));
}

#[test]
fn stress() {
    let pool = pool(4);
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = channel::<()>();
    scope(|outside| {
        for _ in 0..4 {
            let (count, sender) = (count.clone(), sender.clone());
            let pool = &pool;
            outside.spawn(move |_| {
                for _ in 0..1000 {
                    let (count, sender) = (count.clone(), sender.clone());
                    pool.spawn(move || {
                        count.fetch_add(1, SeqCst);
                        drop(sender);
                    });
                }
            });
        }
    });
    drop(sender);
    assert!(
        receiver.recv().is_err(),
        "all senders have gone with their jobs"
    );
    assert_eq!(count.load(SeqCst), 4000);
}
