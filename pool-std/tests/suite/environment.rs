//! What the environment says about pools. Each test runs itself once more, as a process of its own
//! with other variables.
#![cfg(not(miri))]

use std::{
    ffi::OsString,
    io,
    panic::catch_unwind,
    process::Output,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread::available_parallelism,
};

use crate::again;
use pool_std::{
    BuildError, IdlePolicy, ProcessBarrier, SleepKind, ThreadPoolBuilder, join, max_num_threads,
};

const NUM_THREADS: &str = "POOL_STD_NUM_THREADS";
const SLEEP: &str = "POOL_STD_SLEEP";
const OVERLOOK_NO_JOBS: &str = "POOL_STD_OVERLOOK_NO_JOBS";
const IDLE: &str = "POOL_STD_IDLE";
const MEMBARRIER: &str = "POOL_STD_MEMBARRIER";
const SEED: &str = "POOL_STD_SEED";

/// In the child, runs `body`. Otherwise runs the test `name` as a child with these variables, and
/// expects that it passes.
fn with_variables(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if again::is_child() {
        body();
        return;
    }
    let mut child = again::child(&format!("environment::{name}"));
    for variable in [NUM_THREADS, SLEEP, OVERLOOK_NO_JOBS, IDLE, MEMBARRIER, SEED] {
        child.env_remove(variable);
    }
    child.envs(variables.iter().copied());
    let Output {
        status,
        stdout,
        stderr,
    } = child.output().unwrap();
    let (output, errors) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert!(status.success(), "{output}{errors}");
    assert!(output.contains("1 passed"), "{output}");
}

/// It was ignored, and a signal that is not handled ends the program.
#[cfg(not(feature = "signal"))]
#[test]
fn a_variable_of_a_feature_that_is_off_is_an_error() {
    let variables = [("POOL_STD_STATE_SIGNAL", "USR1")];
    let body = || {
        let error = ThreadPoolBuilder::new().num_threads(1).build().unwrap_err();
        assert!(
            error.to_string().contains("without the feature `signal`"),
            "{error}"
        );
    };
    with_variables(
        "a_variable_of_a_feature_that_is_off_is_an_error",
        &variables,
        body,
    );
}

#[test]
fn without_variables_the_defaults_count() {
    let variables = [(SLEEP, ""), (OVERLOOK_NO_JOBS, ""), (IDLE, "")];
    with_variables("without_variables_the_defaults_count", &variables, || {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.sleep_kind(), SleepKind::Jec);
        assert!(!pool.overlooks_no_jobs());
        assert_eq!(pool.idle_policy(), here(IdlePolicy::BALANCED));
    });
}

/// What becomes of the policy of a pool with one worker on this machine.
fn here(policy: IdlePolicy) -> IdlePolicy {
    match available_parallelism() {
        Ok(processors) => policy.for_processors(1, processors.get()),
        Err(_) => policy,
    }
}

#[test]
fn the_variable_chooses_an_idle_policy() {
    // Of them all, this one is the same on any number of processors.
    let variables = [(IDLE, "immediate")];
    with_variables("the_variable_chooses_an_idle_policy", &variables, || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.idle_policy(), IdlePolicy::IMMEDIATE);
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
    });
}

#[test]
fn the_variable_knows_presets_that_search() {
    let variables = [(IDLE, "latency")];
    with_variables("the_variable_knows_presets_that_search", &variables, || {
        for &kind in SleepKind::ALL {
            let builder = ThreadPoolBuilder::new().num_threads(1).sleep(kind);
            let pool = builder.build().unwrap();
            assert_eq!(pool.idle_policy(), here(IdlePolicy::LATENCY));
        }
    });
}

#[test]
fn an_idle_policy_that_does_not_exist_is_refused() {
    let variables = [(IDLE, "lazy")];
    with_variables(
        "an_idle_policy_that_does_not_exist_is_refused",
        &variables,
        || expect_refusal(IDLE, "lazy", "latency"),
    );
}

/// The last kind, so that it is not the default.
fn last_kind() -> SleepKind {
    *SleepKind::ALL.last().unwrap()
}

#[test]
fn the_variables_choose() {
    let variables = [(SLEEP, last_kind().name()), (OVERLOOK_NO_JOBS, "1")];
    with_variables("the_variables_choose", &variables, || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.sleep_kind(), last_kind());
        assert_eq!(pool.overlooks_no_jobs(), ProcessBarrier::is_by_system());
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
    });
}

#[test]
fn a_variable_makes_all_pools_seeded() {
    with_variables("a_variable_makes_all_pools_seeded", &[(SEED, "3")], || {
        let pool = ThreadPoolBuilder::new().build().unwrap();
        assert_eq!(pool.sleep_kind(), SleepKind::Seeded);
        assert_eq!(pool.current_num_threads(), 4, "on every machine");
        assert_eq!(join(|| 1, || 2), (1, 2));
    });
}

/// Checks that the variable that a failed program names repeats it, once.
#[test]
fn a_program_is_explored_under_the_schedule_of_the_variable() {
    let name = "a_program_is_explored_under_the_schedule_of_the_variable";
    with_variables(name, &[(SEED, "3:")], || {
        let runs = Arc::new(AtomicU32::new(0));
        let counted = runs.clone();
        pool_std::explore(0..100, move || _ = counted.fetch_add(1, Relaxed));
        assert_eq!(runs.load(Relaxed), 1);
    });
}

#[test]
fn a_schedule_that_does_not_exist_is_refused() {
    with_variables(
        "a_schedule_that_does_not_exist_is_refused",
        &[(SEED, "3:x")],
        || expect_refusal(SEED, "3:x", "a number"),
    );
}

#[test]
fn the_builder_overrides_the_variables() {
    let variables = [SLEEP, OVERLOOK_NO_JOBS, IDLE].map(|variable| (variable, "nonsense"));
    with_variables("the_builder_overrides_the_variables", &variables, || {
        for &kind in SleepKind::ALL {
            let builder = ThreadPoolBuilder::new().num_threads(1).sleep(kind);
            let builder = builder.idle_policy(IdlePolicy::POWER);
            let pool = builder.overlook_no_jobs(false).build().unwrap();
            assert_eq!(pool.idle_policy(), here(IdlePolicy::POWER));
            assert_eq!(pool.sleep_kind(), kind);
            assert!(!pool.overlooks_no_jobs());
        }
    });
}

/// Expects that a pool cannot be built because of this variable, and the global pool neither.
fn expect_refusal(refused: &str, bad: &str, choice: &str) {
    match ThreadPoolBuilder::new().build() {
        Err(BuildError::EnvironmentVariable {
            variable,
            value,
            choices,
        }) => {
            assert_eq!((variable, value), (refused, OsString::from(bad)));
            assert!(choices.contains(&choice), "{choices:?}");
        }
        other => panic!("{other:?}"),
    }
    let panic = catch_unwind(|| join(|| (), || ())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    for part in [refused, bad, choice] {
        assert!(text.contains(part), "{text}");
    }
}

fn expect_refusal_of_number(bad: &str) {
    let choice = format!("a number from 0 to {}", max_num_threads());
    expect_refusal(NUM_THREADS, bad, &choice);
}

#[test]
fn a_number_of_threads_that_is_no_number_is_refused() {
    let name = "a_number_of_threads_that_is_no_number_is_refused";
    with_variables(
        name,
        &[(NUM_THREADS, "abc"), ("RAYON_NUM_THREADS", "2")],
        || {
            expect_refusal_of_number("abc");
            // Its caller has not asked the environment.
            let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            assert_eq!(pool.current_num_threads(), 2);
        },
    );
}

#[test]
fn more_threads_than_a_pool_can_have_are_refused() {
    let name = "more_threads_than_a_pool_can_have_are_refused";
    with_variables(name, &[(NUM_THREADS, "99999999")], || {
        // Without the refusal, the build ends with the first thread.
        let builder = ThreadPoolBuilder::new().spawn_handler(|_| Err(io::Error::other("no")));
        match builder.build() {
            Err(BuildError::EnvironmentVariable { value, .. }) => assert_eq!(value, "99999999"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn the_variable_sets_the_number_of_threads() {
    let name = "the_variable_sets_the_number_of_threads";
    with_variables(name, &[(NUM_THREADS, "3")], || {
        let pool = ThreadPoolBuilder::new().build().unwrap();
        assert_eq!(pool.current_num_threads(), 3);
    });
}

#[test]
fn a_protocol_that_does_not_exist_is_refused() {
    let variables = [(SLEEP, "snooze")];
    with_variables(
        "a_protocol_that_does_not_exist_is_refused",
        &variables,
        || expect_refusal(SLEEP, "snooze", SleepKind::Jec.name()),
    );
}

#[test]
fn a_switch_that_is_neither_on_nor_off_is_refused() {
    let variables = [(OVERLOOK_NO_JOBS, "perhaps")];
    with_variables(
        "a_switch_that_is_neither_on_nor_off_is_refused",
        &variables,
        || expect_refusal(OVERLOOK_NO_JOBS, "perhaps", "0"),
    );
}

#[test]
fn a_membarrier_that_is_neither_used_nor_avoided_is_refused() {
    let variables = [(MEMBARRIER, "no")];
    with_variables(
        "a_membarrier_that_is_neither_used_nor_avoided_is_refused",
        &variables,
        || {
            expect_refusal(MEMBARRIER, "no", "0");
            // A caller that meant something else is not killed for it.
            assert!(!ProcessBarrier::is_by_system());
        },
    );
}

#[test]
fn without_membarrier_fences_are_the_pools_own() {
    let variables = [(MEMBARRIER, "0")];
    with_variables(
        "without_membarrier_fences_are_the_pools_own",
        &variables,
        || {
            let builder = ThreadPoolBuilder::new().num_threads(2);
            let pool = builder.overlook_no_jobs(true).build().unwrap();
            assert!(!pool.overlooks_no_jobs());
            assert!(format!("{pool:?}").contains(r#"fences: "own""#), "{pool:?}");
            assert_eq!(pool.join(|| 1, || 2), (1, 2));
        },
    );
}
