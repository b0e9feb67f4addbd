//! Elements without memory of their own that note each drop, so that a second drop of one is a
//! failed test and not undefined behavior.

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
    pub(crate) fn assert_each_dropped_once(&self) {
        assert_eq!(self.lost(), 0, "elements were lost");
    }

    /// Returns how many elements were not dropped. Checks that none was dropped twice.
    #[allow(clippy::unused_self)]
    pub(crate) fn lost(&self) -> usize {
        let drops = DROPS.take();
        let twice = drops.iter().position(|&drops| drops > 1);
        assert_eq!(twice, None, "an element was dropped twice");
        drops.iter().filter(|&&drops| drops == 0).count()
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
