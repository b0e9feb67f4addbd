//! A parker that a driver has given to a worker.

use pool_core::{ChannelFull, Hint, Parker};

use crate::{
    blocking::handlers::{call_handler, while_unregistered},
    driver::WorkerParker,
    fence::register_if_due,
    panics::drop_quietly,
};

/// A parker of a driver. Its calls are code of the user: they see no worker, and do not unwind.
pub(crate) struct CustomParker(
    /// `None` while it is being dropped.
    Option<Box<dyn WorkerParker>>,
);

impl CustomParker {
    pub(crate) fn new(parker: Box<dyn WorkerParker>) -> Self {
        Self(Some(parker))
    }

    /// Calls a closure with the parker, in the middle of falling asleep or of waking a worker.
    fn call<R>(&self, closure: impl FnOnce(&dyn WorkerParker) -> R) -> R {
        let parker = self.0.as_deref().expect("it is not being dropped");
        let message = "pool-std: the parker of a driver panicked; aborting";
        while_unregistered(|| call_handler(message, || closure(parker)))
    }

    pub(crate) fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        self.call(|parker| parker.send(hint))
    }

    pub(crate) fn receive(&self) -> Option<Hint> {
        self.call(|parker| parker.receive())
    }
}

impl Parker for CustomParker {
    fn park(&self) {
        // Registering takes long, and a process that has just begun may end before it pays.
        register_if_due();
        self.call(|parker| parker.park());
    }

    fn unpark(&self) {
        self.call(|parker| parker.unpark());
    }
}

impl Drop for CustomParker {
    fn drop(&mut self) {
        drop_quietly(self.0.take());
    }
}
