//! The processes that a parent has started.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::Options;
use crate::{ClusterError, Event, LOST_PEER, message::Start};

/// How many of the last lines of a process's standard error are kept.
const LINES: usize = 20;

/// The processes of a run. They stay in the process group of their parent, so that a terminal
/// interrupts all of them. When the value is dropped, all have ended and are reaped.
#[derive(Debug)]
pub struct Children {
    children: Vec<ChildProcess>,
    events: mpsc::Receiver<(usize, Event)>,
}

/// A process that has been started. When the value is dropped, it has ended and is reaped.
#[derive(Debug)]
struct ChildProcess {
    child: Child,
    status: Option<ExitStatus>,
    said: Arc<Mutex<Vec<String>>>,
    /// What reads its standard output and its standard error.
    readers: Vec<JoinHandle<()>>,
}

impl Children {
    /// Starts all processes.
    pub(super) fn start(options: &Options) -> Result<Self, ClusterError> {
        let (sender, events) = mpsc::channel();
        let mut this = Self {
            // Adding a child never fails.
            children: Vec::with_capacity(options.processes),
            events,
        };
        for process in 0..options.processes {
            let child = ChildProcess::start(options, process, &sender);
            let child = child.map_err(|source| ClusterError::Start { process, source })?;
            this.children.push(child);
        }
        Ok(this)
    }

    /// Returns the identifiers that the system has given to the processes.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.children.iter().map(|child| child.child.id()).collect()
    }

    /// Kills a process, for tests of faults.
    ///
    /// # Errors
    /// If the system does not allow it. A process that has ended already is no error.
    pub fn kill(&mut self, process: usize) -> io::Result<()> {
        self.children[process].child.kill()
    }

    /// Returns the next event. If the processes have ended, waits until everything that they have
    /// said is read.
    pub(super) fn next_event(
        &mut self,
        has_ended: bool,
        limit: Duration,
    ) -> Option<(usize, Event)> {
        if has_ended {
            self.join_readers();
            return self.events.try_recv().ok();
        }
        match self.events.recv_timeout(limit) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // All have closed their outputs, and so are about to end.
                thread::sleep(limit);
                None
            }
        }
    }

    /// Says something to all processes. One that does not read has ended, which is noticed
    /// elsewhere.
    pub(super) fn tell(&mut self, start: &Start) -> Result<(), ClusterError> {
        let line = serde_json::to_string(start).map_err(io::Error::from)?;
        for child in &mut self.children {
            if let Some(input) = &mut child.child.stdin {
                let _ = writeln!(input, "{line}").and_then(|()| input.flush());
            }
        }
        Ok(())
    }

    /// Asks the system which processes have ended. Whether all have, and well.
    pub(super) fn all_succeeded(&mut self) -> Result<bool, ClusterError> {
        for child in &mut self.children {
            if child.status.is_none() {
                child.status = child.child.try_wait()?;
            }
        }
        Ok(self
            .statuses()
            .all(|status| status.is_some_and(|status| status.success())))
    }

    /// Whether a process has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.statuses().flatten().any(|status| !status.success())
    }

    /// Whether the only failures are lost connections: then another process is about to be seen as
    /// ended.
    pub(super) fn have_only_lost_peers(&self) -> bool {
        let mut failed = self.statuses().flatten().filter(|s| !s.success());
        failed.all(has_lost_peer)
    }

    /// Ends all processes. Returns the failure of the one that failed first.
    pub(super) fn end_all(mut self) -> ClusterError {
        let failed = |status: Option<ExitStatus>| status.filter(|status| !status.success());
        let mut failed: Vec<_> = self
            .statuses()
            .map(failed)
            .enumerate()
            .filter_map(|(process, status)| Some((process, status?)))
            .collect();
        // One that was killed before one that failed, and that before one that only lost a
        // connection.
        failed.sort_by_key(|(_, status)| (has_lost_peer(*status), status.code().is_some()));
        self.kill_and_reap();
        let Some(&(process, status)) = failed.first() else {
            return ClusterError::NoReport;
        };
        let said = lock(&self.children[process].said).join("\n");
        ClusterError::Ended {
            process,
            status,
            said,
        }
    }

    fn statuses(&self) -> impl Iterator<Item = Option<ExitStatus>> {
        self.children.iter().map(|child| child.status)
    }

    fn kill_and_reap(&mut self) {
        for child in &mut self.children {
            // One that has ended needs no signal.
            let _ = child.child.kill();
        }
        self.children.iter_mut().for_each(ChildProcess::end);
    }

    fn join_readers(&mut self) {
        self.children
            .iter_mut()
            .for_each(ChildProcess::join_readers);
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.kill_and_reap();
    }
}

impl ChildProcess {
    fn start(
        options: &Options,
        process: usize,
        events: &mpsc::Sender<(usize, Event)>,
    ) -> io::Result<Self> {
        let mut command = Command::new(&options.program);
        command
            .args(["--launched", "--process", &process.to_string()])
            .args(["--processes", &options.processes.to_string()])
            .args(["--threads", &options.threads_of_each().to_string()]);
        for (option, path) in [("--lists", &options.lists), ("--hosts", &options.hosts)] {
            if let Some(path) = path {
                command.arg(option).arg(path);
            }
        }
        let is_held = options.held.is_none_or(|held| held == process);
        if let Some(files) = options.hold_after.filter(|_| is_held) {
            command.args(["--hold-after", &files.to_string()]);
        }
        command.arg("--").args(&options.trees);
        Self::start_command(&mut command, |child| {
            child.read_outputs(process, events.clone())
        })
    }

    /// Starts a process, and completes the value. If that fails or panics, the process has ended
    /// afterwards.
    fn start_command(
        command: &mut Command,
        complete: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // From here on the drop ends the process.
        let mut this = Self {
            child: command.spawn()?,
            status: None,
            said: Arc::default(),
            readers: Vec::new(),
        };
        complete(&mut this)?;
        Ok(this)
    }

    /// Reads what the process says: events, and other lines, which are kept.
    ///
    /// # Errors
    /// If the system refuses a thread.
    fn read_outputs(
        &mut self,
        process: usize,
        events: mpsc::Sender<(usize, Event)>,
    ) -> io::Result<()> {
        if let Some(out) = self.child.stdout.take() {
            let said = Arc::clone(&self.said);
            self.readers.push(read_lines(out, move |line| {
                match serde_json::from_str(&line) {
                    // The parent may have stopped to listen, because another process has failed.
                    Ok(event) => _ = events.send((process, event)),
                    Err(_) => keep(&said, line),
                }
            })?);
        }
        if let Some(err) = self.child.stderr.take() {
            let said = Arc::clone(&self.said);
            self.readers
                .push(read_lines(err, move |line| keep(&said, line))?);
        }
        Ok(())
    }

    /// Kills the process if it runs, and reaps it.
    fn end(&mut self) {
        // One that has ended needs no signal.
        let _ = self.child.kill();
        // Liveness: it was killed, and the system ends it.
        let _ = self.child.wait();
        self.join_readers();
    }

    fn join_readers(&mut self) {
        for reader in self.readers.drain(..) {
            // Liveness: its process has ended, which closed the pipe. Such a process starts no
            // other.
            let _ = reader.join();
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.end();
    }
}

fn keep(said: &Mutex<Vec<String>>, line: String) {
    let mut said = lock(said);
    if said.len() == LINES {
        said.remove(0);
    }
    said.push(line);
}

/// Reads lines on a thread of its own, to the end of the output. What is not UTF-8 is replaced.
fn read_lines(
    output: impl Read + Send + 'static,
    mut on_line: impl FnMut(String) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().spawn(move || {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        lines.for_each(|line| on_line(String::from_utf8_lossy(&line).into_owned()));
    })
}

/// Whether a process has ended because it lost the connection to another one.
fn has_lost_peer(status: ExitStatus) -> bool {
    status.code() == Some(LOST_PEER.into())
}

/// Locks a mutex. That a thread has panicked while it held the mutex changes nothing.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use nix::{
        errno::Errno,
        sys::wait::{WaitPidFlag, waitpid},
        unistd::Pid,
    };

    use super::*;

    /// Starts a process that does not end by itself, with a step that fails after its start.
    /// Returns the process.
    fn fail_after_start(fail: impl FnOnce() -> io::Error) -> Pid {
        let mut id = None;
        // The end of its standard input is no reason for it to end.
        let mut command = Command::new("sleep");
        command.arg("600");
        let result = catch_unwind(AssertUnwindSafe(|| {
            ChildProcess::start_command(&mut command, |child| {
                id = Some(child.child.id());
                Err(fail())
            })
        }));
        assert!(!matches!(result, Ok(Ok(_))));
        Pid::from_raw(id.expect("it was started").cast_signed())
    }

    /// Whether this process has no such child: it would be a child until it is reaped, ended or
    /// not.
    fn is_reaped(child: Pid) -> bool {
        waitpid(child, Some(WaitPidFlag::WNOHANG)) == Err(Errno::ECHILD)
    }

    #[test]
    fn a_process_that_cannot_be_looked_after_has_ended() {
        let child = fail_after_start(|| io::ErrorKind::WouldBlock.into());
        assert!(is_reaped(child));
    }

    #[test]
    fn a_panic_after_the_start_leaves_no_process() {
        let child = fail_after_start(|| panic!("no thread"));
        assert!(is_reaped(child));
    }
}
