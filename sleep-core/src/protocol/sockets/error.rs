//! What can be wrong with a list of sockets.

use core::fmt;

/// A list of sockets that [`Sockets`](crate::Sockets) cannot use.
///
/// # Examples
/// ```
/// use sleep_core::protocol::sockets::UnusableSockets;
///
/// let error = UnusableSockets::Uneven { socket: 1, workers: 3, expected: 4 };
/// assert_eq!(error.to_string(), "socket 1 has 3 workers, but the first one has 4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusableSockets {
    /// There are more sockets than bits in a word.
    TooMany {
        /// The number of sockets.
        sockets: usize,
        /// The greatest possible number.
        maximum: usize,
    },
    /// A socket has a different number of workers than the first. Or it is the last one, and has
    /// none, or more than the first.
    Uneven {
        /// The number of the socket, from 0.
        socket: usize,
        /// The number of its workers.
        workers: usize,
        /// The number of workers of the first socket.
        expected: usize,
    },
}

impl UnusableSockets {
    /// Returns an error if sockets of these sizes cannot be used.
    pub(super) fn check(
        mut sizes: impl ExactSizeIterator<Item = usize>,
        maximum: usize,
    ) -> Result<(), Self> {
        let sockets = sizes.len();
        if sockets > maximum {
            return Err(Self::TooMany { sockets, maximum });
        }
        let Some(expected) = sizes.next() else {
            return Ok(());
        };
        for (socket, workers) in (1..).zip(sizes) {
            let is_last = socket + 1 == sockets;
            let fits = workers == expected || is_last && (1..expected).contains(&workers);
            if !fits {
                return Err(Self::Uneven {
                    socket,
                    workers,
                    expected,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for UnusableSockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { sockets, maximum } => {
                write!(f, "{sockets} sockets, at most {maximum} are possible")
            }
            Self::Uneven {
                socket,
                workers,
                expected,
            } => write!(
                f,
                "socket {socket} has {workers} workers, but the first one has {expected}"
            ),
        }
    }
}

impl core::error::Error for UnusableSockets {}
