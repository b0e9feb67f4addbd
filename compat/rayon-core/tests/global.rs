//! The global pool, and the environment. There is one of each in a process, so most of these
//! tests run themselves again in a process of their own.

use std::process::Command;

use rayon_core::ThreadPoolBuilder;

/// Runs an ignored test of this file in a process with these variables.
fn runs(test: &str, variables: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env_remove("RAYON_NUM_THREADS")
        .env_remove("RAYON_RS_NUM_CPUS")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

fn processors() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

#[test]
fn a_second_global_pool_is_refused() {
    runs("child_second_global_pool", &[]);
}

#[test]
#[ignore = "run by a_second_global_pool_is_refused"]
fn child_second_global_pool() {
    ThreadPoolBuilder::new()
        .num_threads(0)
        .build_global()
        .unwrap();
    assert_eq!(rayon_core::current_num_threads(), processors());
    let error = ThreadPoolBuilder::new()
        .num_threads(7)
        .build_global()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "The global thread pool has already been initialized."
    );
    assert!(std::error::Error::source(&error).is_none());
    assert_eq!(
        format!("{error:?}"),
        "ThreadPoolBuildError { kind: GlobalPoolAlreadyInitialized }"
    );
    assert_eq!(rayon_core::current_num_threads(), processors());
}

#[test]
fn use_builds_the_global_pool() {
    runs("child_used_global_pool", &[("RAYON_NUM_THREADS", "3")]);
}

#[test]
#[ignore = "run by use_builds_the_global_pool"]
fn child_used_global_pool() {
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
    assert!(ThreadPoolBuilder::new().build_global().is_err());
    assert_eq!(rayon_core::current_num_threads(), 3);
    let pool = ThreadPoolBuilder::new().build().unwrap();
    assert_eq!(pool.current_num_threads(), 3, "every pool that is not told");
    let told = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert_eq!(told.current_num_threads(), 2);
}

#[test]
fn the_environment_says_how_many_threads() {
    let expecting = |expected: usize, variables: &[(&str, &str)]| {
        let expected = expected.to_string();
        let mut variables = variables.to_vec();
        variables.push(("EXPECTED_THREADS", &expected));
        runs("child_expected_threads", &variables);
    };
    expecting(processors(), &[]);
    expecting(5, &[("RAYON_NUM_THREADS", "5")]);
    expecting(6, &[("RAYON_RS_NUM_CPUS", "6")]);
    expecting(5, &[("RAYON_NUM_THREADS", "5"), ("RAYON_RS_NUM_CPUS", "6")]);
    expecting(
        6,
        &[("RAYON_NUM_THREADS", "many"), ("RAYON_RS_NUM_CPUS", "6")],
    );
    expecting(6, &[("RAYON_NUM_THREADS", ""), ("RAYON_RS_NUM_CPUS", "6")]);
    expecting(
        processors(),
        &[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "6")],
    );
    expecting(processors(), &[("RAYON_RS_NUM_CPUS", "0")]);
}

#[test]
#[ignore = "run by the_environment_says_how_many_threads"]
fn child_expected_threads() {
    let expected: usize = std::env::var("EXPECTED_THREADS").unwrap().parse().unwrap();
    assert_eq!(rayon_core::current_num_threads(), expected);
}

#[test]
fn the_older_way_to_build_it() {
    runs("child_initialize", &[]);
}

#[test]
#[ignore = "run by the_older_way_to_build_it"]
#[allow(deprecated)]
fn child_initialize() {
    use rayon_core::{Configuration, ThreadPool, initialize};
    let configuration = Configuration::new()
        .num_threads(3)
        .thread_name(|index| format!("old {index}"))
        .stack_size(1 << 20)
        .breadth_first()
        .panic_handler(|_| ())
        .start_handler(|_| ())
        .exit_handler(|_| ());
    assert_eq!(
        format!("{configuration:?}"),
        "ThreadPoolBuilder { num_threads: 3, use_current_thread: false, \
         get_thread_name: Some(<closure>), panic_handler: Some(<closure>), \
         stack_size: Some(1048576), start_handler: Some(<closure>), \
         exit_handler: Some(<closure>), breadth_first: true }"
    );
    initialize(configuration).unwrap();
    assert_eq!(rayon_core::current_num_threads(), 3);
    let name = rayon_core::scope(|_| std::thread::current().name().unwrap().to_owned());
    assert!(name.starts_with("old "));
    let error = initialize(Configuration::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "The global thread pool has already been initialized."
    );
    let pool = ThreadPool::new(Configuration::new().num_threads(2)).unwrap();
    assert_eq!(pool.current_num_threads(), 2);
    let pool = Configuration::new().num_threads(4).build().unwrap();
    assert_eq!(pool.current_num_threads(), 4);
}
