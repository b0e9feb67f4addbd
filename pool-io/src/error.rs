//! The results of reads and writes, which return the buffer.

use std::{error::Error, fmt, io};

/// The result of a read or a write.
pub type Transfer = Result<Transferred, TransferError>;

/// What a read or a write has done.
///
/// # Examples
/// ```
/// use pool_io::{File};
///
/// let (reader, writer) = std::io::pipe()?;
/// let (reader, writer) = (File::new(reader)?, File::new(writer)?);
/// pool_io::write(&writer, b"hello".to_vec()).wait()?;
/// let read = pool_io::read(&reader, vec![0; 16]).wait()?;
/// assert_eq!((read.bytes, read.data(), read.buffer.len()), (5, &b"hello"[..], 16));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transferred {
    /// How many bytes were read into the beginning of the buffer, or written from there.
    pub bytes: usize,
    /// The buffer that was given to the operation, as long as before.
    pub buffer: Vec<u8>,
}

impl Transferred {
    pub(super) fn new(bytes: usize, buffer: Vec<u8>) -> Self {
        Self { bytes, buffer }
    }

    /// Returns the bytes that were transferred.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.buffer[..self.bytes]
    }
}

/// The error of a read or a write, with the buffer. The `?` operator converts it into an
/// [`io::Error`].
///
/// # Examples
/// ```
/// use pool_io::{File};
///
/// let (reader, writer) = std::io::pipe()?;
/// let (reader, writer) = (File::new(reader)?, File::new(writer)?);
/// drop(reader);
/// let error = pool_io::write(&writer, b"hello".to_vec()).wait().unwrap_err();
/// assert_eq!(error.error.kind(), std::io::ErrorKind::BrokenPipe);
/// assert_eq!(error.buffer, b"hello", "the buffer comes back");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct TransferError {
    /// The system's error.
    pub error: io::Error,
    /// The buffer that was given to the operation. What it holds is unspecified after a read.
    pub buffer: Vec<u8>,
}

impl TransferError {
    pub(super) fn new(error: io::Error, buffer: Vec<u8>) -> Self {
        Self { error, buffer }
    }
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for TransferError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

impl From<TransferError> for io::Error {
    fn from(error: TransferError) -> Self {
        error.error
    }
}
