//! What the program is told to do.

/// What the program is to do: an argument of the machine, so that one image does everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All tests, once.
    Test,
    /// Nothing, for three seconds: every core sleeps.
    Idle,
    /// The fork-join tree on this many cores, and the time that it took.
    Tree {
        /// How many.
        cores: usize,
    },
}

impl Mode {
    /// From an argument: nothing or `test`, `idle`, or `tree` with a number behind it (`tree4`).
    ///
    /// # Errors
    /// The argument, if it is none of these.
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
