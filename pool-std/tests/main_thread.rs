//! The first thread of a process, whose stack grows. The test harness would use another thread.

/// The thread becomes a guest as soon as a worker sleeps, because its stack is large enough.
#[cfg(all(target_os = "linux", not(miri)))]
fn main() {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use pool_std::{IdlePolicy, SleepKind, ThreadPoolBuilder};

    /// A limit that only ends a test that fails.
    const LIMIT: Duration = Duration::from_secs(120);

    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .stack_size(1 << 20)
        .sleep(SleepKind::Jec)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .build()
        .unwrap();
    let this_thread = || thread::current().id();
    let begin = Instant::now();
    while pool.call(this_thread) != this_thread() {
        assert!(begin.elapsed() < LIMIT, "it is no guest");
        thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn main() {}
