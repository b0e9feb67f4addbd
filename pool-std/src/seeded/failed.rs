//! A program that fails under a schedule.

use std::{error::Error, fmt};

use super::Schedule;
use crate::BuildError;

/// The error of an exploration: the program fails, or it could not be run.
///
/// # Examples
/// ```
/// use pool_std::{ExploreError, Explorer};
///
/// match Explorer::new().run(0..10, || assert_eq!(pool_std::join(|| 1, || 2), (1, 2))) {
///     Ok(()) => {}
///     Err(ExploreError::Failed(program)) => panic!("{program}"),
///     Err(error) => panic!("it was not run: {error}"),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ExploreError {
    /// The program fails.
    Failed(FailedProgram),
    /// The pool could not be built.
    Build(BuildError),
    /// The calling thread is a worker, so its pool would wait for the exploration.
    OnWorker,
}

impl From<BuildError> for ExploreError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl fmt::Display for ExploreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failed) => failed.fmt(f),
            Self::Build(error) => error.fmt(f),
            Self::OnWorker => f.write_str("a worker of a pool cannot explore a program"),
        }
    }
}

impl Error for ExploreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(_) | Self::OnWorker => None,
            Self::Build(error) => Some(error),
        }
    }
}

/// A program that fails, and a schedule under which it does.
///
/// # Examples
/// ```
/// use pool_std::{ExploreError, Explorer};
///
/// let program = || assert_ne!(pool_std::join(|| 1, || 2), (1, 2), "they are equal");
/// let Err(ExploreError::Failed(failed)) = Explorer::new().run(0..3, program) else {
///     unreachable!("it always fails");
/// };
/// println!("{failed}");
/// ```
#[derive(Debug, Clone)]
pub struct FailedProgram {
    pub(super) schedule: Schedule,
    pub(super) failure: String,
    /// The number of choices until the program failed.
    pub(super) choices: u64,
    /// The number of switches that the generator had made.
    pub(super) found: usize,
    /// Whether the program failed again, if it was run again.
    pub(super) has_repeated: Option<bool>,
}

impl FailedProgram {
    /// Returns the schedule, without the switches that could be omitted.
    ///
    /// # Examples
    /// ```
    /// use pool_std::{ExploreError, Explorer};
    ///
    /// let program = || assert_ne!(pool_std::join(|| 1, || 2), (1, 2), "they are equal");
    /// let Err(ExploreError::Failed(failed)) = Explorer::new().run(0..3, program) else {
    ///     unreachable!("it always fails");
    /// };
    /// println!("POOL_STD_SEED={} repeats it", failed.schedule());
    /// ```
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns how the program fails: the message of the panic, or, if the program hangs, what its
    /// workers are doing.
    ///
    /// # Examples
    /// ```
    /// use pool_std::{ExploreError, Explorer};
    ///
    /// let program = || assert_ne!(pool_std::join(|| 1, || 2), (1, 2), "they are equal");
    /// let Err(ExploreError::Failed(failed)) = Explorer::new().run(0..3, program) else {
    ///     unreachable!("it always fails");
    /// };
    /// assert!(failed.failure().contains("they are equal"));
    /// ```
    #[must_use]
    pub fn failure(&self) -> &str {
        &self.failure
    }

    /// Whether the program failed again under the schedule. If not, it depends on something else,
    /// or [was not run again](super::Explorer::attempts_to_shrink).
    ///
    /// # Examples
    /// ```
    /// use pool_std::{ExploreError, Explorer};
    ///
    /// let program = || assert_ne!(pool_std::join(|| 1, || 2), (1, 2), "they are equal");
    /// let Err(ExploreError::Failed(failed)) = Explorer::new().run(0..3, program) else {
    ///     unreachable!("it always fails");
    /// };
    /// assert!(failed.is_repeatable());
    /// ```
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.has_repeated == Some(true)
    }
}

impl fmt::Display for FailedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.schedule.seed();
        writeln!(f, "with the seed {seed}, {}", self.failure)?;
        let switches = self.schedule.switches().unwrap_or_default();
        let (found, choices) = (self.found, self.choices);
        let enough = match switches.len() {
            0 => "none is needed".to_owned(),
            1 => "this one is enough:".to_owned(),
            fewest => format!("these {fewest} are enough:"),
        };
        writeln!(
            f,
            "{choices} choices were made; of the seed's {found} switches, {enough}"
        )?;
        for (choice, worker) in switches {
            writeln!(f, "  at choice {choice} worker {worker} goes on")?;
        }
        if self.has_repeated == Some(false) {
            f.write_str(
                "it did not fail again under this schedule, so it depends on something else; ",
            )?;
        }
        write!(f, "to repeat: POOL_STD_SEED={}", self.schedule)
    }
}
