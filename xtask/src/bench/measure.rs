//! Measures the systems in turns, and sums up.

use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use protocol::{Description, Unit, quantile};

use super::program::{Built, Program};

/// The results of all systems for the same work.
pub(crate) struct Comparison {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) threads: usize,
    pub(crate) unit: Unit,
    pub(crate) more_is_better: bool,
    /// By system; why one is missing, if it is.
    pub(crate) systems: Vec<(String, Result<Summary, String>)>,
}

/// The summary of the repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    /// Or the mean, of rare events.
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) n: usize,
}

impl Summary {
    /// Sums up at least one result.
    fn of(results: Vec<f64>, are_rare: bool) -> Self {
        let n = results.len();
        Self {
            min: results.iter().copied().fold(f64::INFINITY, f64::min),
            max: results.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            // The median of rare events would be zero.
            median: if are_rare {
                results.iter().sum::<f64>() / n as f64
            } else {
                quantile(results, 0.5)
            },
            n,
        }
    }
}

/// One case of one program, and its results.
struct Turn {
    program: usize,
    case: usize,
    results: Vec<f64>,
}

impl Turn {
    fn of<'a>(&self, programs: &'a [Program]) -> &'a Description {
        &programs[self.program].cases[self.case]
    }
}

/// How often the programs are started anew: in each process their memory lies elsewhere, which
/// makes other things fast.
const LAUNCHES: u32 = 9;

/// Measures the cases of these groups. A case is repeated as often as its description says, in
/// equal shares after each start of its program. If `quick`, it runs once per start, or a third as
/// often if it is slow.
pub(crate) fn measure(
    built: &[Built],
    threads: &[usize],
    groups: &[&str],
    quick: bool,
) -> Result<Vec<Comparison>> {
    let mut programs = start(built, threads)?;
    let mut plan = plan(&programs, groups);
    ensure!(
        !plan.is_empty(),
        "nothing of {} can be measured with so many workers on this system",
        groups.join(", ")
    );
    let total: u32 = plan
        .iter()
        .map(|turns| repetitions(&programs, turns, quick))
        .sum();
    let progress = ProgressBar::new(total.into()).with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left").expect("valid"),
    );
    for launch in 0..LAUNCHES {
        if launch > 0 {
            programs = start(built, threads)?;
        }
        for turns in &mut plan {
            let first = turns[0].of(&programs);
            progress.set_message(format!("{} {}", first.group, first.name));
            let all = repetitions(&programs, turns, quick);
            let rounds = all * (launch + 1) / LAUNCHES - all * launch / LAUNCHES;
            let warm_up = turns[0].of(&programs).repetitions > LAUNCHES;
            take_turns(&mut programs, turns, rounds, warm_up)?;
            progress.inc(rounds.into());
        }
    }
    progress.finish_and_clear();
    Ok(plan
        .iter_mut()
        .map(|turns| sum_up(&programs, turns))
        .collect())
}

fn start(built: &[Built], threads: &[usize]) -> Result<Vec<Program>> {
    let programs = built.iter().map(|built| Program::start(built, threads));
    programs.collect()
}

/// Measures each of the turns `rounds` times. A warm-up of pages, caches and frequencies before
/// that does not count.
fn take_turns(
    programs: &mut [Program],
    turns: &mut [Turn],
    rounds: u32,
    warm_up: bool,
) -> Result<()> {
    let warm_up = u32::from(warm_up && rounds > 0);
    for round in 0..rounds + warm_up {
        // The first one must not always be the same.
        turns.rotate_left(1);
        for turn in turns.iter_mut() {
            if turn.of(programs).missing.is_some() {
                continue;
            }
            let result = programs[turn.program].measure(turn.case)?;
            if round >= warm_up {
                turn.results.push(result);
            }
        }
    }
    Ok(())
}

/// Returns the cases that are compared with each other, in the order of their descriptions.
fn plan(programs: &[Program], groups: &[&str]) -> Vec<Vec<Turn>> {
    let mut plan: Vec<Vec<Turn>> = Vec::new();
    for (
        program,
        Program {
            cases, groups: own, ..
        },
    ) in programs.iter().enumerate()
    {
        for (case, description) in cases.iter().enumerate() {
            let group = &*description.group;
            if !groups.contains(&group) || !own.contains(&group) {
                continue;
            }
            let turn = Turn {
                program,
                case,
                results: Vec::new(),
            };
            let same = plan.iter_mut().find(|turns| {
                let other = turns[0].of(programs);
                (&other.group, &other.name, other.threads)
                    == (&description.group, &description.name, description.threads)
            });
            match same {
                Some(turns) => turns.push(turn),
                None => plan.push(vec![turn]),
            }
        }
    }
    plan
}

fn repetitions(programs: &[Program], turns: &[Turn], quick: bool) -> u32 {
    let full = turns[0].of(programs).repetitions;
    match quick {
        true if full > LAUNCHES => LAUNCHES,
        true => full.div_ceil(3),
        false => full,
    }
}

fn sum_up(programs: &[Program], turns: &mut [Turn]) -> Comparison {
    turns.sort_by_key(|turn| (turn.program, turn.case));
    let first = turns[0].of(programs);
    let systems = turns.iter_mut().map(|turn| {
        let description = turn.of(programs);
        let result = match &description.missing {
            Some(reason) => Err(reason.clone()),
            None => {
                let results = std::mem::take(&mut turn.results);
                Ok(Summary::of(results, description.is_rare))
            }
        };
        (description.system.clone(), result)
    });
    let mut systems: Vec<_> = systems.collect();
    // Ours first, whatever the order of the programs.
    systems.sort_by_key(|(system, _)| !system.starts_with("ours"));
    Comparison {
        group: first.group.clone(),
        name: first.name.clone(),
        threads: first.threads,
        unit: first.unit,
        more_is_better: first.more_is_better,
        systems,
    }
}

impl Comparison {
    /// Returns the ratio of our result to another's: below 1 is better for us, whatever the unit.
    /// None if both are zero.
    pub(crate) fn ratio(&self, other: &Summary) -> Option<f64> {
        let (system, ours) = self.systems.first()?;
        let ours = ours.as_ref().ok().filter(|_| system == "ours")?;
        let ratio = if self.more_is_better {
            other.median / ours.median
        } else {
            ours.median / other.median
        };
        (!ratio.is_nan()).then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let odd = Summary::of(vec![3.0, 1.0, 2.0], false);
        assert_eq!((odd.median, odd.min, odd.max, odd.n), (2.0, 1.0, 3.0, 3));
        let even = Summary::of(vec![4.0, 1.0, 2.0, 3.0], false);
        assert_eq!((even.median, even.n), (2.5, 4));
        let rare = Summary::of(vec![3.0, 0.0, 0.0], true);
        assert_eq!((rare.median, rare.max), (1.0, 3.0));
    }

    #[test]
    fn a_ratio_below_one_is_better() {
        let summary = |median| Summary {
            median,
            min: median,
            max: median,
            n: 1,
        };
        let comparison = |unit| Comparison {
            group: String::new(),
            name: String::new(),
            threads: 1,
            unit,
            more_is_better: unit.more_is_better(),
            systems: vec![("ours".to_owned(), Ok(summary(2.0)))],
        };
        assert_eq!(
            comparison(Unit::Nanoseconds).ratio(&summary(4.0)),
            Some(0.5)
        );
        assert_eq!(comparison(Unit::PerSecond).ratio(&summary(4.0)), Some(2.0));
        let mut nothing = comparison(Unit::Nanoseconds);
        nothing.systems[0].1 = Ok(summary(0.0));
        assert_eq!(nothing.ratio(&summary(0.0)), None);
    }
}
