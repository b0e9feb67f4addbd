//! The requests to the kernel, as entries of a ring.

use io_uring::{
    opcode,
    squeue::{Entry, Flags},
    types::{CancelBuilder, Fd, Timespec},
};

use crate::{
    call::{Call, Direction},
    ring::IGNORED,
};

/// How long an operation on a noisy descriptor pauses before it tries the transfer again.
static PAUSE: Timespec = Timespec::new().nsec(1_000_000);

/// Returns the entry that makes the kernel end other entries early.
pub(super) fn cancel(which: CancelBuilder) -> Entry {
    opcode::AsyncCancel2::new(which)
        .build()
        .flags(Flags::SKIP_SUCCESS)
        .user_data(IGNORED)
}

/// Returns the entry for a call.
pub(super) fn entry(call: Call) -> Entry {
    match call {
        Call::Open {
            path,
            flags,
            mode,
            may_wait,
        } => {
            // A kernel thread that waits for the other end of a FIFO delays other entries that need
            // a kernel thread. It also delays the end of the thread that has submitted this entry,
            // and then no cancel reaches it.
            let wait = if may_wait { 0 } else { libc::O_NONBLOCK };
            opcode::OpenAt::new(Fd(libc::AT_FDCWD), path)
                .flags(flags | wait)
                .mode(mode)
                .build()
        }
        Call::Transfer {
            direction,
            descriptor,
            memory,
            position,
            ..
        } => {
            // At most `MAX_TRANSFER`, which fits. The offset −1 is the current position.
            let length = memory.length as u32;
            let offset = position.unwrap_or(u64::MAX);
            match direction {
                Direction::Read => opcode::Read::new(Fd(descriptor), memory.address, length)
                    .offset(offset)
                    .build(),
                Direction::Write => opcode::Write::new(Fd(descriptor), memory.address, length)
                    .offset(offset)
                    .build(),
            }
        }
        Call::Sync { descriptor } => opcode::Fsync::new(Fd(descriptor)).build(),
        // A poll of a noisy descriptor would complete at once.
        Call::Poll { is_noisy: true, .. } => opcode::Timeout::new(&raw const PAUSE).build(),
        Call::Poll {
            descriptor,
            direction,
            ..
        } => opcode::PollAdd::new(Fd(descriptor), direction.events() as u32).build(),
    }
}
