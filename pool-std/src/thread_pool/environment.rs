//! What the environment says about pools: the default number of workers, and how they sleep.

use std::{
    env,
    ffi::{OsStr, OsString},
};

use pool_core::IdlePolicy;

use crate::{
    sleep::SleepKind,
    thread_pool::{error::BuildError, processors},
};

/// The variable that names the sleep protocol.
const SLEEP: &str = "POOL_STD_SLEEP";
/// The variable that says whether workers that fall asleep may overlook jobs.
const OVERLOOK_NO_JOBS: &str = "POOL_STD_OVERLOOK_NO_JOBS";
/// The variable that names a preset of idle policies.
const IDLE: &str = "POOL_STD_IDLE";

/// The presets by their names, the default first.
const IDLE_POLICIES: [(&str, IdlePolicy); 4] = [
    ("balanced", IdlePolicy::BALANCED),
    ("latency", IdlePolicy::LATENCY),
    ("power", IdlePolicy::POWER),
    ("immediate", IdlePolicy::IMMEDIATE),
];

/// The variable that says whether threads outside the pool run a facade's closures themselves.
const FACADE_GUESTS: &str = "RAYON_CORE_GUESTS";

/// The variables that set the number, the first one first. The last two are rayon's.
const VARIABLES: [&str; 3] = [
    "POOL_STD_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "RAYON_RS_NUM_CPUS",
];

/// Returns the number that the environment asks for, or else one per processor that this process may
/// use; at most `maximum`.
pub(crate) fn default_num_threads(maximum: usize) -> usize {
    requested(|variable| env::var(variable).ok())
        .or_else(num_processors)
        .unwrap_or(1)
        .min(maximum)
}

/// Returns the number in the first variable that holds one, or None if it asks for the default by 0.
fn requested(value: impl Fn(&str) -> Option<String>) -> Option<usize> {
    VARIABLES
        .iter()
        .find_map(|variable| value(variable)?.parse().ok())
        .filter(|&threads| threads > 0)
}

/// Returns the sleep protocol that the environment asks for, if it asks for one.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if no protocol has that name. Unlike a number of threads, a name
/// cannot be taken for something else, so a wrong one is a mistake.
pub(crate) fn sleep_kind() -> Result<Option<SleepKind>, BuildError> {
    let names = SleepKind::ALL.iter().map(|&kind| (kind.name(), kind));
    choice(SLEEP, env::var_os(SLEEP), &names.collect::<Vec<_>>())
}

/// Returns what the environment says of [`overlook_no_jobs`](crate::ThreadPoolBuilder::overlook_no_jobs),
/// if it says anything.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value is neither 0 nor 1.
pub(crate) fn overlook_no_jobs() -> Result<Option<bool>, BuildError> {
    let values = [("0", false), ("1", true)];
    choice(OVERLOOK_NO_JOBS, env::var_os(OVERLOOK_NO_JOBS), &values)
}

/// Returns the idle policy that the environment asks for, if it asks for one.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if no preset has that name.
pub(crate) fn idle_policy() -> Result<Option<IdlePolicy>, BuildError> {
    choice(IDLE, env::var_os(IDLE), &IDLE_POLICIES)
}

/// Returns the number of processors that this process may use, or None if the system does not say.
pub(crate) fn num_processors() -> Option<usize> {
    processors::count()
}

/// Returns whether the environment asks for guests in programs that use a facade, if it says anything.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value is neither 0 nor 1.
pub(crate) fn facade_guests() -> Result<Option<bool>, BuildError> {
    let values = [("0", false), ("1", true)];
    choice(FACADE_GUESTS, env::var_os(FACADE_GUESTS), &values)
}

/// Returns what a value of a variable stands for. An empty value asks for nothing.
fn choice<T: Copy>(
    variable: &'static str,
    value: Option<OsString>,
    choices: &[(&'static str, T)],
) -> Result<Option<T>, BuildError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let mut known = choices.iter();
    match known.find(|(name, _)| *value == *OsStr::new(name)) {
        Some(&(_, chosen)) => Ok(Some(chosen)),
        None => Err(BuildError::EnvironmentVariable {
            variable,
            value,
            choices: choices.iter().map(|(name, _)| *name).collect(),
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

    fn with(values: &[(&str, &str)]) -> Option<usize> {
        requested(|variable| {
            let (_, value) = values.iter().find(|(name, _)| *name == variable)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn takes_the_first_number() {
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("RAYON_RS_NUM_CPUS", "3")]), Some(3));
        let both = [("RAYON_RS_NUM_CPUS", "3"), ("RAYON_NUM_THREADS", "5")];
        assert_eq!(with(&both), Some(5));
        let ours = [("RAYON_NUM_THREADS", "5"), ("POOL_STD_NUM_THREADS", "7")];
        assert_eq!(with(&ours), Some(7));
    }

    #[test]
    fn ignores_non_numeric_values() {
        for nonsense in ["", "many", "-1", " 4", "99999999999999999999999"] {
            let values = [("RAYON_NUM_THREADS", nonsense), ("RAYON_RS_NUM_CPUS", "3")];
            assert_eq!(with(&values), Some(3), "{nonsense:?}");
        }
    }

    #[test]
    fn treats_zero_as_unset() {
        let values = [("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "3")];
        assert_eq!(with(&values), None);
    }
}
