//! Arguments of cold functions.

use core::mem::MaybeUninit;
use std::{boxed::Box, rc::Rc};

use super::ColdArg;

#[cfg(target_pointer_width = "32")]
mod positions;

#[test]
fn smoke() {
    let mut storage = MaybeUninit::uninit();
    assert_eq!(*ColdArg::new(Box::new(7), &mut storage).take(), 7);
}

/// Drops values, taken out or not. Miri would report a leak, or a value that is dropped twice.
#[test]
fn destructors() {
    let value = Rc::new(());
    drop(ColdArg::new(value.clone(), &mut MaybeUninit::uninit()));
    assert_eq!(Rc::strong_count(&value), 1);
    drop(ColdArg::new(value.clone(), &mut MaybeUninit::uninit()).take());
    assert_eq!(Rc::strong_count(&value), 1);
}
