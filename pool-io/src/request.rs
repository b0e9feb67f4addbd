//! What an operation is to do, and what it owns for that.

use std::{
    ffi::CString,
    io, mem,
    os::{
        fd::{AsFd as _, FromRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use libc::c_int;

use crate::{
    call::{Call, Direction, Memory},
    file::{File, OpenOptions},
    system,
};

/// What an operation is to do, and what it owns for that.
pub(super) enum Request {
    Open {
        path: CString,
        flags: c_int,
        mode: u32,
        /// Whether a ring may wait for another process. At first it may not.
        may_wait: bool,
        /// The result, which is closed if the caller does not want it any more.
        opened: Option<io::Result<File>>,
    },
    Transfer {
        direction: Direction,
        file: File,
        buffer: Vec<u8>,
        position: Option<u64>,
    },
    Sync {
        file: File,
    },
    /// What has finished, and does not keep its file open.
    Finished {
        buffer: Vec<u8>,
    },
    /// A request that the system would misunderstand. Fails with this number.
    Invalid {
        error: i32,
        buffer: Vec<u8>,
    },
}

impl Request {
    pub(super) fn open(path: &Path, options: &OpenOptions) -> Self {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| libc::EINVAL);
        match path.and_then(|path| Ok((path, options.system()?))) {
            Ok((path, (flags, mode))) => Self::Open {
                path,
                flags,
                mode,
                may_wait: false,
                opened: None,
            },
            Err(error) => Self::Invalid {
                error,
                buffer: Vec::new(),
            },
        }
    }

    pub(super) fn read(file: &File, buffer: Vec<u8>, position: Option<u64>) -> Self {
        Self::transfer(Direction::Read, file, buffer, position)
    }

    pub(super) fn write(file: &File, buffer: Vec<u8>, position: Option<u64>) -> Self {
        Self::transfer(Direction::Write, file, buffer, position)
    }

    fn transfer(direction: Direction, file: &File, buffer: Vec<u8>, position: Option<u64>) -> Self {
        // Rings ignore the position of a stream, and take the greatest position for the current
        // one.
        let error = match position {
            Some(_) if file.is_stream() => Some(libc::ESPIPE),
            Some(position) if i64::try_from(position).is_err() => Some(libc::EINVAL),
            _ => None,
        };
        match error {
            Some(error) => Self::Invalid { error, buffer },
            None => Self::Transfer {
                direction,
                file: file.clone(),
                buffer,
                position,
            },
        }
    }

    pub(super) fn sync(file: &File) -> Self {
        Self::Sync { file: file.clone() }
    }

    /// Returns the system call for what is left to do when `progress` bytes were transferred.
    ///
    /// Its addresses are valid as long as the request is neither changed nor dropped.
    ///
    /// # Errors
    /// The error of an invalid request.
    pub(super) fn call(&mut self, progress: usize) -> Result<Call, i32> {
        Ok(match self {
            Self::Open {
                path,
                flags,
                mode,
                may_wait,
                ..
            } => Call::Open {
                path: path.as_ptr(),
                flags: *flags,
                mode: *mode,
                may_wait: *may_wait,
            },
            Self::Transfer {
                direction,
                file,
                buffer,
                position,
            } => {
                let memory = Memory {
                    address: buffer.as_mut_ptr(),
                    length: buffer.len(),
                };
                Call::Transfer {
                    direction: *direction,
                    descriptor: file.raw(),
                    memory: memory.rest(progress),
                    position: position.map(|position| position + progress as u64),
                    is_stream: file.is_stream(),
                }
            }
            Self::Sync { file } => Call::Sync {
                descriptor: file.raw(),
            },
            Self::Finished { .. } => return Err(libc::EINVAL),
            Self::Invalid { error, .. } => return Err(*error),
        })
    }

    /// Returns the call that waits until a transfer would not block, from a descriptor that is
    /// noisy or not.
    pub(super) fn poll(&self, is_noisy: bool) -> Option<Call> {
        match self {
            Self::Transfer {
                direction, file, ..
            } => Some(Call::Poll {
                descriptor: file.raw(),
                direction: *direction,
                is_noisy,
            }),
            _ => None,
        }
    }

    /// Whether this may wait for another process or a device.
    pub(super) fn is_of_stream(&self) -> bool {
        matches!(self, Self::Transfer { file, .. } if file.is_stream())
    }

    /// Whether the descriptor was opened for a transfer in this direction.
    pub(super) fn is_permitted(&self) -> bool {
        match self {
            Self::Transfer {
                direction, file, ..
            } => file.permits(*direction),
            _ => true,
        }
    }

    /// Whether this begins at the current position of a file, and moves that on.
    pub(super) fn uses_current_position(&self) -> bool {
        match self {
            Self::Transfer { file, position, .. } => position.is_none() && !file.is_stream(),
            _ => false,
        }
    }

    /// Lets a ring wait in an `open` that has failed because it would wait. Returns false if it has
    /// waited already, or the caller does not want that.
    pub(super) fn wait_to_open(&mut self) -> bool {
        match self {
            Self::Open {
                flags, may_wait, ..
            } => *flags & libc::O_NONBLOCK == 0 && !mem::replace(may_wait, true),
            _ => false,
        }
    }

    /// Whether this transfers nothing, for which the system has nothing to wait for.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Transfer { buffer, .. } if buffer.is_empty())
    }

    /// Whether the bytes may be in memory already, so that it is worth a try to read them at once.
    pub(super) fn may_be_cached(&self) -> bool {
        matches!(
            self,
            Self::Transfer {
                direction: Direction::Read,
                file,
                position: Some(_),
                ..
            } if !file.is_stream() && !file.is_direct() && !self.is_empty()
        )
    }

    /// Whether there are no bytes behind the position, as far as the system tells without a read:
    /// it does not tell how long a device is.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(
            self,
            Self::Transfer {
                file,
                position: Some(position),
                ..
            } if system::length(file.as_fd()).is_some_and(|length| *position >= length)
        )
    }

    /// Whether the buffer is full, or written whole.
    pub(super) fn is_complete(&self, progress: usize) -> bool {
        matches!(self, Self::Transfer { buffer, .. } if buffer.len() == progress)
    }

    /// Takes possession of what the call has returned.
    pub(super) fn keep(&mut self, result: usize) {
        if let Self::Open { flags, opened, .. } = self {
            let descriptor = RawFd::try_from(result).expect("the system returns a descriptor");
            // SAFETY: the system has just made it for this operation, which asks once.
            let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
            let is_set = *flags & libc::O_NONBLOCK != 0 || system::let_wait(descriptor.as_fd());
            *opened = Some(match is_set {
                true => File::new(descriptor),
                false => Err(io::Error::last_os_error()),
            });
        }
    }

    /// Gives up the file, which the system does not use any more.
    pub(super) fn release_file(&mut self) {
        let buffer = match self {
            Self::Transfer { buffer, .. } => mem::take(buffer),
            Self::Sync { .. } => Vec::new(),
            _ => return,
        };
        *self = Self::Finished { buffer };
    }

    /// Returns the buffer.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        match self {
            Self::Transfer { buffer, .. }
            | Self::Finished { buffer }
            | Self::Invalid { buffer, .. } => buffer,
            Self::Open { .. } | Self::Sync { .. } => Vec::new(),
        }
    }

    /// Returns the file that was opened.
    pub(super) fn into_opened(self) -> Option<io::Result<File>> {
        match self {
            Self::Open { opened, .. } => opened,
            _ => None,
        }
    }
}
