//! A command and all processes that it starts, which are ended together.
//!
//! Cargo starts test programs, and test programs start processes. Ending only the first of them
//! would leave the others running, with the output still open.

use std::{
    cell::Cell,
    io,
    process::{self, ChildStderr, ChildStdout, Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use process_wrap::std::{ChildWrapper, CommandWrap};

use super::processor_time::{self, Usage};

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
    usage: Cell<Option<Usage>>,
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
        let usage = Cell::new(None);
        Ok(Self { child, usage })
    }

    /// Takes the standard output, which must be piped.
    pub(crate) fn take_stdout(&self) -> ChildStdout {
        lock(&self.child).stdout().take().expect("stdout is piped")
    }

    /// Takes the standard error, which must be piped.
    pub(crate) fn take_stderr(&self) -> ChildStderr {
        lock(&self.child).stderr().take().expect("stderr is piped")
    }

    /// Waits until the command has ended, or until the deadline; returns None then. Counts the
    /// processor time of a command that has ended for this thread's lane.
    pub(crate) fn wait_until(&self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.status()? {
                if let Some(usage) = self.usage.get() {
                    processor_time::count(usage.total());
                }
                return Ok(Some(status));
            }
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Ok(None);
            }
            thread::sleep(remaining.min(POLL_INTERVAL));
        }
    }

    /// Returns how the command has ended, if it has. Reads its usage before.
    fn status(&self) -> io::Result<Option<ExitStatus>> {
        let mut child = lock(&self.child);
        let usage = Usage::of(child.id());
        self.usage.set(usage.or(self.usage.get()));
        if usage.is_some_and(|usage| !usage.has_ended) {
            // If it ends only now, its times are not complete, and it is gone after this.
            return Ok(None);
        }
        child.try_wait()
    }

    /// Returns how long the command kept processors busy until it was last waited for, if the
    /// system tells.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage.get()
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
