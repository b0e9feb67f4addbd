//! One of the processes.

use std::{
    io::{self, BufRead, Read, Write},
    net::TcpListener,
    panic,
    path::PathBuf,
    process,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use dedup::Tree;
use pool_std::ThreadPoolBuilder;
use timely::{
    WorkerConfig,
    communication::{
        Hooks,
        allocator::{
            Allocator, ProcessBuilder, zero_copy::initialize::initialize_networking_from_sockets,
        },
    },
    worker::Worker,
};

use crate::{
    ClusterError, Event, Report,
    connect::{Stream, Traffic, connect, listen},
    dataflow::{self, Hasher, Progress},
    digest_list::{DigestList, Known},
    escape,
    message::Start,
    records::{Hashed, Task, share},
};

/// The exit status of a process that has lost the connection to another one: that one is to blame.
pub const LOST_PEER: u8 = 3;

/// The exit status of a process whose parent has ended.
const LOST_PARENT: i32 = 4;

/// The exit status of a process after a panic.
const PANICKED: i32 = 101;

/// How long processes wait for each other at the start.
const TIME_TO_CONNECT: Duration = Duration::from_secs(60);

/// One of the processes of a run.
#[derive(Debug)]
pub struct Member {
    /// Its number, from 0.
    pub process: usize,
    /// How many there are.
    pub processes: usize,
    /// The tree that all processes share, or that of each process.
    pub trees: Vec<PathBuf>,
    /// The number of workers in its pool; 0 is one for each processor.
    pub threads: usize,
    /// The directory of lists of digests, if an interrupted run is to be continued.
    pub lists: Option<PathBuf>,
    /// For tests of faults: wait forever when this many files are hashed.
    pub hold_after: Option<u64>,
}

/// How a process learns the addresses of all.
#[derive(Debug)]
pub enum Launched {
    /// By itself: from a file of hosts. The report is the result.
    ByItself(Vec<String>),
    /// By a parent, over standard input, with an address of its own if there is a file of hosts.
    /// The report goes to the parent.
    ByParent(Option<Vec<String>>),
}

impl Member {
    /// Runs this process to the end of all. Returns the report in the first one.
    ///
    /// After an error, this process must exit: its connections stay open until then, so that the
    /// others take its end for the failure that it is.
    ///
    /// # Errors
    /// If the port is taken, a process does not connect, the tree or a list cannot be read, or a
    /// list cannot be written.
    pub fn run(&self, launched: &Launched) -> Result<Option<Report>, ClusterError> {
        let (listener, start) = self.meet(launched)?;
        let has_parent = matches!(launched, Launched::ByParent(_));
        let sockets = connect(
            &listener,
            &start.addresses,
            self.process,
            start.run,
            TIME_TO_CONNECT,
        )?;
        let (tasks, unreadable) = self.find_tasks()?;
        if has_parent {
            Event::Total {
                files: tasks.iter().filter(|task| task.known.is_none()).count() as u64,
                bytes: bytes_to_hash(&tasks),
            }
            .send();
        }
        let traffic = Arc::new(Traffic::default());
        let list = self.lists.as_ref();
        let list = list.map(|lists| DigestList::open(lists, self.process));
        let mut hasher = Hasher::new(
            self.process,
            ThreadPoolBuilder::new().num_threads(self.threads).build()?,
            list.transpose()?,
            Progress::new(Box::new(move |files, bytes| {
                if has_parent {
                    Event::Done { files, bytes }.send();
                }
            })),
            Arc::clone(&traffic),
        );
        hasher.hold_after = self.hold_after;

        // One timely worker, on this thread; its other threads only send and receive.
        let streams = sockets.into_iter();
        let streams = streams.map(|socket| Some(Stream::new(socket?, &traffic)));
        let hooks = Hooks::default();
        let local = ProcessBuilder::new_typed_vector(1, hooks.refill.clone(), None);
        let (builders, connections) =
            initialize_networking_from_sockets(local, streams.collect(), self.process, 1, hooks)?;
        let builder = builders.into_iter().next();
        let allocator = Allocator::Tcp(builder.expect("there is one worker").build());
        // It sleeps as soon as it has nothing to do: a message that it waits for takes longer than
        // a short spin.
        let config = WorkerConfig::default().idle_spin(Duration::ZERO);
        let mut worker = Worker::new(config, allocator, Some(Instant::now()));
        match dataflow::run(&mut worker, tasks, unreadable, hasher) {
            Ok(found) => {
                drop(worker);
                // Waits until everything is sent.
                drop(connections);
                let report = (self.process == 0).then(|| Report::new(found));
                if has_parent && let Some(report) = &report {
                    Event::Report(Box::new(report.clone())).send();
                }
                Ok(report)
            }
            Err(error) => {
                // Dropped, it would tell the other processes that all is well.
                std::mem::forget((worker, connections));
                Err(error)
            }
        }
    }

    /// Listens, and learns the addresses of all.
    fn meet(&self, launched: &Launched) -> Result<(TcpListener, Start), ClusterError> {
        if self.process >= self.processes {
            return Err(ClusterError::NoSuchProcess {
                process: self.process,
                processes: self.processes,
            });
        }
        match launched {
            Launched::ByItself(hosts) => {
                let listener = listen(&hosts[self.process])?;
                let addresses = hosts.clone();
                Ok((listener, Start { run: 0, addresses }))
            }
            Launched::ByParent(hosts) => {
                let host = hosts.as_ref().map(|hosts| hosts[self.process].as_str());
                let listener = listen(host.unwrap_or("127.0.0.1:0"))?;
                Event::Listening(listener.local_addr()?.to_string()).send();
                let start = read_start(self.processes)?;
                exit_with_parent();
                Ok((listener, start))
            }
        }
    }

    /// Finds the files that this process reads, or that it shares with the others.
    fn find_tasks(&self) -> Result<(Vec<Task>, Vec<Hashed>), ClusterError> {
        let is_shared = self.trees.len() == 1;
        if self.trees.len() != self.processes && !is_shared {
            return Err(ClusterError::Trees {
                trees: self.trees.len(),
                processes: self.processes,
            });
        }
        // The others have nothing to look for: the first process tells them what to hash.
        if is_shared && self.process > 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let root = &self.trees[if is_shared { 0 } else { self.process }];
        // A list must not take a file for one of the same name below another directory.
        let tree = std::path::absolute(root).and_then(|root| Tree::read(&root));
        let tree = tree.map_err(|source| ClusterError::Tree {
            path: root.clone(),
            source,
        })?;
        let files = tree.files.iter();
        let mut tasks: Vec<_> = files
            .map(|file| Task::new(file, self.process as u64))
            .collect();
        if let Some(lists) = &self.lists {
            let known = Known::read(lists)?;
            tasks.iter_mut().for_each(|task| known.fill_in(task));
        }
        if is_shared {
            share(&mut tasks, self.processes as u64);
        }
        let unreadable = tree.unreadable.iter().map(|file| Hashed {
            name: escape(&file.path),
            size: 0,
            result: Err(file.reason.clone()),
        });
        Ok((tasks, unreadable.collect()))
    }
}

fn bytes_to_hash(tasks: &[Task]) -> u64 {
    let unknown = tasks.iter().filter(|task| task.known.is_none());
    unknown.map(|task| task.size).sum()
}

/// Reads the addresses of all processes from the parent.
fn read_start(processes: usize) -> Result<Start, ClusterError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    if line.is_empty() {
        return Err(ClusterError::Launcher("it has ended".to_owned()));
    }
    let start: Result<Start, _> = serde_json::from_str(&line);
    let start = start.map_err(|error| ClusterError::Launcher(error.to_string()))?;
    if start.addresses.len() != processes {
        let addresses = start.addresses.len();
        let reason = format!("{addresses} addresses for {processes} processes");
        return Err(ClusterError::Launcher(reason));
    }
    Ok(start)
}

/// Ends this process as soon as its parent has ended, however that was: the parent holds the other
/// end of our standard input for as long as it lives, and writes no more.
fn exit_with_parent() {
    thread::spawn(|| {
        let _ = io::stdin().lock().read(&mut [0]);
        process::exit(LOST_PARENT)
    });
}

/// Makes each panic end this process. A thread of timely panics when it loses the connection to
/// another process. The name of that thread says which process is lost; the worker would panic
/// later without saying so.
pub fn exit_on_panic() {
    panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let message = payload.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
        let thread = thread::current();
        let peer = thread.name().and_then(peer_of_thread);
        // Nothing can be done about a standard error that is closed.
        let mut err = io::stderr().lock();
        if let (Some(peer), Some(message)) = (peer, message) {
            let _ = writeln!(err, "lost the connection to process {peer}: {message}");
            process::exit(LOST_PEER.into());
        }
        let _ = writeln!(err, "{panic}");
        process::exit(PANICKED)
    }));
}

/// Returns the process that a thread of timely sends to or receives from.
fn peer_of_thread(name: &str) -> Option<&str> {
    let peer = name.strip_prefix("timely:recv-");
    peer.or_else(|| name.strip_prefix("timely:send-"))
}
