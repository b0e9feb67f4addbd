//! What the original does not have: the names of pool-std, used beside it, for the same workers;
//! small stacks; turns of old jobs; and guests, which are threads outside every pool that take the
//! place of a worker. There is one global pool in a process, so the tests of guests run themselves
//! again in processes of their own.

use std::{
    collections::VecDeque,
    process::Command,
    sync::{Mutex, mpsc},
    thread::{self, ThreadId},
};

use rayon_core::{
    ThreadBuilder, ThreadPoolBuilder, current_num_threads, join, join_context, scope, spawn,
};

const GUESTS: &str = "RAYON_CORE_GUESTS";
/// How often to call at most until the caller is a guest. Only ends a test that fails.
const ATTEMPTS: usize = 10_000;

#[test]
fn pool_std_shows_the_workers_of_the_global_pool() {
    let before = pool_std::current_metrics().sum();
    let (sender, receiver) = mpsc::channel();
    spawn(move || sender.send(pool_std::current_thread_index()).unwrap());
    assert!(receiver.recv().unwrap().is_some());
    assert!((pool_std::current_metrics().sum() - before).jobs_run >= 1);
    let workers = pool_std::current_state().workers().len();
    assert_eq!(workers, current_num_threads());
}

#[test]
fn pool_std_shows_the_workers_of_the_pool_that_runs_the_caller() {
    let pool = ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    let state = pool.install(pool_std::current_state);
    assert_eq!(state.workers().len(), 5);
}

// The original's worker needs more. pool-std refuses such a stack, but a drop-in leaves it to the
// system, which rounds up: with musl to a page, which is too little for ours, too.
#[cfg(not(target_env = "musl"))]
#[test]
fn accepts_small_stacks() {
    let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(1);
    assert_eq!(builder.build().unwrap().install(|| 7), 7);
}

// With the original a job waits as long as its worker pushes newer ones.
#[test]
fn one_in_128_jobs_of_a_worker_is_its_oldest() {
    const JOBS: u32 = 300;
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let order = Mutex::new(Vec::new());
    pool.scope(|scope| {
        for number in 0..JOBS {
            let order = &order;
            scope.spawn(move |_| order.lock().unwrap().push(number));
        }
    });
    let mut waiting: VecDeque<_> = (0..JOBS).collect();
    let mut oldest = 0;
    for number in order.into_inner().unwrap() {
        if waiting.back() == Some(&number) {
            waiting.pop_back();
        } else {
            assert_eq!(waiting.pop_front(), Some(number));
            oldest += 1;
        }
    }
    assert!((2..=3).contains(&oldest), "{oldest}");
}

/// Runs an ignored test of this file in a process with a value of the variable, or without it.
fn runs(test: &str, guests: Option<&str>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test]);
    match guests {
        Some(value) => command.env(GUESTS, value),
        None => command.env_remove(GUESTS),
    };
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

/// A call from outside, which returns the thread that its closure runs on.
type Call = fn() -> ThreadId;

const CALLS: [Call; 3] = [
    || join(this_thread, || ()).0,
    || join_context(|_| this_thread(), |_| ()).0,
    || scope(|_| this_thread()),
];

fn this_thread() -> ThreadId {
    thread::current().id()
}

/// Waits until a worker of the global pool sleeps, so that its place may be taken.
fn wait_for_a_sleeper() {
    while pool_std::current_state().asleep().count() == 0 {
        thread::yield_now();
    }
}

fn assert_no_guest() {
    for call in CALLS.repeat(5) {
        wait_for_a_sleeper();
        assert_ne!(call(), this_thread());
    }
}

/// Calls until the closure runs on this thread, which it does as soon as a worker has left its
/// place.
fn assert_guest() {
    for call in CALLS {
        let is_guest = || {
            wait_for_a_sleeper();
            call() == this_thread()
        };
        assert!((0..ATTEMPTS).any(|_| is_guest()), "never a guest");
    }
}

#[test]
fn without_guests_calls_from_outside_run_on_the_pools_threads() {
    runs("child_runs_on_the_pools_threads", Some("0"));
    runs("child_runs_on_the_threads_of_a_built_pool", Some("0"));
    runs("child_is_told_to_have_no_guests", None);
    runs("child_is_told_to_have_no_guests", Some("1"));
}

#[test]
fn a_caller_from_outside_is_a_guest_by_default() {
    for guests in [None, Some(""), Some("1")] {
        runs("child_runs_on_this_thread", guests);
        runs("child_runs_on_this_thread_in_a_built_pool", guests);
    }
}

#[test]
fn the_setter_makes_the_caller_a_guest() {
    runs("child_is_told_to_have_guests", None);
    runs("child_is_told_to_have_guests", Some("0"));
}

// rayon's own test `named_threads` asks for the names in a parallel iterator. It failed if a worker
// slept already.
#[test]
fn jobs_see_the_names_and_thread_locals_that_a_program_gave_its_workers() {
    for child in [
        "child_names_its_threads",
        "child_prepares_its_threads",
        "child_starts_its_threads",
    ] {
        runs(child, None);
    }
    runs("child_names_its_threads_and_has_guests", Some("1"));
}

#[test]
fn another_value_of_the_variable_is_an_error() {
    runs("child_builds_with_a_bad_variable", Some("yes"));
    runs("child_joins_with_a_bad_variable", Some("yes"));
}

#[test]
#[ignore = "run by without_guests_calls_from_outside_run_on_the_pools_threads"]
fn child_runs_on_the_pools_threads() {
    assert_no_guest();
}

#[test]
#[ignore = "run by without_guests_calls_from_outside_run_on_the_pools_threads"]
fn child_runs_on_the_threads_of_a_built_pool() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    builder.build_global().unwrap();
    assert_no_guest();
}

#[test]
#[ignore = "run by without_guests_calls_from_outside_run_on_the_pools_threads"]
fn child_is_told_to_have_no_guests() {
    let builder = ThreadPoolBuilder::new().num_threads(2).guests(false);
    builder.build_global().unwrap();
    assert_no_guest();
}

#[test]
#[ignore = "run by a_caller_from_outside_is_a_guest_by_default"]
fn child_runs_on_this_thread() {
    assert_guest();
}

#[test]
#[ignore = "run by a_caller_from_outside_is_a_guest_by_default"]
fn child_runs_on_this_thread_in_a_built_pool() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    builder.build_global().unwrap();
    assert_guest();
}

#[test]
#[ignore = "run by the_setter_makes_the_caller_a_guest"]
fn child_is_told_to_have_guests() {
    let builder = ThreadPoolBuilder::new().num_threads(2).guests(true);
    builder.build_global().unwrap();
    assert_guest();
}

#[test]
#[ignore = "run by jobs_see_the_names_and_thread_locals_that_a_program_gave_its_workers"]
fn child_names_its_threads() {
    named().build_global().unwrap();
    assert_no_guest();
}

#[test]
#[ignore = "run by jobs_see_the_names_and_thread_locals_that_a_program_gave_its_workers"]
fn child_names_its_threads_and_has_guests() {
    named().build_global().unwrap();
    assert_guest();
}

#[test]
#[ignore = "run by jobs_see_the_names_and_thread_locals_that_a_program_gave_its_workers"]
fn child_prepares_its_threads() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    builder.start_handler(|_| ()).build_global().unwrap();
    assert_no_guest();
}

#[test]
#[ignore = "run by jobs_see_the_names_and_thread_locals_that_a_program_gave_its_workers"]
fn child_starts_its_threads() {
    let spawn = |thread: ThreadBuilder| {
        thread::spawn(|| thread.run());
        Ok(())
    };
    let builder = ThreadPoolBuilder::new().num_threads(2);
    builder.spawn_handler(spawn).build_global().unwrap();
    assert_no_guest();
}

fn named() -> ThreadPoolBuilder {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    builder.thread_name(|number| format!("named {number}"))
}

#[test]
#[ignore = "run by another_value_of_the_variable_is_an_error"]
fn child_builds_with_a_bad_variable() {
    let error = ThreadPoolBuilder::new().build().unwrap_err();
    let text = "the environment variable RAYON_CORE_GUESTS is `yes`, but must be 0 or 1";
    assert_eq!(error.to_string(), text);
    let told = ThreadPoolBuilder::new().num_threads(1).guests(false);
    assert!(told.build().is_ok(), "the variable does not count");
}

#[test]
#[ignore = "run by another_value_of_the_variable_is_an_error"]
#[should_panic(expected = "RAYON_CORE_GUESTS is `yes`, but must be 0 or 1")]
fn child_joins_with_a_bad_variable() {
    join(|| (), || ());
}
