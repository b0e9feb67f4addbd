//! How a hint reaches a worker.

use pool_core::{ArrayChannel, ChannelFull, Hint, HintChannel};

use crate::parker::OsParker;

/// A parker of the system, with hints beside it. Those of a worker that sleeps in its ring go through the
/// pipe that wakes it.
pub(crate) struct OsChannel(ArrayChannel<OsParker>);

impl OsChannel {
    pub(super) fn new(parker: OsParker) -> Self {
        Self(ArrayChannel::new(parker))
    }
}

impl HintChannel for OsChannel {
    type Parker = OsParker;

    #[inline]
    fn parker(&self) -> &OsParker {
        self.0.parker()
    }

    fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        match self.0.parker() {
            #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
            OsParker::Ring(parker) => parker.send(hint),
            _ => self.0.send(hint),
        }
    }

    fn receive(&self) -> Option<Hint> {
        match self.0.parker() {
            #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
            OsParker::Ring(parker) => parker.receive(),
            _ => self.0.receive(),
        }
    }
}
