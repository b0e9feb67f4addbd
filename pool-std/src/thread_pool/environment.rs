//! What the environment says about pools.
//!
//! The page "Environment variables" of the book has all of them in one table.

use std::{env, ffi::OsString};

use pool_core::IdlePolicy;

use crate::{
    seeded::Schedule,
    sleep::SleepKind,
    thread_pool::{builder::MAX_THREADS, error::BuildError},
};

/// The variable that sets the number of workers.
const NUM_THREADS: &str = "POOL_STD_NUM_THREADS";

/// The variable that names the sleep protocol.
const SLEEP: &str = "POOL_STD_SLEEP";
/// The variable that says whether workers that fall asleep may overlook jobs.
const OVERLOOK_NO_JOBS: &str = "POOL_STD_OVERLOOK_NO_JOBS";
/// The variable that says whether process fences may be asked of the system.
const MEMBARRIER: &str = "POOL_STD_MEMBARRIER";
/// The variable that names a preset of idle policies.
const IDLE: &str = "POOL_STD_IDLE";

/// The variable that makes pools seeded.
const SEED: &str = "POOL_STD_SEED";

/// The variable that names the file of a trace.
const TRACE: &str = "POOL_STD_TRACE";

/// The variable that says whether the process answers viewers.
const LIVE: &str = "POOL_STD_LIVE";

/// The variable that names a signal.
const STATE_SIGNAL: &str = "POOL_STD_STATE_SIGNAL";

/// The signals that programs leave to others.
#[cfg(all(unix, feature = "signal"))]
const SIGNALS: [(&str, std::ffi::c_int); 4] = [
    ("USR1", signal_hook::consts::SIGUSR1),
    ("USR2", signal_hook::consts::SIGUSR2),
    ("HUP", signal_hook::consts::SIGHUP),
    ("QUIT", signal_hook::consts::SIGQUIT),
];

/// The presets by their names, the default first.
const IDLE_POLICIES: [(&str, IdlePolicy); 4] = [
    ("balanced", IdlePolicy::BALANCED),
    ("latency", IdlePolicy::LATENCY),
    ("power", IdlePolicy::POWER),
    ("immediate", IdlePolicy::IMMEDIATE),
];

/// The values of a variable that is a switch.
const SWITCH: [(&str, bool); 2] = [("0", false), ("1", true)];

/// Rayon's variables that set the number of workers, the first one first.
const RAYON_NUM_THREADS: [&str; 2] = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"];

/// The standard library's variable that sets the size of the stacks of threads.
const MIN_STACK: &str = "RUST_MIN_STACK";

/// The values of [`NUM_THREADS`].
const NUMBERS: &str = if MAX_THREADS == u16::MAX as usize {
    "a number from 0 to 65535"
} else {
    "a number from 0 to 255"
};

/// Returns the number that the environment asks for, or else `otherwise`: one per processor that
/// this process may use.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if our own variable holds no number, or more than a pool can
/// have.
pub(crate) fn default_num_threads(
    otherwise: impl FnOnce() -> Option<usize>,
) -> Result<usize, BuildError> {
    let requested = match own_number(env::var_os(NUM_THREADS))? {
        Some(number) => Some(number),
        None => rayons_number(|variable| env::var(variable).ok()),
    };
    let requested = requested.filter(|&threads| threads > 0);
    Ok(requested.or_else(otherwise).unwrap_or(1).min(MAX_THREADS))
}

/// Returns the number in a value of our own variable. An empty value asks for nothing.
fn own_number(value: Option<OsString>) -> Result<Option<usize>, BuildError> {
    parsed(NUM_THREADS, value, &[NUMBERS], |text| {
        text.parse().ok().filter(|&number| number <= MAX_THREADS)
    })
}

/// Returns the number in the first of rayon's variables that holds one. As in rayon, other values
/// are ignored, so that each program of rayon's starts with our pool, too.
fn rayons_number(value: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let mut variables = RAYON_NUM_THREADS.iter();
    variables.find_map(|variable| value(variable)?.parse().ok())
}

/// Returns the size of the stack that the environment gives to a thread for which the program sets
/// none. As in the standard library, a value that is not a number is ignored.
pub(crate) fn stack_size() -> Option<usize> {
    env::var(MIN_STACK).ok()?.parse().ok()
}

/// Returns the sleep protocol that the environment asks for, if it asks for one.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if no protocol has that name.
pub(crate) fn sleep_kind() -> Result<Option<SleepKind>, BuildError> {
    let names = SleepKind::ALL.iter().map(|&kind| (kind.name(), kind));
    choice(SLEEP, env::var_os(SLEEP), &names.collect::<Vec<_>>())
}

/// Returns the schedule that the environment asks for, if it asks for one.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value is no schedule.
pub(crate) fn schedule() -> Result<Option<Schedule>, BuildError> {
    let choices = ["a number", "a schedule as `explore` prints it"];
    parsed(SEED, env::var_os(SEED), &choices, |text| text.parse().ok())
}

/// Returns what the environment says of
/// [`overlook_no_jobs`](crate::ThreadPoolBuilder::overlook_no_jobs), if it says anything.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value is neither 0 nor 1.
pub(crate) fn overlook_no_jobs() -> Result<Option<bool>, BuildError> {
    choice(OVERLOOK_NO_JOBS, env::var_os(OVERLOOK_NO_JOBS), &SWITCH)
}

/// Returns whether process fences may be asked of the system, if the environment says anything.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value is neither 0 nor 1.
pub(crate) fn membarrier() -> Result<Option<bool>, BuildError> {
    choice(MEMBARRIER, env::var_os(MEMBARRIER), &SWITCH)
}

/// Returns the idle policy that the environment asks for, if it asks for one.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if no preset has that name.
pub(crate) fn idle_policy() -> Result<Option<IdlePolicy>, BuildError> {
    choice(IDLE, env::var_os(IDLE), &IDLE_POLICIES)
}

/// Checks that the environment requests no feature that this crate was built without. For example,
/// a signal that should print the state of the workers would otherwise end the program.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] otherwise.
pub(crate) fn check_features() -> Result<(), BuildError> {
    let without = [
        (TRACE, cfg!(feature = "trace"), WITHOUT_TRACE),
        (LIVE, cfg!(feature = "live"), WITHOUT_LIVE),
        (
            STATE_SIGNAL,
            cfg!(all(unix, feature = "signal")),
            WITHOUT_SIGNAL,
        ),
    ];
    for (variable, _, choice) in without.into_iter().filter(|&(_, has, _)| !has) {
        refuse(variable, env::var_os(variable), choice)?;
    }
    Ok(())
}

const WITHOUT_TRACE: &str = "unset: pool-std was built without the feature `trace`";
const WITHOUT_LIVE: &str = "unset: pool-std was built without the feature `live`";
const WITHOUT_SIGNAL: &str =
    "unset: pool-std was built without the feature `signal`, or not for Unix";

/// Refuses all values but those that ask for nothing.
fn refuse(
    variable: &'static str,
    value: Option<OsString>,
    choice: &'static str,
) -> Result<(), BuildError> {
    let is_off = |text: &str| (text == "0").then_some(());
    parsed(variable, value, &[choice], is_off)?;
    Ok(())
}

/// Returns the file to which the process is to write a trace, if the environment asks for one.
#[cfg(feature = "trace")]
pub(crate) fn trace_file() -> Option<std::path::PathBuf> {
    let value = env::var_os(TRACE).filter(|value| !value.is_empty());
    value.map(Into::into)
}

/// Returns the signal that is to print what all workers do, if the environment asks for one.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if it is none of the signals that programs leave to others.
#[cfg(all(unix, feature = "signal"))]
pub(crate) fn state_signal() -> Result<Option<std::ffi::c_int>, BuildError> {
    choice(STATE_SIGNAL, env::var_os(STATE_SIGNAL), &SIGNALS)
}

/// Returns whether the process is to answer viewers.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value is neither 0 nor 1.
#[cfg(feature = "live")]
pub(crate) fn is_live() -> Result<bool, BuildError> {
    Ok(choice(LIVE, env::var_os(LIVE), &SWITCH)?.unwrap_or(false))
}

/// Returns what a value of a variable stands for.
fn choice<T: Copy>(
    variable: &'static str,
    value: Option<OsString>,
    choices: &[(&'static str, T)],
) -> Result<Option<T>, BuildError> {
    let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
    parsed(variable, value, &names, |text| {
        let known = choices.iter().find(|(name, _)| *name == text);
        known.map(|&(_, chosen)| chosen)
    })
}

/// Returns what `parse` makes of a value of a variable. An empty value asks for nothing.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] with the choices, if it makes nothing of the value.
fn parsed<T>(
    variable: &'static str,
    value: Option<OsString>,
    choices: &[&'static str],
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, BuildError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    match value.to_str().and_then(parse) {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(BuildError::EnvironmentVariable {
            variable,
            value,
            choices: choices.to_vec(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: [(&str, u8); 2] = [("left", 1), ("right", 2)];

    fn chosen(value: Option<&str>) -> Result<Option<u8>, BuildError> {
        choice("WAY", value.map(OsString::from), &CHOICES)
    }

    #[test]
    fn takes_one_of_the_choices() {
        assert_eq!(chosen(Some("right")).unwrap(), Some(2));
        assert_eq!(chosen(None).unwrap(), None);
        assert_eq!(chosen(Some("")).unwrap(), None, "empty is unset");
    }

    #[test]
    fn any_other_value_is_an_error_that_names_the_choices() {
        for bad in ["Left", " left", "left ", "up", "lef"] {
            let error = chosen(Some(bad)).unwrap_err();
            let text =
                format!("the environment variable WAY is `{bad}`, but must be left or right");
            assert_eq!(error.to_string(), text);
            match error {
                BuildError::EnvironmentVariable {
                    variable,
                    value,
                    choices,
                } => {
                    assert_eq!((variable, value), ("WAY", OsString::from(bad)));
                    assert_eq!(choices, ["left", "right"]);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_no_text_is_an_error_too() {
        use std::os::unix::ffi::OsStringExt;

        let value = OsString::from_vec(vec![b'l', 0xFF]);
        let error = choice("WAY", Some(value), &CHOICES).unwrap_err();
        assert!(error.to_string().contains("WAY"), "{error}");
    }

    #[test]
    fn what_a_missing_feature_would_do_is_refused() {
        let refused = |value: &str| refuse(LIVE, Some(OsString::from(value)), WITHOUT_LIVE);
        assert!(refuse(LIVE, None, WITHOUT_LIVE).is_ok());
        assert!(refused("").is_ok());
        assert!(refused("0").is_ok(), "it asks for nothing");
        assert_eq!(
            refused("1").unwrap_err().to_string(),
            "the environment variable POOL_STD_LIVE is `1`, but must be unset: pool-std was built \
             without the feature `live`"
        );
    }

    fn rayons(values: &[(&str, &str)]) -> Option<usize> {
        rayons_number(|variable| {
            let (_, value) = values.iter().find(|(name, _)| *name == variable)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn takes_the_first_number_of_rayons_variables() {
        assert_eq!(rayons(&[]), None);
        assert_eq!(rayons(&[("RAYON_RS_NUM_CPUS", "3")]), Some(3));
        let both = [("RAYON_RS_NUM_CPUS", "3"), ("RAYON_NUM_THREADS", "5")];
        assert_eq!(rayons(&both), Some(5));
        let zero = [("RAYON_RS_NUM_CPUS", "3"), ("RAYON_NUM_THREADS", "0")];
        assert_eq!(rayons(&zero), Some(0), "it asks for the default");
    }

    #[test]
    fn ignores_non_numeric_values_of_rayons_variables() {
        for nonsense in ["", "many", "-1", " 4", "99999999999999999999999"] {
            let values = [("RAYON_NUM_THREADS", nonsense), ("RAYON_RS_NUM_CPUS", "3")];
            assert_eq!(rayons(&values), Some(3), "{nonsense:?}");
        }
    }

    #[test]
    fn takes_a_number_of_threads() {
        let number = |value: &str| own_number(Some(OsString::from(value))).unwrap();
        assert_eq!(own_number(None).unwrap(), None);
        assert_eq!(number(""), None, "empty is unset");
        assert_eq!(number("0"), Some(0));
        assert_eq!(number(&MAX_THREADS.to_string()), Some(MAX_THREADS));
    }

    #[test]
    fn a_bad_number_of_threads_is_an_error_that_names_the_greatest() {
        let above = (MAX_THREADS + 1).to_string();
        for bad in ["abc", "-1", " 4", "4 ", &above, "99999999999999999999999"] {
            let error = own_number(Some(OsString::from(bad))).unwrap_err();
            let text = format!(
                "the environment variable POOL_STD_NUM_THREADS is `{bad}`, \
                 but must be a number from 0 to {MAX_THREADS}"
            );
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn the_page_of_the_book_has_each_variable_and_the_choices_of_two() {
        let page = include_str!("../../../docs/src/environment.md");
        // Other tables explain values, under headings.
        let (variables, _) = page
            .split_once(
                "
## ",
            )
            .unwrap();
        let own = [
            NUM_THREADS,
            SLEEP,
            IDLE,
            OVERLOOK_NO_JOBS,
            MEMBARRIER,
            SEED,
            "POOL_STD_TRACE",
            "POOL_STD_LIVE",
            "POOL_STD_STATE_SIGNAL",
        ];
        for variable in own.into_iter().chain(RAYON_NUM_THREADS) {
            let row = format!("| `{variable}` |");
            assert_eq!(variables.matches(&row).count(), 1, "{variable}");
        }
        let kinds = SleepKind::ALL.iter().map(|kind| kind.name());
        for choice in kinds.chain(IDLE_POLICIES.map(|(name, _)| name)) {
            assert!(page.contains(&format!("`{choice}`")), "{choice}");
        }
    }
}
