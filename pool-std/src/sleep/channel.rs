//! How a hint reaches a worker.

use pool_core::{ArrayChannel, ChannelFull, Hint, HintChannel};

use crate::parker::OsParker;

/// A parker of the system, with hints beside it. A parker of a driver carries them itself.
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
        match self.0.parker().as_custom() {
            Some(parker) => parker.send(hint),
            None => self.0.send(hint),
        }
    }

    fn receive(&self) -> Option<Hint> {
        match self.0.parker().as_custom() {
            Some(parker) => parker.receive(),
            None => self.0.receive(),
        }
    }
}
