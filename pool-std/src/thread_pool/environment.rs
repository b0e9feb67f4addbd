//! The default number of workers.

use std::{env, thread};

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
        .or_else(|| thread::available_parallelism().ok().map(usize::from))
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

#[cfg(test)]
mod tests {
    use super::*;

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
