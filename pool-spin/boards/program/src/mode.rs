//! The modes of the program.

use core::str::FromStr;

/// The task of the program: an argument of the machine, so that one image does everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All tests, once.
    Test,
    /// Nothing for three seconds: every core sleeps.
    Idle,
    /// All cores sleep and are woken repeatedly.
    Cycles {
        /// The number of times.
        rounds: u64,
    },
    /// The fork-join tree on some of the cores, timed.
    Tree {
        /// The number of cores.
        cores: usize,
    },
}

impl Mode {
    /// Parses an argument: empty or `test`, `idle`, or `cycles` or `tree` followed by a number
    /// (`tree4`).
    ///
    /// # Errors
    /// Returns the argument if it is none of these.
    pub fn parse(argument: &str) -> Result<Self, &str> {
        match argument.trim() {
            "" | "test" => Ok(Self::Test),
            "idle" => Ok(Self::Idle),
            other => {
                let tree = number_after("tree", other).map(|cores| Self::Tree { cores });
                let cycles = number_after("cycles", other).map(|rounds| Self::Cycles { rounds });
                tree.or(cycles).ok_or(argument)
            }
        }
    }
}

fn number_after<N: FromStr>(word: &str, argument: &str) -> Option<N> {
    argument.strip_prefix(word)?.parse().ok()
}
