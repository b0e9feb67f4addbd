//! What the environment says about how pools sleep. Each test runs itself once more, as a process of its own
//! with other variables.
#![cfg(not(miri))]

use std::{
    env,
    ffi::OsString,
    panic::catch_unwind,
    process::{Command, Output},
};

use pool_std::{BuildError, ProcessBarrier, SleepKind, ThreadPoolBuilder, join};

const SLEEP: &str = "POOL_STD_SLEEP";
const OVERLOOK_NO_JOBS: &str = "POOL_STD_OVERLOOK_NO_JOBS";
const CHILD: &str = "POOL_STD_ENVIRONMENT_CHILD";
/// Names the emulator that runs this program, where the system cannot start it by itself.
const RUNNER: &str = "TEST_RUNNER";

/// In the child, runs `body`. Otherwise runs the test `name` as a child with these variables, and expects that
/// it passes.
fn with_variables(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if env::var_os(CHILD).is_some() {
        body();
        return;
    }
    let words = env::var_os(RUNNER).into_iter();
    let mut words = words.chain([env::current_exe().unwrap().into_os_string()]);
    let mut child = Command::new(words.next().unwrap());
    child.args(words);
    let name = format!("environment::{name}");
    child.args([&*name, "--exact", "--nocapture", "--test-threads=1"]);
    child.env_remove(SLEEP).env_remove(OVERLOOK_NO_JOBS);
    child.env(CHILD, "yes").envs(variables.iter().copied());
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

#[test]
fn without_variables_the_defaults_count() {
    let variables = [(SLEEP, ""), (OVERLOOK_NO_JOBS, "")];
    with_variables("without_variables_the_defaults_count", &variables, || {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.sleep_kind(), SleepKind::Jec);
        assert!(!pool.overlooks_no_jobs());
    });
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
fn the_builder_overrides_the_variables() {
    let variables = [(SLEEP, "nonsense"), (OVERLOOK_NO_JOBS, "nonsense")];
    with_variables("the_builder_overrides_the_variables", &variables, || {
        for &kind in SleepKind::ALL {
            let builder = ThreadPoolBuilder::new().num_threads(1).sleep(kind);
            let pool = builder.overlook_no_jobs(false).build().unwrap();
            assert_eq!(pool.sleep_kind(), kind);
            assert!(!pool.overlooks_no_jobs());
        }
    });
}

/// Expects that a pool cannot be built because of this variable, and the global pool neither.
fn expect_refusal(refused: &str, bad: &str) {
    match ThreadPoolBuilder::new().num_threads(1).build() {
        Err(BuildError::EnvironmentVariable {
            variable,
            value,
            choices,
        }) => {
            assert_eq!((variable, value), (refused, OsString::from(bad)));
            assert!(choices.len() >= SleepKind::ALL.len().min(2), "{choices:?}");
        }
        other => panic!("{other:?}"),
    }
    let panic = catch_unwind(|| join(|| (), || ())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains(refused) && text.contains(bad), "{text}");
}

#[test]
fn a_protocol_that_does_not_exist_is_refused() {
    let variables = [(SLEEP, "snooze")];
    with_variables(
        "a_protocol_that_does_not_exist_is_refused",
        &variables,
        || expect_refusal(SLEEP, "snooze"),
    );
}

#[test]
fn a_switch_that_is_neither_on_nor_off_is_refused() {
    let variables = [(OVERLOOK_NO_JOBS, "perhaps")];
    with_variables(
        "a_switch_that_is_neither_on_nor_off_is_refused",
        &variables,
        || expect_refusal(OVERLOOK_NO_JOBS, "perhaps"),
    );
}
