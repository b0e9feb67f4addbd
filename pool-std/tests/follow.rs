//! A pool follows the number of processors that its process may use.
#![cfg(all(target_os = "linux", not(miri)))]

#[path = "support/mod.rs"]
mod support;

use std::{fs, io, thread};

use pool_std::ThreadPoolBuilder;

use support::wait_for;

/// The words of a set of processors, as the system has them.
type Processors = [libc::c_ulong; 1024 / libc::c_ulong::BITS as usize];

fn affinity() -> Processors {
    let mut set = Processors::default();
    // SAFETY: The call writes at most as many bytes as it is told, to an array that is borrowed for
    // it.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), (&raw mut set).cast()) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    set
}

/// Lets all threads of this process run on these processors, as `taskset -a` does.
fn set_affinity(set: &Processors) {
    for task in fs::read_dir("/proc/self/task").expect("Linux has it") {
        let number = task.unwrap().file_name().into_string().unwrap();
        let number = number.parse().unwrap();
        // SAFETY: The call reads as many bytes as it is told, from an array that is borrowed for
        // it. A thread that has ended meanwhile is an error that is ignored.
        _ = unsafe { libc::sched_setaffinity(number, size_of_val(set), (&raw const *set).cast()) };
    }
}

/// How many threads of this process follow the processors.
fn followers() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    let names = tasks.filter_map(Result::ok).filter_map(name);
    names
        .filter(|name| name.trim_end() == "pool-follower")
        .count()
}

// The only test of this process, because it changes what all its threads may use.
#[test]
fn active_workers_follow_the_processors() {
    let before = affinity();
    let processors = thread::available_parallelism().unwrap().get();
    let pool = ThreadPoolBuilder::new().num_threads(4).follow_processors();
    let pool = pool.build().unwrap();
    assert_eq!(pool.active_workers(), processors.min(4));
    wait_for(|| followers() == 1);

    let mut one = Processors::default();
    let word = before.iter().position(|&word| word != 0).unwrap();
    one[word] = before[word] & before[word].wrapping_neg();
    for _ in 0..2 {
        set_affinity(&one);
        wait_for(|| pool.active_workers() == 1);
        assert_eq!(pool.broadcast(|_| ()).len(), 4);
        set_affinity(&before);
        wait_for(|| pool.active_workers() == processors.min(4));
        assert_eq!(pool.install(|| pool_std::join(|| 1, || 2)), (1, 2));
    }

    // A call that fails changes nothing.
    assert!(pool.set_active_workers(5).is_err());
    assert_eq!(followers(), 1);
    // The program decides from now on.
    pool.set_active_workers(3).unwrap();
    wait_for(|| followers() == 0);
    assert_eq!(pool.active_workers(), 3);
    pool.shutdown().unwrap();

    // A shutdown waits for the thread, and a pool without a number has room for the machine.
    let pool = ThreadPoolBuilder::new().follow_processors().build();
    let pool = pool.unwrap();
    assert_eq!(pool.active_workers(), processors);
    assert!(pool.current_num_threads() >= processors);
    wait_for(|| followers() == 1);
    pool.shutdown().unwrap();
    wait_for(|| followers() == 0);

    set_affinity(&one);
    let pool = ThreadPoolBuilder::new().follow_processors().build();
    let pool = pool.unwrap();
    assert_eq!(pool.active_workers(), 1);
    assert!(pool.current_num_threads() >= processors);
    set_affinity(&before);
    wait_for(|| pool.active_workers() == processors);
    // A drop does not wait.
    drop(pool);
    wait_for(|| followers() == 0);
}
