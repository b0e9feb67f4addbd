//! A command and all processes that it starts, which are ended together.
//!
//! Cargo starts test programs, and test programs start processes. Ending only the first of them
//! would leave the others running, with the output still open.

use std::{
    io,
    process::{self, ChildStderr, ChildStdout, Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use process_wrap::std::{ChildWrapper, CommandWrap};

use super::processor_time::processor_time_of;

/// How often a wait with a deadline asks whether the command has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The exit status of a program that the user interrupted, as shells report it.
const INTERRUPTED: i32 = 130;

type Child = Mutex<Box<dyn ChildWrapper>>;

/// The trees that may still run. A terminal interrupts only the process group in its foreground,
/// which is ours, so we end these ourselves.
static RUNNING: Mutex<Vec<Weak<Child>>> = Mutex::new(Vec::new());

/// A running command with its descendants: a process group on Unix, a job object on Windows.
pub(crate) struct ProcessTree {
    child: Arc<Child>,
}

impl ProcessTree {
    /// Starts a command as the root of a new tree.
    pub(crate) fn spawn(command: Command) -> io::Result<Self> {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| {
            ctrlc::set_handler(|| end_all(INTERRUPTED))
                .expect("this program sets no other signal handler");
        });
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::std::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::std::JobObject);
        // Held while the command starts, so that an interruption misses no tree.
        let mut running = lock(&RUNNING);
        let child = Arc::new(Mutex::new(command.spawn()?));
        running.retain(|tree| tree.strong_count() > 0);
        running.push(Arc::downgrade(&child));
        Ok(Self { child })
    }

    /// Takes the standard output, which must be piped.
    pub(crate) fn take_stdout(&self) -> ChildStdout {
        lock(&self.child).stdout().take().expect("stdout is piped")
    }

    /// Takes the standard error, which must be piped.
    pub(crate) fn take_stderr(&self) -> ChildStderr {
        lock(&self.child).stderr().take().expect("stderr is piped")
    }

    /// Waits until the command has ended, or until the deadline; returns None then.
    pub(crate) fn wait_until(&self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = lock(&self.child).try_wait()? {
                return Ok(Some(status));
            }
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Ok(None);
            }
            thread::sleep(remaining.min(POLL_INTERVAL));
        }
    }

    /// Waits as [`wait_until`](Self::wait_until) does. Returns also how long the command itself,
    /// without its descendants, kept processors busy, if the system tells.
    pub(crate) fn wait_and_measure(
        &self,
        deadline: Instant,
    ) -> io::Result<(Option<ExitStatus>, Option<Duration>)> {
        let process = lock(&self.child).id();
        let mut time = None;
        loop {
            let next = deadline.min(Instant::now() + POLL_INTERVAL);
            // Read before the wait: afterwards the process may be gone. A poll's time is missing
            // then.
            time = processor_time_of(process).or(time);
            let status = self.wait_until(next)?;
            if status.is_some() || next == deadline {
                return Ok((status, time));
            }
        }
    }

    /// Ends the command and its descendants.
    pub(crate) fn kill(&self) -> io::Result<()> {
        let mut child = lock(&self.child);
        match child.start_kill() {
            Ok(()) => child.wait().map(drop),
            // There may be no process left to kill.
            Err(error) => child.try_wait()?.map(drop).ok_or(error),
        }
    }
}

/// Ends all trees, and then this program, with an exit status.
pub(crate) fn end_all(status: i32) -> ! {
    // Held until this program ends, so that no other tree starts.
    let running = lock(&RUNNING);
    for child in running.iter().filter_map(Weak::upgrade) {
        // A tree that has just ended needs no signal.
        let _ = lock(&child).start_kill();
    }
    process::exit(status)
}

/// Locks a mutex. That a thread has panicked while it held the mutex changes nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
