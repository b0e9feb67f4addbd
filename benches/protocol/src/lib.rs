//! How a program that measures talks to the one that asks it to.
//!
//! The program prints one line with the descriptions of all its [`Case`]s, as JSON. Then it reads
//! lines, each the number of a case, runs that case once and answers with a line: the result. So
//! the asking program can let the systems take turns, also when they are in different processes.

use std::{
    io::{self, BufRead, Write},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// What a case measures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The group it belongs to.
    pub group: String,
    /// What is done. Cases of the same name and threads are compared.
    pub name: String,
    /// On how many workers.
    pub threads: usize,
    /// By whom.
    pub system: String,
    /// The unit of the result.
    pub unit: Unit,
    /// Whether the better of two results is the greater one.
    pub more_is_better: bool,
    /// Whether it counts rare events, so that the mean says more than the median.
    pub is_rare: bool,
    /// How often to measure it.
    pub repetitions: u32,
    /// Why it cannot be measured here, if it cannot.
    pub missing: Option<String>,
}

/// The unit of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Unit {
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "count")]
    Count,
    #[serde(rename = "1/s")]
    PerSecond,
}

impl Unit {
    /// As it is printed.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::PerSecond => "1/s",
        }
    }

    /// A duration in this unit.
    ///
    /// # Panics
    /// If it is not a unit of time.
    #[must_use]
    pub fn of(self, duration: Duration) -> f64 {
        let seconds = duration.as_secs_f64();
        match self {
            Self::Nanoseconds => seconds * 1e9,
            Self::Microseconds => seconds * 1e6,
            Self::Milliseconds => seconds * 1e3,
            Self::Seconds => seconds,
            other => panic!("{other:?} is no unit of time"),
        }
    }

    /// Whether the better of two results is the greater one, unless the case says otherwise.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::PerSecond | Self::Count)
    }
}

/// Something to measure.
pub struct Case {
    description: Description,
    run: Box<dyn FnMut() -> f64>,
}

impl Case {
    /// A case; `run` does it once and returns the result, in the description's unit.
    pub fn new(
        group: &str,
        name: &str,
        threads: usize,
        system: &str,
        unit: Unit,
        run: impl FnMut() -> f64 + 'static,
    ) -> Self {
        Self {
            description: Description {
                group: group.to_owned(),
                name: name.to_owned(),
                threads,
                system: system.to_owned(),
                unit,
                more_is_better: unit.more_is_better(),
                is_rare: false,
                repetitions: 15,
                missing: None,
            },
            run: Box::new(run),
        }
    }

    /// How often to measure it, if not 15 times.
    #[must_use]
    pub fn repetitions(mut self, repetitions: u32) -> Self {
        self.description.repetitions = repetitions;
        self
    }

    /// The better of two results is the smaller one, whatever the unit.
    #[must_use]
    pub fn less_is_better(mut self) -> Self {
        self.description.more_is_better = false;
        self
    }

    /// It counts rare events: its repetitions are summed up by their mean.
    #[must_use]
    pub fn rare(mut self) -> Self {
        self.description.is_rare = true;
        self
    }

    /// A case that cannot be measured here.
    #[must_use]
    pub fn missing(mut self, reason: &str) -> Self {
        self.description.missing = Some(reason.to_owned());
        self
    }

    /// What it measures.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }
}

/// How long a closure takes.
pub fn time<R>(run: impl FnOnce() -> R) -> Duration {
    let start = Instant::now();
    std::hint::black_box(run());
    start.elapsed()
}

/// Returns the value that this part of the values, from 0 to 1, does not exceed: 0.5 for the
/// median. Interpolates linearly between the two nearest values.
///
/// # Panics
/// If there are no values.
#[must_use]
pub fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let position = part * (values.len() - 1) as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    let weight = position.fract();
    values[below] * (1.0 - weight) + values[above] * weight
}

/// Measures what is asked for, until nothing more is.
///
/// # Errors
/// If reading or writing fails, or what is read is not the number of a case.
pub fn serve(mut cases: Vec<Case>) -> io::Result<()> {
    let descriptions: Vec<_> = cases.iter().map(|case| &case.description).collect();
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &descriptions)?;
    writeln!(output)?;
    output.flush()?;
    for line in io::stdin().lock().lines() {
        let case = line?
            .trim()
            .parse()
            .ok()
            .and_then(|n: usize| cases.get_mut(n));
        let Some(case) = case else {
            return Err(io::Error::other("not the number of a case"));
        };
        writeln!(output, "{}", (case.run)())?;
        output.flush()?;
    }
    Ok(())
}

/// The numbers of workers to measure with: the program's argument, `1,2` if there is none.
///
/// # Panics
/// If the argument is no list of positive numbers.
#[must_use]
pub fn thread_counts() -> Vec<usize> {
    let list = std::env::args().nth(1).unwrap_or_else(|| "1,2".to_owned());
    let counts: Option<Vec<usize>> = list.split(',').map(|n| n.parse().ok()).collect();
    counts
        .filter(|counts| !counts.contains(&0))
        .expect("a list of positive numbers of workers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_quantiles() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(vec![4.0, 1.0, 2.0, 3.0], 0.5), 2.5);
        assert_eq!(quantile(vec![7.0], 0.99), 7.0);
        assert_eq!(quantile((0..=100).map(f64::from).collect(), 0.99), 99.0);
    }
}
