//! How much of its stack a thread has left.

use std::cell::Cell;

use crate::system::{self, Stack};

/// Whether this thread has used more than half of its stack. False where that is
/// [unknown](of_this_thread).
pub(super) fn is_half_used() -> bool {
    of_this_thread().is_some_and(|stack| stack.left().is_some_and(|left| left < stack.size / 2))
}

/// Whether this thread has so many bytes of stack left. True where that is
/// [unknown](of_this_thread).
pub(super) fn has_left(bytes: usize) -> bool {
    of_this_thread().is_none_or(|stack| stack.left().is_none_or(|left| left >= bytes))
}

impl Stack {
    /// Returns how many bytes this thread has left, unless it runs on a stack that the program has
    /// made: that of a coroutine, or one that grows in pieces. Where such a stack ends is unknown.
    #[inline]
    fn left(self) -> Option<usize> {
        let here = 0_u8;
        self.left_at(std::ptr::from_ref(&here).addr())
    }

    #[inline]
    fn left_at(self, address: usize) -> Option<usize> {
        let left = address.checked_sub(self.lowest);
        left.filter(|&left| left < self.size)
    }
}

/// Returns the stack of this thread. None if the system has no function for that, or none that this
/// crate knows.
fn of_this_thread() -> Option<Stack> {
    thread_local! {
        /// Unless the system was not asked yet.
        static STACK: Cell<Option<Option<Stack>>> = const { Cell::new(None) };
    }

    STACK.get().unwrap_or_else(|| {
        let stack = system::stack_of_this_thread();
        STACK.set(Some(stack));
        stack
    })
}

#[cfg(all(
    test,
    any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        windows
    ),
    not(miri)
))]
mod tests {
    use std::{hint::black_box, thread};

    use super::*;

    /// Wine makes no smaller stack than one of a megabyte.
    const STACK: usize = 2 << 20;

    #[test]
    fn half_of_the_stack_is_noticed() {
        #[inline(never)]
        fn frames_to_half(so_far: usize) -> usize {
            let used = black_box([1_u8; STACK / 256]);
            if is_half_used() || so_far > 250 {
                return so_far;
            }
            frames_to_half(so_far + 1) + usize::from(used[so_far] == 0)
        }
        let thread = thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn(|| frames_to_half(0)).unwrap();
        let fitted = thread.join().unwrap();
        assert!((20..130).contains(&fitted), "{fitted} of 256 frames");
    }

    #[test]
    fn a_stack_of_the_program_is_unknown() {
        let stack = Stack {
            lowest: 0x1000,
            size: 0x100,
        };
        let left = [0xfff, 0x1000, 0x10ff, 0x1100].map(|address| stack.left_at(address));
        assert_eq!(left, [None, Some(0), Some(0xff), None]);
    }

    #[test]
    fn what_is_left_is_known() {
        let thread = thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn(|| (has_left(STACK / 2), has_left(STACK + STACK / 8)));
        assert_eq!(thread.unwrap().join().unwrap(), (true, false));
        assert!(has_left(0));
    }
}
