//! Threads that become a worker of a pool which they build.

use std::{
    io,
    sync::{Arc, Mutex, mpsc},
    thread,
};

use pool_std::{
    BuildError, ShutdownError, ThreadPoolBuilder, Yield, current_thread_index, spawn, yield_local,
};

#[test]
fn the_current_thread_can_be_a_worker() {
    thread::spawn(|| {
        let build = || {
            ThreadPoolBuilder::new()
                .num_threads(2)
                .use_current_thread()
                .build()
        };
        let pool = build().unwrap();
        assert_eq!(
            (pool.current_thread_index(), pool.current_num_threads()),
            (Some(0), 2)
        );
        assert!(matches!(
            build(),
            Err(BuildError::CurrentThreadAlreadyInPool)
        ));
        let here = thread::current().id();
        assert_eq!(pool.install(|| thread::current().id()), here);
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
        let (sender, receiver) = mpsc::channel();
        for number in 0..10 {
            let sender = sender.clone();
            pool.spawn(move || sender.send(number).unwrap());
        }
        drop(sender);
        pool.shutdown().unwrap();
        assert_eq!(receiver.iter().count(), 10);
    })
    .join()
    .unwrap();
}

#[test]
fn a_pool_of_the_current_thread_alone() {
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
            .unwrap();
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        pool.shutdown().unwrap();
    })
    .join()
    .unwrap();
}

#[test]
fn a_failed_build_gives_the_current_thread_back() {
    thread::spawn(|| {
        let fails = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .spawn_handler(|_| Err(io::Error::other("no")))
            .build();
        assert!(matches!(fails, Err(BuildError::Spawn { index: 1, .. })));
        assert_eq!(current_thread_index(), None);
    })
    .join()
    .unwrap();
}

/// A thread whose pool has ended, and an exit handler, still are workers of it. What they spawn
/// must not be lost with the pool: it goes to the global one.
#[test]
fn what_is_spawned_on_an_ended_pool_goes_to_the_global_one() {
    let (sender, receiver) = mpsc::channel();
    let from_handler = Mutex::new(sender.clone());
    let workers = thread::spawn(move || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .exit_handler(move |_| {
                let sender = from_handler.lock().unwrap().clone();
                spawn(move || sender.send(1).unwrap());
            })
            .build()
            .unwrap();
        pool.shutdown().unwrap();
        assert_eq!(current_thread_index(), Some(0), "until the thread ends");
        let late = sender.clone();
        spawn(move || late.send(2).unwrap());
        pool_std::scope(|scope| scope.spawn_broadcast(|_, _| sender.send(0).unwrap()));
        pool_std::broadcast(|_| ()).len()
    })
    .join()
    .unwrap();
    // The handler's sender is kept with the pool of an adopted thread, so the channel stays open.
    let messages = receiver.iter().take(workers + 2);
    assert_eq!(messages.sum::<i32>(), 3);
}

#[test]
fn shutdown_in_a_job_on_the_adopted_thread_is_a_typed_error() {
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
            .unwrap();
        let pool = Arc::new(Mutex::new(Some(pool)));
        let (sender, receiver) = mpsc::channel();
        let inner = pool.clone();
        pool.lock().unwrap().as_ref().unwrap().spawn(move || {
            let pool = inner.lock().unwrap().take().unwrap();
            sender.send(pool.shutdown()).unwrap();
        });
        assert_eq!(yield_local(), Some(Yield::Executed));
        assert_eq!(receiver.recv().unwrap(), Err(ShutdownError::FromWorker));
    })
    .join()
    .unwrap();
}

/// A scope keeps its pool from ending, so the thread would wait for itself.
#[test]
fn shutdown_in_a_scope_on_the_adopted_thread_is_a_typed_error() {
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .build()
            .unwrap();
        let result = pool_std::scope(|scope| {
            scope.spawn(|_| ());
            pool.shutdown()
        });
        assert_eq!(result, Err(ShutdownError::FromWorker));
    })
    .join()
    .unwrap();
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
            .unwrap();
        let result = pool_std::in_place_scope(|_| pool.shutdown());
        assert_eq!(result, Err(ShutdownError::FromWorker));
    })
    .join()
    .unwrap();
}
