//! One system call of an operation, as numbers and addresses.

use std::os::fd::RawFd;

use libc::{c_char, c_int, c_long};

use crate::system::last_error;

/// The greatest number of bytes that Linux transfers at once, see `read(2)`.
const MAX_TRANSFER: usize = 0x7fff_f000;

/// The maximum number of bytes that a pipe accepts as a whole once it has reported to be ready.
const PIPE_BUF: usize = 4096;

/// The request of one system call, or of one entry of a ring.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    Open {
        path: *const c_char,
        flags: c_int,
        mode: u32,
        /// Whether a ring may wait for another process. A thread always may.
        may_wait: bool,
    },
    Transfer {
        direction: Direction,
        descriptor: RawFd,
        memory: Memory,
        /// `None` for the current position.
        position: Option<u64>,
        is_stream: bool,
    },
    Sync {
        descriptor: RawFd,
    },
    /// Waits until a transfer would not block.
    Poll {
        descriptor: RawFd,
        direction: Direction,
        /// Whether the descriptor was repeatedly ready although the transfer would still have
        /// blocked.
        is_noisy: bool,
    },
}

/// Where the bytes of a transfer go to, or come from.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) address: *mut u8,
    pub(crate) length: usize,
}

impl Memory {
    /// Returns the memory after the first `bytes`, limited to what the system transfers at once.
    pub(crate) fn rest(self, bytes: usize) -> Self {
        Self {
            address: self.address.wrapping_add(bytes),
            length: (self.length - bytes).min(MAX_TRANSFER),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    /// Returns the events of `poll` that indicate that a transfer does not block.
    pub(crate) fn events(self) -> i16 {
        match self {
            Self::Read => libc::POLLIN,
            Self::Write => libc::POLLOUT,
        }
    }
}

impl Call {
    /// Makes the call on this thread, which may block. A transfer of a stream instead returns
    /// `EAGAIN` if the system can tell that it would block.
    ///
    /// # Errors
    /// The system's error number.
    ///
    /// # Safety
    /// 1. The path, the memory and the descriptor are valid during the call, and no other code
    ///    accesses the memory.
    pub(crate) unsafe fn execute(self) -> Result<usize, i32> {
        // SAFETY: by obligation 1.
        let result = unsafe {
            match self {
                Self::Open {
                    path, flags, mode, ..
                } => libc::openat(libc::AT_FDCWD, path, flags, mode) as isize,
                Self::Transfer {
                    is_stream: true, ..
                } => match self.execute_at_once() {
                    // The call does not exist, or not for this kind of file.
                    Err(libc::EOPNOTSUPP | libc::ENOSYS) => self.transfer_ready(),
                    result => return result,
                },
                Self::Transfer { .. } => self.transfer(),
                Self::Sync { descriptor } => libc::fsync(descriptor) as isize,
                Self::Poll { .. } => 0,
            }
        };
        usize::try_from(result).map_err(|_| last_error())
    }

    /// Transfers what can be transferred without waiting.
    ///
    /// # Errors
    /// `EAGAIN` if nothing can be transferred; `EOPNOTSUPP` or `ENOSYS` if the system cannot tell;
    /// other errors are those of the transfer.
    ///
    /// # Safety
    /// 1. As for [`execute`](Self::execute).
    pub(crate) unsafe fn execute_at_once(self) -> Result<usize, i32> {
        let Self::Transfer {
            direction,
            descriptor,
            memory,
            position,
            ..
        } = self
        else {
            return Err(libc::EOPNOTSUPP);
        };
        let number = match direction {
            Direction::Read => libc::SYS_preadv2,
            Direction::Write => libc::SYS_pwritev2,
        };
        let vector = libc::iovec {
            iov_base: memory.address.cast(),
            iov_len: memory.length,
        };
        // The position −1 stands for the current one. The kernel takes it in two halves, and a
        // 64-bit system reads only the first.
        let position = position.map_or(-1, u64::cast_signed);
        let call = |descriptor: RawFd| {
            // SAFETY: by obligation 1; the vector lives until the call returns.
            let result: c_long = unsafe {
                libc::syscall(
                    number,
                    descriptor,
                    &raw const vector,
                    1,
                    position,
                    0,
                    libc::RWF_NOWAIT,
                )
            };
            usize::try_from(result).map_err(|_| last_error())
        };
        let result = call(descriptor);
        // A filter that forbids what it does not know may answer so, too, whatever the descriptor.
        if result == Err(libc::EPERM) && call(-1) == Err(libc::EPERM) {
            return Err(libc::ENOSYS);
        }
        result
    }

    /// Transfers the bytes that a ready stream accepts or has without waiting, on a system that
    /// cannot refuse to wait.
    ///
    /// # Safety
    /// 1. As for [`execute`](Self::execute).
    unsafe fn transfer_ready(self) -> isize {
        let mut call = self;
        if let Self::Transfer {
            direction: Direction::Write,
            memory,
            ..
        } = &mut call
        {
            memory.length = memory.length.min(PIPE_BUF);
        }
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { call.transfer() }
    }

    /// # Safety
    /// 1. As for [`execute`](Self::execute).
    unsafe fn transfer(self) -> isize {
        let Self::Transfer {
            direction,
            descriptor,
            memory: Memory { address, length },
            position,
            ..
        } = self
        else {
            return 0;
        };
        let address = address.cast();
        // SAFETY: by obligation 1.
        unsafe {
            match (direction, position) {
                (Direction::Read, None) => libc::read(descriptor, address, length),
                (Direction::Write, None) => libc::write(descriptor, address, length),
                (Direction::Read, Some(position)) => {
                    libc::pread(descriptor, address, length, position.cast_signed())
                }
                (Direction::Write, Some(position)) => {
                    libc::pwrite(descriptor, address, length, position.cast_signed())
                }
            }
        }
    }

    /// Returns the descriptor and the events for `poll`.
    pub(crate) fn readiness(self) -> libc::pollfd {
        let (fd, events) = match self {
            Self::Poll {
                descriptor,
                direction,
                ..
            } => (descriptor, direction.events()),
            _ => (-1, 0),
        };
        libc::pollfd {
            fd,
            events,
            revents: 0,
        }
    }
}
