//! Schedules, as texts and as values.

use std::{error::Error, fmt, str::FromStr};

/// Which worker of a seeded pool continues at each choice.
///
/// A schedule that is created from a number makes all choices with a generator that has this seed.
/// In a schedule that is created from the text of a [failed program](crate::FailedProgram), the
/// running worker continues, or else the first worker that can, except at the switches that the
/// text lists.
///
/// # Examples
/// ```
/// use pool_std::Schedule;
///
/// assert_eq!(Schedule::from(42).to_string(), "42");
/// // At the 7th choice the worker 2 goes on, and at the 19th the worker 0.
/// let schedule: Schedule = "42:7-2,19-0".parse()?;
/// assert_eq!(schedule.seed(), 42);
/// assert_eq!(schedule.switches(), Some(&[(7, 2), (19, 0)][..]));
/// assert!("42:7".parse::<Schedule>().is_err());
/// assert!("42:0-1".parse::<Schedule>().is_err());
/// # Ok::<(), pool_std::NoSchedule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    seed: u64,
    switches: Option<Vec<(u64, usize)>>,
}

impl Schedule {
    pub(super) fn new(seed: u64, switches: Vec<(u64, usize)>) -> Self {
        Self {
            seed,
            switches: Some(switches),
        }
    }

    /// Returns the seed. It also determines where workers begin to look for jobs.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the switches if the schedule lists them, or `None` if a generator makes the choices.
    /// Each switch is the number of the choice and the number of the worker. Workers are numbered
    /// from 0, and those of a later pool follow those of earlier pools.
    #[must_use]
    pub fn switches(&self) -> Option<&[(u64, usize)]> {
        self.switches.as_deref()
    }
}

impl From<u64> for Schedule {
    fn from(seed: u64) -> Self {
        Self {
            seed,
            switches: None,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        let Some(switches) = &self.switches else {
            return Ok(());
        };
        f.write_str(":")?;
        for (place, (choice, worker)) in switches.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(f, "{comma}{choice}-{worker}")?;
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Self, NoSchedule> {
        parse(text).ok_or_else(|| NoSchedule {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<Schedule> {
    let Some((seed, switches)) = text.split_once(':') else {
        return Some(Schedule::from(text.parse::<u64>().ok()?));
    };
    let seed = seed.parse().ok()?;
    let switches = switches.split(',').filter(|switch| !switch.is_empty());
    let switches = switches.map(|switch| {
        let (choice, worker) = switch.split_once('-')?;
        // The first choice has the number 1.
        let choice = choice.parse().ok().filter(|&choice| choice > 0)?;
        Some((choice, worker.parse().ok()?))
    });
    let switches: Vec<(u64, usize)> = switches.collect::<Option<_>>()?;
    // The choices must be in ascending order.
    switches
        .is_sorted_by(|(one, _), (next, _)| one < next)
        .then(|| Schedule::new(seed, switches))
}

/// The error for a text that is not a [`Schedule`].
///
/// # Examples
/// ```
/// use pool_std::Schedule;
///
/// assert!("17".parse::<Schedule>().is_ok());
/// let error = "a lucky one".parse::<Schedule>().unwrap_err();
/// assert!(error.to_string().contains("a lucky one"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSchedule {
    text: String,
}

impl fmt::Display for NoSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no schedule, which is a number, or a number and switches in their order, \
             as in 42:7-2,19-0",
            self.text
        )
    }
}

impl Error for NoSchedule {}
