//! How many workers a pool has that is not told.

use std::{env, thread};

/// Where the user of a program may say it. The others are what users of rayon have set.
const VARIABLES: [&str; 3] = [
    "POOL_STD_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "RAYON_RS_NUM_CPUS",
];

/// What the environment says, or else one for each processor that this process may use; at most
/// `maximum`.
pub(crate) fn default_num_threads(maximum: usize) -> usize {
    requested(|variable| env::var(variable).ok())
        .or_else(|| thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1)
        .min(maximum)
}

/// The first variable that holds a number counts; 0 asks for the default.
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
    fn the_first_number_counts() {
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("RAYON_RS_NUM_CPUS", "3")]), Some(3));
        let both = [("RAYON_RS_NUM_CPUS", "3"), ("RAYON_NUM_THREADS", "5")];
        assert_eq!(with(&both), Some(5));
        let ours = [("RAYON_NUM_THREADS", "5"), ("POOL_STD_NUM_THREADS", "7")];
        assert_eq!(with(&ours), Some(7));
    }

    #[test]
    fn what_is_no_number_does_not_count() {
        for nonsense in ["", "many", "-1", " 4", "99999999999999999999999"] {
            let values = [("RAYON_NUM_THREADS", nonsense), ("RAYON_RS_NUM_CPUS", "3")];
            assert_eq!(with(&values), Some(3), "{nonsense:?}");
        }
    }

    #[test]
    fn zero_asks_for_the_default() {
        let values = [("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "3")];
        assert_eq!(with(&values), None);
    }
}
