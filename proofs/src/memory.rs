//! The memory model, and the search through all executions of a program.
//!
//! | file | what it does |
//! | --- | --- |
//! | `memory/traces.rs` | what the threads may do, and who reads from whom |
//! | `memory/candidates.rs` | in which order locations change, and where process fences are |
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

use crate::litmus::{Expectation, Fact, Litmus, Order, Statement, Test, Value};
use candidates::Execution;

/// What the search has found.
#[derive(Debug, Clone)]
pub struct Report {
    /// How many executions the model allows that end.
    pub executions: u64,
    /// How many were considered.
    pub candidates: u64,
    /// For each expectation whether it is met.
    pub verdicts: Vec<Verdict>,
    /// An execution with a data race, if there is one, also up to an `await` that never ends. Such
    /// a program is undefined: anything may happen, and no [`Expectation::Forbid`] is met.
    pub race: Option<String>,
}

impl Report {
    /// Whether all expectations are met, and at least one execution ends. If an `await` never does,
    /// none ends, and the facts that are forbidden would be absent.
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
/// Exponential in the number of accesses. Four threads with three each take milliseconds, or
/// a minute if all of them are updates of one location.
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
    let is_of_waits =
        |it: &Expectation| matches!(it, Expectation::ForbidWaits | Expectation::AllowWaits);
    let with_waits = litmus.threads.iter().any(|thread| has_plain(thread))
        || litmus.expectations.iter().any(is_of_waits);
    report.candidates = candidates::for_each(litmus, with_waits, &mut |execution| {
        if report.race.is_none() && execution.has_race() {
            report.race = Some(witness::text(litmus, execution));
        }
        report.executions += u64::from(execution.has_ended());
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
        .map(|(expectation, found)| {
            let witness = match expectation {
                Expectation::AllowRaces | Expectation::ForbidRaces => report.race.clone(),
                _ => found,
            };
            let is_met = match expectation {
                Expectation::Allow(_) | Expectation::AllowRaces | Expectation::AllowWaits => {
                    witness.is_some()
                }
                Expectation::Forbid(_) | Expectation::ForbidWaits => {
                    witness.is_none() && report.race.is_none()
                }
                Expectation::ForbidRaces => witness.is_none(),
            };
            Verdict { is_met, witness }
        })
        .collect();
    Ok(report)
}

/// Whether some statements have an access that is not atomic.
fn has_plain(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Load(_, _, order)
        | Statement::Store(_, _, order)
        | Statement::Await(_, _, order)
        | Statement::Update(_, _, _, order) => *order == Order::Plain,
        Statement::If(_, _, then, otherwise) => has_plain(then) || has_plain(otherwise),
        Statement::Fence(_) | Statement::ProcessFence => false,
    })
}

/// Whether an execution ends as an expectation says.
fn ends_so(expectation: &Expectation, execution: &Execution<'_>) -> bool {
    match expectation {
        Expectation::Allow(facts) | Expectation::Forbid(facts) => {
            execution.has_ended() && facts.iter().all(|fact| is_true(*fact, execution))
        }
        Expectation::ForbidWaits | Expectation::AllowWaits => execution.waits_without_end(),
        // A race need not be in an execution that ends.
        Expectation::ForbidRaces | Expectation::AllowRaces => false,
    }
}

fn is_true(fact: Fact, execution: &Execution<'_>) -> bool {
    let (value, test): (Option<Value>, Test) = match fact {
        Fact::Register(register, test) => (execution.register(register), test),
        Fact::Memory(location, test) => (Some(execution.last_value(location)), test),
    };
    value.is_some_and(|value| test.passes(value))
}
