//! How much of a thread's stack is left.

use std::{cell::Cell, hint::black_box, mem, ops::Range, ptr};

/// Whether less than half of the calling thread's stack is in use. `None` if that is unknown: the
/// system does not report it, or the program has created the stack itself.
pub(super) fn is_half_free() -> Option<bool> {
    thread_local! {
        /// The addresses of the stack. The inner option is `None` if the system does not report
        /// them.
        static STACK: Cell<Option<Option<(usize, usize)>>> = const { Cell::new(None) };
    }

    let bounds = STACK.get().unwrap_or_else(|| {
        let bounds = bounds().map(|stack| (stack.start, stack.end));
        STACK.set(Some(bounds));
        bounds
    });
    let (start, end) = bounds?;
    let here = {
        let local = 0_u8;
        ptr::from_ref(black_box(&local)).addr()
    };
    // The stack grows downward on every target of this module.
    (start..end)
        .contains(&here)
        .then(|| here - start > (end - start) / 2)
}

/// Returns the addresses of the calling thread's stack, up to a page or so.
fn bounds() -> Option<Range<usize>> {
    // musl reports how much of the main thread's stack is mapped at the moment, and that grows.
    //
    // SAFETY: the calls take no arguments.
    if cfg!(target_env = "musl") && unsafe { libc::gettid() == libc::getpid() } {
        return None;
    }
    // SAFETY: zeros are a valid value of the opaque structure, which the first call initializes if
    // it succeeds. It is destroyed once, and only then. The numbers are written by the second
    // call.
    unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut start, mut size) = (ptr::null_mut(), 0);
        let result =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        let start = start.addr();
        let end = start.checked_add(size)?;
        (result == 0 && size > 0).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Calls itself until half of the stack is used, and returns how deep that is.
    fn depth_of_half(depth: usize) -> usize {
        let frame = black_box([0_u8; 1024]);
        if is_half_free().expect("threads of the standard library have stacks of the system") {
            depth_of_half(depth + 1) + usize::from(black_box(frame)[0])
        } else {
            depth
        }
    }

    #[test]
    fn half_of_the_stack_is_noticed() {
        // The system may give a thread a larger stack than it requests: that of a thread that has
        // ended.
        for size in [1 << 20, 1 << 22] {
            let builder = thread::Builder::new().stack_size(size);
            let thread = builder.spawn(|| (depth_of_half(0), bounds().unwrap().len()));
            let (depth, size) = thread.unwrap().join().unwrap();
            // Frames have at least a KiB, and less than 32 in any build.
            assert!(
                (size >> 16..=size >> 11).contains(&depth),
                "{depth}, {size}"
            );
        }
    }
}
