//! What a command prints: shown, counted, and quoted when the command fails.

use std::{
    io::{BufRead, BufReader, Read},
    sync::{Arc, LazyLock, Mutex, mpsc},
    thread,
    time::Duration,
};

use regex::Regex;

use super::process_tree::{ProcessTree, lock};
use crate::speaker::Speaker;

/// How many lines of an output stand in an error: its beginning and its end.
const QUOTED: [usize; 2] = [40, 20];

/// How a line ends that stands for others.
pub(crate) const LEFT_OUT: &str = " lines ...";

/// How many lines show what a program did last.
const LAST: usize = 15;

/// When the output of a command is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    AsItComes,
    /// In one piece, because other commands print as well.
    AtTheEnd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

type Lines = Arc<Mutex<Vec<(Stream, String)>>>;

/// The output of a running command.
pub(super) struct Transcript {
    /// In the order in which they came.
    lines: Lines,
    /// Disconnected when all output has been read.
    ended: mpsc::Receiver<()>,
}

impl Transcript {
    /// Begins to read the output of a command, whose two streams must be piped.
    pub(super) fn begin(tree: &ProcessTree, show: Show) -> Self {
        let lines = Lines::default();
        let (sender, ended) = mpsc::channel();
        read(Stream::Out, tree.take_stdout(), show, &lines, &sender);
        read(Stream::Err, tree.take_stderr(), show, &lines, &sender);
        Self { lines, ended }
    }

    /// Whether the output ends within this time.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        // Nothing is ever sent.
        self.ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Disconnected)
    }

    /// Returns how many tests passed.
    pub(super) fn passed_tests(&self) -> u64 {
        let out = self.of(Stream::Out);
        out.iter().map(|line| passed_tests(line)).sum()
    }

    /// Whether a test passed whose name contains this.
    pub(super) fn has_passed(&self, name: &str) -> bool {
        let out = self.of(Stream::Out);
        out.iter().any(|line| is_passed_test(line, name))
    }

    /// Returns everything that was printed.
    pub(super) fn whole(&self) -> String {
        let lines = lock(&self.lines);
        let lines: Vec<_> = lines.iter().map(|(_, line)| line.as_str()).collect();
        lines.join("\n")
    }

    /// Returns what tells the reader of an error where to look, indented: the failed tests with
    /// their messages, or else the last lines; and the errors of a compiler or another tool.
    pub(super) fn quote(&self) -> String {
        let [out, err] = [Stream::Out, Stream::Err].map(|stream| self.of(stream));
        indented(&[quote(&out, is_failures), quote(&err, is_error)].concat())
    }

    fn of(&self, stream: Stream) -> Vec<String> {
        let lines = lock(&self.lines);
        let lines = lines.iter().filter(|(of, _)| *of == stream);
        lines.map(|(_, line)| without_colors(line)).collect()
    }
}

/// Returns the last few lines of an output, indented, for the end of an error.
pub(crate) fn last_lines(lines: &[String]) -> String {
    indented(&lines[lines.len().saturating_sub(LAST)..])
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n    {line}")).collect()
}

/// Reads the lines of a stream on a thread of its own.
fn read(
    stream: Stream,
    output: impl Read + Send + 'static,
    show: Show,
    lines: &Lines,
    ended: &mpsc::Sender<()>,
) {
    let lines = Arc::clone(lines);
    let ended = ended.clone();
    let speaker = Speaker::here();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            // A program that crashes may print what is not text.
            let line = String::from_utf8_lossy(&line).into_owned();
            match (show, stream) {
                (Show::AsItComes, Stream::Err) if speaker == Speaker::Alone => eprintln!("{line}"),
                (Show::AsItComes, _) => speaker.say(&line),
                (Show::AtTheEnd, _) => {}
            }
            lock(&lines).push((stream, line));
        }
        drop(ended);
    });
}

/// Whether the report of failed tests begins here.
fn is_failures(line: &str) -> bool {
    line.trim() == "failures:"
}

/// Whether this is an error of cargo, of a compiler, of Miri, or of a sanitizer.
fn is_error(line: &str) -> bool {
    [
        "error",
        "WARNING: ThreadSanitizer",
        "FATAL: ThreadSanitizer",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// Returns the lines from the first that is `first` on, or the last few if none is; not too many.
fn quote(lines: &[String], first: fn(&str) -> bool) -> Vec<String> {
    let found = lines.iter().position(|line| first(line));
    let start = found.unwrap_or(lines.len().saturating_sub(LAST));
    let lines = &lines[start..];
    let [head, tail] = QUOTED;
    if lines.len() <= head + tail {
        return lines.to_vec();
    }
    let left_out = lines.len() - head - tail;
    let mut quoted = lines[..head].to_vec();
    quoted.push(format!("... {left_out}{LEFT_OUT}"));
    quoted.extend_from_slice(&lines[head + left_out..]);
    quoted
}

fn without_colors(line: &str) -> String {
    static COLOR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*m").expect("it is valid"));
    COLOR.replace_all(line, "").into_owned()
}

/// Whether the line tells that a test passed whose name contains this.
fn is_passed_test(line: &str, name: &str) -> bool {
    let test = line.strip_prefix("test ");
    test.is_some_and(|test| test.contains(name) && test.ends_with(" ok"))
}

/// Returns the number of passed tests in a line of a test program's summary.
fn passed_tests(line: &str) -> u64 {
    let number = || {
        let rest = line.trim_start().strip_prefix("test result: ok. ")?;
        rest.split(" passed").next()?.parse().ok()
    };
    number().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str, first: fn(&str) -> bool) -> Vec<String> {
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        quote(&lines, first)
    }

    #[test]
    fn counts_the_tests_of_a_summary() {
        let line = "test result: ok. 26 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(passed_tests(line), 26);
        assert_eq!(passed_tests("test result: FAILED. 3 passed; 1 failed"), 0);
        assert_eq!(passed_tests("test smoke ... ok"), 0);
    }

    #[test]
    fn finds_a_test_that_passed() {
        assert!(is_passed_test("test deque::smoke ... ok", "smoke"));
        assert!(!is_passed_test("test deque::smoke ... ok", "stress"));
        assert!(!is_passed_test("test deque::smoke ... ignored", "smoke"));
        assert!(!is_passed_test("smoke, and all is ok", "smoke"));
    }

    #[test]
    fn quotes_failed_tests_from_their_report_on() {
        let report = "failures:\n\n---- a stdout ----\nthread 'a' panicked\n\nfailures:\n    a";
        let out = format!("running 2 tests\ntest a ... FAILED\ntest b ... ok\n\n{report}");
        assert_eq!(quoted(&out, is_failures).join("\n"), report);
    }

    #[test]
    fn quotes_the_last_lines_of_a_program_that_crashed() {
        let out: Vec<_> = (0..100).map(|line| line.to_string()).collect();
        assert_eq!(quote(&out, is_failures), out[100 - LAST..]);
        assert!(quoted("", is_failures).is_empty());
    }

    #[test]
    fn quotes_errors_of_compilers_but_not_all_of_many() {
        let warning = "   Compiling a\nwarning: unused variable";
        let error = "error[E0425]: cannot find value `b`\n --> src/lib.rs:1:1";
        let tool = format!("{warning}\n{error}");
        assert_eq!(quoted(&tool, is_error).join("\n"), error);

        let many: Vec<_> = (0..1000).map(|line| format!("error {line}")).collect();
        let quoted = quote(&many, is_error);
        assert_eq!(quoted.len(), QUOTED[0] + 1 + QUOTED[1]);
        assert_eq!(quoted[QUOTED[0]], "... 940 lines ...");
        assert_eq!(quoted.last(), many.last());
    }

    #[test]
    fn finds_errors_below_their_colors() {
        assert_eq!(
            without_colors("\x1b[1m\x1b[91merror\x1b[0m: no"),
            "error: no"
        );
    }
}
