//! What can go wrong between processes.

use std::{error::Error, fmt, io, path::PathBuf, process::ExitStatus};

/// The reason that a run has ended without a report.
#[derive(Debug)]
pub enum ClusterError {
    /// There is nothing at the path, or the process cannot look at it.
    Tree {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The number of trees is neither one nor that of the processes.
    Trees {
        /// How many trees were given.
        trees: usize,
        /// How many processes were asked for.
        processes: usize,
    },
    /// Two trees of this machine have files in common, each of which would count as a duplicate of
    /// itself.
    Overlap {
        /// The trees, as they were given.
        trees: [PathBuf; 2],
    },
    /// A file for the run cannot be read or written.
    File {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file of hosts has not one line for each process.
    Hosts {
        /// The file.
        path: PathBuf,
        /// How many addresses it has.
        lines: usize,
        /// How many processes were asked for.
        processes: usize,
    },
    /// A line of a file of hosts is no `HOST:PORT`.
    HostLine {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is there.
        text: String,
    },
    /// This process is not one of the processes.
    NoSuchProcess {
        /// Its number.
        process: usize,
        /// How many there are.
        processes: usize,
    },
    /// The port is in use, or the address is not one of this machine.
    Address {
        /// The address.
        address: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process did not connect in time, or is not reachable.
    NoConnection {
        /// Its number.
        process: usize,
        /// Its address.
        address: String,
        /// The last error.
        reason: String,
    },
    /// Another process was started for another number of processes.
    Disagreement {
        /// Its number.
        process: usize,
        /// How many processes it was started for.
        theirs: usize,
        /// How many this one was started for.
        ours: usize,
    },
    /// The pool of this process was not built.
    Pool(pool_std::BuildError),
    /// A process was not started.
    Start {
        /// Its number.
        process: usize,
        /// The error of the system.
        source: io::Error,
    },
    /// A process has ended before its work was done. The others were ended too.
    Ended {
        /// The number of the process that ended first.
        process: usize,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it printed to its standard error.
        said: String,
    },
    /// All processes have ended well, but the first one sent no report.
    NoReport,
    /// The parent of this process has ended, or said something else than the addresses of all
    /// processes.
    Launcher(String),
    /// Reading or writing failed between the processes.
    Io(io::Error),
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree { path, source } | Self::File { path, source } => {
                write!(f, "{}: {source}", path.display())
            }
            Self::Trees { trees, processes } => write!(
                f,
                "{trees} paths for {processes} processes: give one path for all, or one for each"
            ),
            Self::Overlap {
                trees: [first, second],
            } => write!(
                f,
                "{} and {} have files in common, which would count as duplicates of themselves",
                first.display(),
                second.display()
            ),
            Self::Hosts {
                path,
                lines,
                processes,
            } => write!(
                f,
                "{}: {lines} addresses for {processes} processes",
                path.display()
            ),
            Self::HostLine { path, line, text } => {
                write!(f, "{}:{line}: `{text}` is not HOST:PORT", path.display())
            }
            Self::NoSuchProcess { process, processes } => write!(
                f,
                "there is no process {process} among {processes}: the first one is 0"
            ),
            Self::Address { address, source } => {
                write!(f, "cannot listen on {address}: {source}")
            }
            Self::NoConnection {
                process,
                address,
                reason,
            } => write!(
                f,
                "no connection to process {process} at {address}: {reason}"
            ),
            Self::Disagreement {
                process,
                theirs,
                ours,
            } => write!(
                f,
                "process {process} was started as one of {theirs} processes, this one as one of {ours}"
            ),
            Self::Pool(error) => error.fmt(f),
            Self::Start { process, source } => {
                write!(f, "process {process} was not started: {source}")
            }
            Self::Ended {
                process,
                status,
                said,
            } => {
                write!(
                    f,
                    "process {process} ended early: {status}; the others were ended"
                )?;
                for line in said.lines() {
                    write!(f, "\n    {line}")?;
                }
                Ok(())
            }
            Self::NoReport => write!(f, "all processes have ended, but process 0 sent no report"),
            Self::Launcher(reason) => write!(f, "the parent of this process: {reason}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ClusterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Tree { source, .. }
            | Self::File { source, .. }
            | Self::Address { source, .. }
            | Self::Start { source, .. } => Some(source),
            Self::Pool(error) => error.source(),
            Self::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for ClusterError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<pool_std::BuildError> for ClusterError {
    fn from(error: pool_std::BuildError) -> Self {
        Self::Pool(error)
    }
}
