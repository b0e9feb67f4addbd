//! The modes of the program.

/// What the program shall do: an argument of the machine, so that one image does everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All tests, once.
    Test,
    /// Nothing for three seconds: every core sleeps.
    Idle,
    /// The fork-join tree on some of the cores, timed.
    Tree {
        /// The number of cores.
        cores: usize,
    },
}

impl Mode {
    /// Parses an argument: empty or `test`, `idle`, or `tree` followed by a number (`tree4`).
    ///
    /// # Errors
    /// Returns the argument if it is none of these.
    pub fn parse(argument: &str) -> Result<Self, &str> {
        match argument.trim() {
            "" | "test" => Ok(Self::Test),
            "idle" => Ok(Self::Idle),
            other => other
                .strip_prefix("tree")
                .and_then(|cores| cores.parse().ok())
                .map(|cores| Self::Tree { cores })
                .ok_or(argument),
        }
    }
}
