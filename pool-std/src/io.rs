//! Input and output whose completion a job waits for while its worker runs other jobs.
//!
//! A function of this module starts an operation on the current pool and returns a [`Completion`]. A job
//! that [waits](Completion::wait) for it runs other jobs of its pool meanwhile, and its worker sleeps when
//! there are none; a thread outside every pool blocks. A completion is also a
//! [`Future`], for any executor.
//!
//! Use it where jobs both read and compute, or where many operations wait at the same time, such as reads
//! of pipes and sockets. For one long wait without a file descriptor there is
//! [`block_in_place`](crate::block_in_place()).
//!
//! # Where operations run
//! [`ThreadPoolBuilder::io`](crate::ThreadPoolBuilder::io) chooses; [`backend()`] says what was chosen.
//! - [`IoBackend::Ring`]: the kernel, through one `io_uring` per worker.
//! - [`IoBackend::HelperThreads`]: a few threads that make blocking system calls, and more if all
//!   of them block. This is the default; the threads are started by the first operation.
//!
//! # Ownership
//! An operation owns its buffer and shares its [`File`]. So safe code can neither free a buffer nor close a
//! descriptor that the kernel still uses: not by dropping the completion, and not by
//! [cancelling](Completion::cancel) it. The buffer comes back with the result.
//!
//! # When no thread is left
//! The kernel carries out some operations on threads of its own: an `fsync`, many an `open`, some
//! reads of files. Where it may start none (`RLIMIT_NPROC`), such an operation of a ring fails with
//! the error `EAGAIN`.
//!
//! # When a pool ends
//! Operations that are in flight when a pool ends are cancelled: their completions return the error
//! `ECANCELED`. A job that waits keeps its pool from ending, so this concerns only handles that
//! outlive the jobs.
//!
//! # Examples
//! ```
//! use pool_std::io::{self, OpenOptions};
//!
//! let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let text = pool.install(|| {
//!     let file = io::open("Cargo.toml", &OpenOptions::new().read(true)).wait()?;
//!     let transferred = io::read_at(&file, vec![0; 9], 0).wait()?;
//!     Ok::<_, std::io::Error>(transferred.buffer)
//! })?;
//! assert_eq!(text, b"[package]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source of the design: EMPER's io_uring scheduler (see `io/README.md` in the sources).

pub(crate) mod backend;
mod call;
mod completion;
mod error;
mod file;
mod helpers;
pub(crate) mod operation;
mod request;
pub(crate) mod ring;
mod stack;
mod system;
pub(crate) mod thread;

use std::path::Path;

pub use backend::IoBackend;
pub use completion::{Completion, Output};
pub use error::{Transfer, TransferError, Transferred};
pub use file::{File, OpenOptions};

use crate::{io::request::Request, thread_pool::guard::PoolGuard};

/// Opens a file.
///
/// # Errors
/// The completion returns the system's error; `EINVAL` for a path with a zero byte.
///
/// # Examples
/// ```
/// use pool_std::io::{self, OpenOptions};
///
/// let file = io::open("Cargo.toml", &OpenOptions::new().read(true)).wait();
/// assert!(file.is_ok());
/// let missing = io::open("no such file", &OpenOptions::new().read(true)).wait();
/// assert_eq!(missing.unwrap_err().kind(), std::io::ErrorKind::NotFound);
/// ```
pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Completion<std::io::Result<File>> {
    start(Request::open(path.as_ref(), options))
}

/// Reads from a position of a file into a buffer, at most as many bytes as the buffer is long.
///
/// The system may read fewer bytes than that (a short read), and reads none at the end of the file.
///
/// # Errors
/// The completion returns the system's error, with the buffer; `ESPIPE` if the file has no positions,
/// as a pipe has none.
///
/// # Examples
/// ```
/// use pool_std::io::{self, OpenOptions};
///
/// let file = io::open("Cargo.toml", &OpenOptions::new().read(true)).wait()?;
/// let read = io::read_at(&file, vec![0; 7], 1).wait()?;
/// assert_eq!((read.bytes, &read.buffer[..]), (7, &b"package"[..]));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_at(file: &File, buffer: Vec<u8>, offset: u64) -> Completion<Transfer> {
    start(Request::read(file, buffer, Some(offset)))
}

/// Writes a buffer to a position of a file. The system may write fewer bytes than the buffer has.
///
/// # Errors
/// The completion returns the system's error, with the buffer; `ESPIPE` if the file has no positions.
///
/// # Examples
/// ```
/// use pool_std::io::{self, OpenOptions};
///
/// let path = std::env::temp_dir().join(format!("pool-std-doc-{}", std::process::id()));
/// let options = OpenOptions::new().read(true).write(true).create(true);
/// let file = io::open(&path, &options).wait()?;
/// let written = io::write_at(&file, b"text".to_vec(), 0).wait()?;
/// assert_eq!(written.bytes, 4);
/// io::sync(&file).wait()?;
/// std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_at(file: &File, buffer: Vec<u8>, offset: u64) -> Completion<Transfer> {
    start(Request::write(file, buffer, Some(offset)))
}

/// Reads the next bytes of a pipe, a socket or a terminal, or from the current position of a file, at
/// most as many as the buffer is long.
///
/// Waits until there is at least one byte; 0 bytes mean the end. With an empty buffer it does not
/// wait.
///
/// # Errors
/// The completion returns the system's error, with the buffer.
///
/// # Examples
/// ```
/// use pool_std::io::{self, File};
///
/// let (reader, writer) = std::io::pipe()?;
/// let (reader, writer) = (File::new(reader)?, File::new(writer)?);
/// let read = io::read(&reader, vec![0; 16]);
/// io::write(&writer, b"hello".to_vec()).wait()?;
/// assert_eq!(read.wait()?.bytes, 5);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read(file: &File, buffer: Vec<u8>) -> Completion<Transfer> {
    start(Request::read(file, buffer, None))
}

/// Writes a buffer to a pipe, a socket or a terminal, or to the current position of a file.
///
/// Waits until there is room for at least one byte, and may write fewer bytes than the buffer has.
/// With an empty buffer it does not wait.
///
/// # Errors
/// The completion returns the system's error, with the buffer; `EPIPE` if no reader is left.
pub fn write(file: &File, buffer: Vec<u8>) -> Completion<Transfer> {
    start(Request::write(file, buffer, None))
}

/// Waits until what was written to a file is on its device (`fsync`).
///
/// # Errors
/// The completion returns the system's error.
pub fn sync(file: &File) -> Completion<std::io::Result<()>> {
    start(Request::sync(file))
}

/// Returns what carries out the operations of the current pool: the one whose worker the calling thread
/// is, or the global one.
///
/// # Examples
/// ```
/// use pool_std::io::IoBackend;
///
/// let pool = pool_std::ThreadPoolBuilder::new().io(IoBackend::HelperThreads).build()?;
/// assert_eq!(pool.install(pool_std::io::backend), IoBackend::HelperThreads);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[must_use]
pub fn backend() -> IoBackend {
    PoolGuard::current().registry().data().io.kind()
}

/// Starts an operation on the current pool, which does not end during the call.
fn start<T: Output>(request: Request) -> Completion<T> {
    let pool = PoolGuard::current();
    let registry = pool.registry();
    Completion::new(registry.data().io.start(registry, request))
}
