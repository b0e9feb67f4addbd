//! The functions that start operations.

use std::path::Path;

use pool_std::driver;

use crate::{
    backend::{IoBackend, PoolIo},
    completion::{Completion, Output},
    error::Transfer,
    file::{File, OpenOptions},
    request::Request,
};

/// Opens a file.
///
/// # Errors
/// The completion returns the system's error; `EINVAL` for a path with a zero byte.
///
/// # Examples
/// ```
/// use pool_io::OpenOptions;
///
/// let file = pool_io::open("Cargo.toml", &OpenOptions::new().read(true)).wait();
/// assert!(file.is_ok());
/// let missing = pool_io::open("no such file", &OpenOptions::new().read(true)).wait();
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
/// The completion returns the system's error, with the buffer; `ESPIPE` if the file has no
/// positions, as a pipe has none.
///
/// # Examples
/// ```
/// use pool_io::OpenOptions;
///
/// let file = pool_io::open("README.md", &OpenOptions::new().read(true)).wait()?;
/// let read = pool_io::read_at(&file, vec![0; 7], 2).wait()?;
/// assert_eq!((read.bytes, &read.buffer[..]), (7, &b"pool-io"[..]));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_at(file: &File, buffer: Vec<u8>, offset: u64) -> Completion<Transfer> {
    start(Request::read(file, buffer, Some(offset)))
}

/// Writes a buffer to a position of a file. The system may write fewer bytes than the buffer has.
///
/// # Errors
/// The completion returns the system's error, with the buffer; `ESPIPE` if the file has no
/// positions.
///
/// # Examples
/// ```
/// use pool_io::OpenOptions;
///
/// let path = std::env::temp_dir().join(format!("pool-io-doc-{}", std::process::id()));
/// let options = OpenOptions::new().read(true).write(true).create(true);
/// let file = pool_io::open(&path, &options).wait()?;
/// let written = pool_io::write_at(&file, b"text".to_vec(), 0).wait()?;
/// assert_eq!(written.bytes, 4);
/// pool_io::sync(&file).wait()?;
/// std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_at(file: &File, buffer: Vec<u8>, offset: u64) -> Completion<Transfer> {
    start(Request::write(file, buffer, Some(offset)))
}

/// Reads the next bytes of a pipe, a socket or a terminal, or from the current position of a file,
/// at most as many as the buffer is long.
///
/// Waits until there is at least one byte; 0 bytes mean the end. With an empty buffer it does not
/// wait for a pipe or a socket.
///
/// Transfers at the current position of a file take turns, with each other and with those of the
/// standard library. With [`read_at`], several can be in flight.
///
/// # Errors
/// The completion returns the system's error, with the buffer.
///
/// # Examples
/// ```
/// use pool_io::File;
///
/// let (reader, writer) = std::io::pipe()?;
/// let (reader, writer) = (File::new(reader)?, File::new(writer)?);
/// let read = pool_io::read(&reader, vec![0; 16]);
/// pool_io::write(&writer, b"hello".to_vec()).wait()?;
/// assert_eq!(read.wait()?.bytes, 5);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read(file: &File, buffer: Vec<u8>) -> Completion<Transfer> {
    start(Request::read(file, buffer, None))
}

/// Writes a buffer to a pipe, a socket or a terminal, or to the current position of a file.
///
/// Waits until there is room for at least one byte, and may write fewer bytes than the buffer has.
/// With an empty buffer it does not wait for a pipe or a socket. Writes at the current position of
/// a file take turns, as [reads](read) do.
///
/// # Errors
/// The completion returns the system's error, with the buffer; `EPIPE` if no reader is left.
///
/// # Examples
/// ```
/// use pool_io::{File};
///
/// let (reader, writer) = std::io::pipe()?;
/// let (reader, writer) = (File::new(reader)?, File::new(writer)?);
/// let written = pool_io::write(&writer, b"hello".to_vec()).wait()?;
/// assert_eq!(written.bytes, 5);
/// # drop(reader);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(file: &File, buffer: Vec<u8>) -> Completion<Transfer> {
    start(Request::write(file, buffer, None))
}

/// Waits until what was written to a file is on its device (`fsync`).
///
/// # Errors
/// The completion returns the system's error.
///
/// # Examples
/// ```
/// use pool_io::OpenOptions;
///
/// let path = std::env::temp_dir().join(format!("pool-io-sync-{}", std::process::id()));
/// let file = pool_io::open(&path, &OpenOptions::new().write(true).create(true)).wait()?;
/// pool_io::write_at(&file, b"text".to_vec(), 0).wait()?;
/// pool_io::sync(&file).wait()?;
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn sync(file: &File) -> Completion<std::io::Result<()>> {
    start(Request::sync(file))
}

/// Returns the backend of the current pool: the one whose worker the calling thread is or lends, or
/// else the global pool.
///
/// # Examples
/// ```
/// use pool_io::{IoBackend, ThreadPoolBuilderExt as _};
///
/// let pool = pool_std::ThreadPoolBuilder::new().io(IoBackend::HelperThreads).build()?;
/// assert_eq!(pool.install(pool_io::backend), IoBackend::HelperThreads);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[must_use]
pub fn backend() -> IoBackend {
    driver::with(PoolIo::default, |_, io| io.kind())
}

/// Starts an operation on the current pool, which does not end during the call.
fn start<T: Output>(request: Request) -> Completion<T> {
    let operation = driver::with(PoolIo::default, |pool, io| io.start(pool, request));
    Completion::new(operation)
}
