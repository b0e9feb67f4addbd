//! Builds of seeded pools.

use super::*;

/// The thread that builds the pool has the turn, and the other workers have not arrived.
#[test]
fn a_closure_that_helps_to_build_a_pool_spawns_on_the_adopted_thread() {
    let build = || {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let name = |index| {
            crate::spawn(|| ());
            format!("worker {index}")
        };
        let pool = builder.seeded(1).thread_name(name).build().unwrap();
        pool.shutdown().unwrap();
    };
    thread::spawn(build).join().unwrap();
}

/// The closure that names the last worker blocks, so that the workers before it take the turn away.
/// One of them parks at once.
#[cfg(not(miri))]
#[test]
fn a_worker_that_has_parked_during_the_build_is_not_awaited() {
    let (sender, receiver) = mpsc::channel();
    let outer = pool(1);
    outer.spawn(move || {
        let (started, has_started) = mpsc::channel();
        let started = Mutex::new(started);
        let name = move |index: usize| {
            if index == 2 {
                // If the system does not report that this thread waits, this takes a second.
                has_started.recv().unwrap();
                thread::sleep(Duration::from_millis(100));
            }
            index.to_string()
        };
        let builder = ThreadPoolBuilder::new().num_threads(3).active_workers(1);
        let builder = builder.thread_name(name).start_handler(move |index| {
            if index == 1 {
                started.lock().unwrap().send(()).unwrap();
            }
        });
        let inner = builder.build().unwrap();
        sender.send(inner.install(|| 42)).unwrap();
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(42));
}
