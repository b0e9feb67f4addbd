//! Threads that a spawn handler drops, and jobs from builds that fail.

use super::*;

#[test]
fn a_spawn_handler_that_drops_its_thread_fails_the_build() {
    for dropped in [0, 2] {
        let build = move || {
            ThreadPoolBuilder::new()
                .num_threads(3)
                .spawn_handler(move |builder| {
                    if builder.index() != dropped {
                        thread::spawn(|| builder.run());
                    }
                    Ok(())
                })
                .build()
                .map(|pool| pool.broadcast(|context| context.index()))
        };
        match in_time(build) {
            Err(BuildError::Spawn { index, source }) => {
                assert_eq!(index, dropped);
                assert!(source.to_string().contains("dropped"), "{source}");
            }
            other => panic!("{other:?}"),
        }
    }
}

// The build has returned by then, and its caller relies on each worker.
#[test]
fn a_thread_that_is_dropped_after_the_build_is_replaced() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = kept.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .thread_name(|index| format!("worker-{index}"))
        .spawn_handler(move |builder| {
            keep.lock().unwrap().push(builder);
            Ok(())
        })
        .build()
        .unwrap();
    // One is run, but in a way that panics before.
    let other = kept.lock().unwrap().pop().unwrap();
    let panicking = thread::spawn(move || {
        let _builder = other;
        panic!("on purpose");
    });
    assert!(panicking.join().is_err());
    drop(std::mem::take(&mut *kept.lock().unwrap()));
    let names = in_time(move || {
        let names = pool.broadcast(|_| thread::current().name().map(str::to_owned));
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        pool.shutdown().unwrap();
        names
    });
    assert_eq!(
        names,
        ["worker-0", "worker-1"].map(|name| Some(name.to_owned()))
    );
}

#[test]
fn a_thread_that_is_dropped_after_the_end_is_not_replaced() {
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let mut kept = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(move |_| _ = count.fetch_add(1, SeqCst))
        .spawn_handler(|builder| {
            kept.push(builder);
            Ok(())
        })
        .build()
        .unwrap();
    drop(pool);
    drop(kept);
    assert_eq!(Arc::strong_count(&called), 1, "the pool is gone");
    assert_eq!(called.load(SeqCst), 0);
}

/// No other worker was started that could run it.
#[test]
fn a_job_from_a_build_that_fails_runs_if_it_went_to_the_injector() {
    for number in 0..2 {
        let job = Arc::new(Mutex::new(None));
        let spawned = job.clone();
        let build = move || {
            let builder = ThreadPoolBuilder::new().num_threads(3).use_current_thread();
            builder
                .spawn_handler(move |thread| {
                    if thread.index() < 2 {
                        drop(thread);
                        return Ok(());
                    }
                    let spawn = || pool_std::spawn_handle(|| 7);
                    let job = if number == 0 {
                        spawn()
                    } else {
                        pool_std::isolate(spawn)
                    };
                    *spawned.lock().unwrap() = Some(job);
                    Err(io::Error::other("no thread"))
                })
                .build()
                .unwrap_err();
        };
        thread::spawn(build).join().unwrap();
        let job = job.lock().unwrap().take().unwrap();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(job.join().unwrap()).unwrap());
        assert_eq!(receiver.recv_timeout(LIMIT), Ok(7), "{number}");
    }
}
