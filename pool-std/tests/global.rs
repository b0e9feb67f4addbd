//! The global pool: one a process, so these tests are one.

use pool_std::{BuildError, ThreadPoolBuilder, current_num_threads};

#[test]
fn the_global_pool_is_built_once() {
    // Nothing else in this process has used the global pool yet.
    // SAFETY: no other thread of this process reads or writes the environment now.
    unsafe { std::env::set_var("POOL_STD_NUM_THREADS", "5") };
    let too_many = ThreadPoolBuilder::new().num_threads(70_000).build_global();
    assert!(matches!(too_many, Err(BuildError::TooManyThreads { .. })));

    let uses_itself = std::panic::catch_unwind(|| {
        ThreadPoolBuilder::new()
            .thread_name(|_| current_num_threads().to_string())
            .build_global()
    });
    assert!(uses_itself.is_err(), "a clear panic instead of a deadlock");

    ThreadPoolBuilder::new().build_global().unwrap();
    assert_eq!(
        current_num_threads(),
        5,
        "the environment overrides the default"
    );
    assert_eq!(pool_std::join(current_num_threads, || 2), (5, 2));

    let again = ThreadPoolBuilder::new().num_threads(2).build_global();
    assert!(matches!(
        again,
        Err(BuildError::GlobalPoolAlreadyInitialized)
    ));
    assert_eq!(current_num_threads(), 5, "the first one stays");
}
