//! The program or the user that reads what a command prints, and that may end before the command.

use std::{any::Any, panic};

use crate::command::end_all;

/// The exit status of a program whose output has no reader, as shells report it.
const NO_READER: i32 = 141;

/// What a panic of `print!` says then.
const MESSAGE: &str = if cfg!(windows) {
    "failed printing to stdout: The pipe is being closed"
} else {
    "failed printing to stdout: Broken pipe"
};

/// Lets this program end without a message when no process reads any more what it prints, as in
/// `cargo xtask test-all --list | head -1`. The commands that it has started end too.
pub(crate) fn end_with_the_reader() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if has_no_reader(panic.payload()) {
            end_all(NO_READER);
        }
        report(panic);
    }));
}

/// Whether a panic is that of a `print!` whose output has no reader.
fn has_no_reader(payload: &(dyn Any + Send)) -> bool {
    let message = payload.downcast_ref::<String>();
    message.is_some_and(|message| message.starts_with(MESSAGE))
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        env,
        io::{BufRead as _, BufReader, Read as _},
        process::{Command, Stdio},
    };

    use super::*;

    const IS_PRINTER: &str = "XTASK_TEST_PRINTS";

    /// Reproduces a bug: a command panicked when its reader had ended. Runs itself as the command.
    #[test]
    fn a_command_ends_quietly_with_its_reader() {
        if env::var_os(IS_PRINTER).is_some() {
            end_with_the_reader();
            loop {
                println!("a line");
            }
        }
        let name = "reader::tests::a_command_ends_quietly_with_its_reader";
        let mut printer = Command::new(env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(IS_PRINTER, "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(printer.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "a line"));
        drop(lines);
        let mut errors = String::new();
        let mut output = printer.stderr.take().unwrap();
        output.read_to_string(&mut errors).unwrap();
        assert_eq!(errors, "");
        assert_eq!(printer.wait().unwrap().code(), Some(NO_READER));
    }
}
