//! What lanes print. Several run at once, so each line tells whose it is.

use std::cell::Cell;

/// The lane that a thread prints for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// There is only one lane, or none.
    Alone,
    Lane(&'static str),
}

std::thread_local! {
    static HERE: Cell<Speaker> = const { Cell::new(Speaker::Alone) };
}

impl Speaker {
    /// Returns this thread's speaker. A thread that it starts must [`speak`](Self::speak) as it.
    pub(crate) fn here() -> Self {
        HERE.get()
    }

    /// Makes this thread print for a lane from now on.
    pub(crate) fn speak(self) {
        HERE.set(self);
    }

    /// Prints lines, which those of other threads do not interrupt.
    pub(crate) fn say(self, text: &str) {
        print!("{}", self.lines(text));
    }

    fn lines(self, text: &str) -> String {
        // An empty text is an empty line.
        let lines = text.split('\n').map(|line| match self {
            Self::Alone => format!("{line}\n"),
            Self::Lane(name) => format!("{name:13} | {line}\n"),
        });
        lines.collect()
    }
}

/// Prints as `println!` does, for the thread's lane.
macro_rules! say {
    ($($argument:tt)*) => {
        $crate::speaker::Speaker::here().say(&format!($($argument)*))
    };
}
pub(crate) use say;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_tells_its_lane() {
        assert_eq!(Speaker::Alone.lines("a\n\nb"), "a\n\nb\n");
        let lines = "loom          | a\nloom          | \nloom          | b\n";
        assert_eq!(Speaker::Lane("loom").lines("a\n\nb"), lines);
    }

    #[test]
    fn a_thread_speaks_for_the_lane_that_it_is_told() {
        assert!(Speaker::here() == Speaker::Alone);
        std::thread::spawn(|| {
            Speaker::Lane("loom").speak();
            assert!(Speaker::here() == Speaker::Lane("loom"));
        })
        .join()
        .unwrap();
        assert!(Speaker::here() == Speaker::Alone);
    }
}
