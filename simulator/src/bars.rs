//! The goals for large machines, and whether they are met.

use crate::{
    cost::{CostModel, ideal_wake_tree},
    simulation::{Outcome, microseconds},
};

/// The most shared lines that a single job may touch.
pub const LINES_PER_JOB: f64 = 16.0;
/// The most that a burst may take until all workers run, as a multiple of the ideal wake tree.
pub const OCCUPANCY: f64 = 3.0;
/// The most by which fruitless searches per job may grow from the smaller pool to the larger one.
pub const GROWTH: f64 = 1.1;

/// A goal, and what was simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What is looked at.
    pub about: String,
    /// The number, if there is one.
    pub value: Option<f64>,
    /// What it may be at most.
    pub limit: f64,
    /// The unit of both.
    pub unit: &'static str,
}

impl Bar {
    /// Whether the goal is met.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.value.is_some_and(|value| value <= self.limit)
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = if self.is_met() { "met    " } else { "NOT MET" };
        match self.value {
            Some(value) => write!(
                f,
                "{verdict} {}: {value:.1} {unit}, at most {:.1}",
                self.about,
                self.limit,
                unit = self.unit
            ),
            None => write!(
                f,
                "{verdict} {}: never, at most {:.1} {}",
                self.about, self.limit, self.unit
            ),
        }
    }
}

fn outcome<'a>(outcomes: &'a [Outcome], workload: &str) -> Option<&'a Outcome> {
    outcomes.iter().find(|outcome| outcome.workload == workload)
}

/// Compares the outcomes of a pool with the goals. `smaller` are those of the same pool with fewer
/// workers.
#[must_use]
pub fn bars(
    costs: &CostModel,
    (workers, outcomes): (usize, &[Outcome]),
    smaller: Option<(usize, &[Outcome])>,
) -> Vec<Bar> {
    let mut bars = Vec::new();
    if let Some(trickle) = outcome(outcomes, "trickle") {
        bars.push(Bar {
            about: format!("trickle, {workers} workers: shared lines touched for a job"),
            value: trickle.probe.mean_lines(),
            limit: LINES_PER_JOB,
            unit: "lines",
        });
    }
    let ideal = microseconds(ideal_wake_tree(workers, costs));
    for workload in ["burst", "batch", "spread", "split"] {
        if let Some(burst) = outcome(outcomes, workload) {
            bars.push(Bar {
                about: format!(
                    "{workload}, {workers} workers: full occupancy, {:.0} times the ideal of {ideal:.1} us",
                    OCCUPANCY
                ),
                value: burst.probe.full_occupancy.map(microseconds),
                limit: OCCUPANCY * ideal,
                unit: "us",
            });
        }
    }
    if let Some((fewer, smaller)) = smaller {
        for workload in ["trickle", "tick", "pipe", "split"] {
            let pair = outcome(outcomes, workload).zip(outcome(smaller, workload));
            if let Some((large, small)) = pair {
                let small = small.per_job(small.fruitless_searches);
                bars.push(Bar {
                    about: format!(
                        "{workload}: fruitless searches per job with {workers} workers, {fewer} have {small:.1}"
                    ),
                    value: Some(large.per_job(large.fruitless_searches)),
                    limit: GROWTH * small,
                    unit: "searches",
                });
            }
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_at_the_limit_meets_a_goal_and_none_does_not() {
        let bar = |value| Bar {
            about: String::from("it"),
            value,
            limit: 16.0,
            unit: "lines",
        };
        assert!(bar(Some(16.0)).is_met());
        assert!(!bar(Some(16.1)).is_met());
        assert!(!bar(None).is_met());
        assert!(bar(None).to_string().starts_with("NOT MET"));
    }
}
