//! The drivers of a pool.

use std::any::Any;

use crate::{
    blocking::handlers::{call_handler, while_unregistered},
    driver::Driver,
    panics::drop_quietly,
    sync::OnceLock,
};

/// The drivers of a pool: a list that only grows, with at most one of each type. It is read without
/// a lock.
#[derive(Default)]
pub(crate) struct Drivers(OnceLock<Entry>);

struct Entry {
    /// `None` while it is being dropped.
    driver: Option<Box<dyn Driver>>,
    next: Box<Drivers>,
}

impl Entry {
    fn new(driver: Box<dyn Driver>) -> Self {
        Self {
            driver: Some(driver),
            next: Box::default(),
        }
    }

    fn downcast<D: Driver>(&self) -> Option<&D> {
        let driver: &dyn Any = self.driver.as_deref()?;
        driver.downcast_ref()
    }
}

/// The last reference to a pool may be dropped anywhere, also in a frame that other threads use.
impl Drop for Entry {
    fn drop(&mut self) {
        drop_quietly(self.driver.take());
    }
}

impl Drivers {
    /// Creates a list with one driver.
    pub(crate) fn of(driver: Box<dyn Driver>) -> Self {
        Self(Entry::new(driver).into())
    }

    /// Returns the driver that was given to the builder, for a pool that is being built.
    pub(crate) fn first(&self) -> Option<&dyn Driver> {
        self.0.get()?.driver.as_deref()
    }

    /// Returns the driver of a type, and makes it if there is none. The caller keeps the pool from
    /// ending.
    pub(crate) fn get_or_add<D: Driver>(&self, make: impl FnOnce() -> D) -> &D {
        let mut list = self;
        while let Some(entry) = list.0.get() {
            if let Some(driver) = entry.downcast() {
                return driver;
            }
            list = &entry.next;
        }
        // Without a lock: `make` is code of the user.
        let mut new = Some(Entry::new(Box::new(make())));
        loop {
            let entry = list.0.get_or_init(|| new.take().expect("it is added once"));
            // Another thread may have added one meanwhile.
            if let Some(driver) = entry.downcast() {
                return driver;
            }
            list = &entry.next;
        }
    }

    /// Tells all drivers that the pool has ended. Never unwinds.
    pub(crate) fn end(&self) {
        let mut list = self;
        while let Some(entry) = list.0.get() {
            if let Some(driver) = &entry.driver {
                let message = "pool-std: the end of a driver panicked; aborting";
                while_unregistered(|| call_handler(message, || driver.end()));
            }
            list = &entry.next;
        }
    }
}
