//! The results of reads and writes, which give the buffer back.

use std::{error::Error, fmt, io};

/// The result of a read or a write.
pub type Transfer = Result<Transferred, TransferError>;

/// What a read or a write has done.
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

/// The error of a read or a write, with the buffer. Becomes an [`io::Error`] by `?`.
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
