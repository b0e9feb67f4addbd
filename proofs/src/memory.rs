//! The memory model, and the search through all executions of a program.
//!
//! | file | what it does |
//! | --- | --- |
//! | `memory/traces.rs` | what one thread may do, whatever it reads |
//! | `memory/candidates.rs` | who reads from whom, and in which order locations change |
//! | `memory/axioms.rs` | the model: which of these executions there are |
//! | `memory/relation.rs` | relations between events |
//! | `memory/witness.rs` | an execution, as text |

mod axioms;
mod candidates;
mod event;
mod relation;
mod traces;
mod witness;

use std::{error::Error, fmt};

use crate::litmus::{Expectation, Fact, Litmus, Test, Value};
use candidates::Execution;
use traces::Trace;

/// What the search has found.
#[derive(Debug, Clone)]
pub struct Report {
    /// How many executions the model allows.
    pub executions: u64,
    /// How many were considered.
    pub candidates: u64,
    /// For each expectation whether it is met.
    pub verdicts: Vec<Verdict>,
    /// An execution with a data race, if there is one. Such a program is undefined: anything may
    /// happen, and no [`Expectation::Forbid`] is met.
    pub race: Option<String>,
}

impl Report {
    /// Whether all expectations are met, in at least one execution. If an `await` never ends, there
    /// is none, and all that is forbidden would be absent.
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        self.executions > 0 && self.verdicts.iter().all(|verdict| verdict.is_met)
    }
}

/// Whether one expectation is met.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Whether it is.
    pub is_met: bool,
    /// An execution that ends as the expectation says, if there is one: it proves what is allowed,
    /// and refutes what is forbidden.
    pub witness: Option<String>,
}

/// Why a program cannot be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// It has more events than the search can hold.
    TooManyEvents {
        /// How many one of its executions has, with the initial values.
        events: usize,
        /// How many there can be.
        maximum: usize,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyEvents { events, maximum } => {
                write!(
                    f,
                    "an execution with {events} events, at most {maximum} are possible"
                )
            }
        }
    }
}

impl Error for CheckError {}

/// Goes through all executions of a program.
///
/// # Errors
/// [`CheckError`] if the program is too large.
///
/// # Complexity
/// Exponential in the number of accesses. Four threads with three each take milliseconds.
///
/// # Examples
/// Two threads that write, and then read what the other one writes. Without fences both may read
/// the old value:
/// ```
/// use proofs::{litmus::Litmus, memory::check};
///
/// let program: Litmus = "
///     thread
///     store x 1 release
///     a = load y acquire
///     thread
///     store y 1 release
///     b = load x acquire
///     allow a=0 b=0
/// "
/// .parse()?;
/// let report = check(&program)?;
/// assert!(report.is_as_expected());
/// assert_eq!(report.executions, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(litmus: &Litmus) -> Result<Report, CheckError> {
    let mut report = Report {
        executions: 0,
        candidates: 0,
        verdicts: Vec::new(),
        race: None,
    };
    let mut found: Vec<Option<String>> = vec![None; litmus.expectations.len()];
    let threads = traces::of_threads(litmus);
    report.candidates = candidates::for_each(litmus, &threads, &mut |execution| {
        report.executions += 1;
        if report.race.is_none() && execution.has_race() {
            report.race = Some(witness::text(litmus, execution));
        }
        for (expectation, found) in litmus.expectations.iter().zip(&mut found) {
            if found.is_none() && ends_so(expectation, execution) {
                *found = Some(witness::text(litmus, execution));
            }
        }
    })?;
    report.verdicts = litmus
        .expectations
        .iter()
        .zip(found)
        .map(|(expectation, witness)| {
            let is_met = match expectation {
                Expectation::Allow(_) | Expectation::AllowRaces => witness.is_some(),
                Expectation::Forbid(_) => witness.is_none() && report.race.is_none(),
                Expectation::ForbidRaces => witness.is_none(),
            };
            Verdict { is_met, witness }
        })
        .collect();
    Ok(report)
}

/// Whether an execution ends as an expectation says.
fn ends_so(expectation: &Expectation, execution: &Execution<'_>) -> bool {
    match expectation {
        Expectation::Allow(facts) | Expectation::Forbid(facts) => {
            facts.iter().all(|fact| is_true(*fact, execution))
        }
        Expectation::ForbidRaces | Expectation::AllowRaces => execution.has_race(),
    }
}

fn is_true(fact: Fact, execution: &Execution<'_>) -> bool {
    let (value, test): (Option<Value>, Test) = match fact {
        Fact::Register(register, test) => (execution.register(register), test),
        Fact::Memory(location, test) => (Some(execution.last_value(location)), test),
    };
    value.is_some_and(|value| test.passes(value))
}
