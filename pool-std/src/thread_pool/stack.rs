//! How much of its stack a thread has left.

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

/// The stack of a thread, which grows downward.
#[derive(Clone, Copy)]
struct Stack {
    lowest: usize,
    size: usize,
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

/// Returns the stack of this thread, on Linux and Android.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
fn of_this_thread() -> Option<Stack> {
    use std::cell::Cell;

    thread_local! {
        /// Unless the system was not asked yet.
        static STACK: Cell<Option<Option<Stack>>> = const { Cell::new(None) };
    }

    STACK.get().unwrap_or_else(|| {
        let stack = ask_system();
        STACK.set(Some(stack));
        stack
    })
}

/// Returns nothing: the system has no function for that, or none that this crate knows.
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
fn of_this_thread() -> Option<Stack> {
    None
}

/// Asks where the stack of this thread is. For the first thread of a process that takes some ten
/// microseconds.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[cold]
fn ask_system() -> Option<Stack> {
    use std::{mem::MaybeUninit, ptr};

    let mut attributes = MaybeUninit::uninit();
    let (mut lowest, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the calls write where the pointers lead. The attributes are destroyed once, if they
    // were made.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let made = attributes.as_mut_ptr();
        let answer = libc::pthread_attr_getstack(made, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(made);
        (answer == 0).then(|| Stack {
            lowest: lowest.addr(),
            size,
        })
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
mod tests {
    use std::{hint::black_box, thread};

    use super::*;

    #[test]
    fn half_of_the_stack_is_noticed() {
        #[inline(never)]
        fn kilobytes_to_half(so_far: usize) -> usize {
            let used = black_box([1_u8; 1024]);
            if is_half_used() || so_far > 250 {
                return so_far;
            }
            kilobytes_to_half(so_far + 1) + usize::from(used[so_far] == 0)
        }
        let thread = thread::Builder::new().stack_size(256 << 10);
        let thread = thread.spawn(|| kilobytes_to_half(0)).unwrap();
        let fitted = thread.join().unwrap();
        assert!((20..130).contains(&fitted), "{fitted} KiB of 256");
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
        let thread = thread::Builder::new().stack_size(256 << 10);
        let thread = thread.spawn(|| (has_left(100 << 10), has_left(300 << 10)));
        assert_eq!(thread.unwrap().join().unwrap(), (true, false));
        assert!(has_left(0));
    }
}
