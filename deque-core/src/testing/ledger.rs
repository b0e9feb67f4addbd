//! Elements without memory of their own that note each drop, so that a second drop of one is a failed test
//! and not undefined behavior.

use std::{cell::RefCell, vec::Vec};

use crate::impl_element;

std::thread_local! {
    /// How often each element of the thread's ledger was dropped.
    static DROPS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Counts the drops of the elements that it makes. A thread has one ledger at a time.
pub(crate) struct Ledger(());

impl Ledger {
    /// Begins anew, and forgets the elements of the ledger before.
    pub(crate) fn new() -> Self {
        DROPS.take();
        Self(())
    }

    /// Creates the element with the next number.
    #[allow(clippy::unused_self)]
    pub(crate) fn element(&self) -> Numbered {
        DROPS.with_borrow_mut(|drops| {
            drops.push(0);
            Numbered(drops.len() - 1)
        })
    }

    /// Checks that each element was dropped once.
    #[allow(clippy::unused_self)]
    pub(crate) fn assert_each_dropped_once(&self) {
        let drops = DROPS.take();
        let wrong: Vec<_> = (0..)
            .zip(&drops)
            .filter(|(_, drops)| **drops != 1)
            .collect();
        let none: [(usize, &u32); 0] = [];
        assert_eq!(wrong, none, "(element, how often it was dropped)");
    }
}

/// An element of a [`Ledger`], with its number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Numbered(pub(crate) usize);

impl_element!(Numbered(number: usize));

impl Drop for Numbered {
    fn drop(&mut self) {
        DROPS.with_borrow_mut(|drops| drops[self.0] += 1);
    }
}
