//! How much of its stack a thread has left.

use std::{cell::Cell, ptr};

use crate::system::{self, Stack};

/// Whether half of the calling thread's stack is free. `None` if that is unknown: the system does
/// not tell, or the program has made the stack itself, for example that of a coroutine.
///
/// For a [driver](crate::driver) that limits how deeply its [waits](crate::driver::wait) are
/// nested. Takes a few nanoseconds, after the first call of a thread.
///
/// # Examples
/// ```
/// use pool_std::driver;
///
/// /// The limit where the size of the stack is unknown.
/// const MOST_WAITS: usize = 20;
///
/// /// Whether a worker may run other jobs while it waits, below so many waits of its stack.
/// fn may_nest(waits: usize) -> bool {
///     driver::is_half_of_stack_free().unwrap_or(waits < MOST_WAITS)
/// }
///
/// assert!(may_nest(0));
/// ```
#[must_use]
pub fn is_half_of_stack_free() -> Option<bool> {
    let here = 0_u8;
    of_this_thread().is_half_free_at(ptr::from_ref(&here).addr())
}

/// Whether this thread has used more than half of its stack. False where that is
/// [unknown](Stack::left_at).
#[inline]
pub(super) fn is_half_used() -> bool {
    let here = 0_u8;
    of_this_thread().is_half_used_at(ptr::from_ref(&here).addr())
}

/// Whether this thread has at least this number of bytes of stack left. Returns true if the stack
/// is [unknown](Stack::left_at).
pub(super) fn has_left(bytes: usize) -> bool {
    let here = 0_u8;
    of_this_thread().has_left_at(ptr::from_ref(&here).addr(), bytes)
}

impl Stack {
    /// The system has no function that tells it, or none that this crate knows.
    const UNKNOWN: Self = Self { lowest: 0, size: 0 };
    /// The system was not asked yet.
    const NOT_ASKED: Self = Self {
        size: usize::MAX,
        ..Self::UNKNOWN
    };

    fn is_half_free_at(self, address: usize) -> Option<bool> {
        let left = self.left_at(address);
        (left < self.size).then_some(left >= self.size / 2)
    }

    #[inline]
    fn is_half_used_at(self, address: usize) -> bool {
        self.left_at(address) < self.size / 2
    }

    #[inline]
    fn has_left_at(self, address: usize, bytes: usize) -> bool {
        let left = self.left_at(address);
        left >= self.size || left >= bytes
    }

    /// Returns how many bytes lie below an address of this stack.
    ///
    /// A result of at least `size` means unknown: either the stack is unknown, or the address is on
    /// another stack, such as a coroutine's or one that grows in pieces.
    #[inline]
    fn left_at(self, address: usize) -> usize {
        address.wrapping_sub(self.lowest)
    }
}

/// Returns the stack of this thread.
#[inline]
fn of_this_thread() -> Stack {
    thread_local! {
        static STACK: Cell<Stack> = const { Cell::new(Stack::NOT_ASKED) };
    }

    #[cold]
    fn ask() -> Stack {
        let stack = system::stack_of_this_thread().unwrap_or(Stack::UNKNOWN);
        STACK.set(stack);
        stack
    }

    let stack = STACK.get();
    if stack.size == Stack::NOT_ASKED.size {
        return ask();
    }
    stack
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
        let addresses = [0xfff, 0x1000, 0x107f, 0x1080, 0x10ff, 0x1100];
        let half_used = addresses.map(|address| stack.is_half_used_at(address));
        assert_eq!(half_used, [false, true, true, false, false, false]);
        let half_free = addresses.map(|address| stack.is_half_free_at(address));
        let [used, free] = [false, true].map(Some);
        assert_eq!(half_free, [None, used, used, free, free, None]);
        assert_eq!(Stack::UNKNOWN.is_half_free_at(0x1000), None);
        let has_left = addresses.map(|address| stack.has_left_at(address, 0x80));
        assert_eq!(has_left, [true, false, false, true, true, true]);
        assert!(!Stack::UNKNOWN.is_half_used_at(0x1000));
        assert!(Stack::UNKNOWN.has_left_at(0x1000, 0x2000));
    }

    #[test]
    fn what_is_left_is_known() {
        let thread = thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn(|| (has_left(STACK / 2), has_left(STACK + STACK / 8)));
        assert_eq!(thread.unwrap().join().unwrap(), (true, false));
        assert!(has_left(0));
    }
}
