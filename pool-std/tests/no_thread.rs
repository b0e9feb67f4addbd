//! A pool starts no thread but its workers, also if it must ask the system for something that takes
//! long.
#![cfg(all(target_os = "linux", not(miri)))]

use std::{
    fs,
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use pool_std::{ThreadPoolBuilder, join};

fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    // A thread that ends meanwhile has no name any more.
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    let mut names: Vec<_> = tasks.filter_map(Result::ok).filter_map(name).collect();
    names.sort();
    names
}

// The only test of this process, because other tests would start threads meanwhile.
#[test]
fn the_system_is_asked_without_a_thread_of_its_own() {
    let before = threads();
    assert!(
        before.len() > 1,
        "the process of a test has several threads: {before:?}"
    );

    let handles = Arc::new(std::sync::Mutex::new(Vec::new()));
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .spawn_handler({
            let handles = handles.clone();
            move |worker| {
                handles.lock().unwrap().push(thread::spawn(|| worker.run()));
                Ok(())
            }
        })
        .build()
        .unwrap();
    let both = Barrier::new(2);
    pool.broadcast(|_| both.wait());
    assert_eq!(threads().len(), before.len() + 2, "{:?}", threads());

    // One of the workers asks when it has slept for a while.
    let deadline = Instant::now() + Duration::from_secs(300);
    while format!("{pool:?}").contains("is being asked") {
        assert!(Instant::now() < deadline, "no worker asks: {pool:?}");
        thread::yield_now();
    }
    assert_eq!(threads().len(), before.len() + 2, "{:?}", threads());
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    drop(pool);
    for handle in handles.lock().unwrap().drain(..) {
        handle.join().unwrap();
    }
}
