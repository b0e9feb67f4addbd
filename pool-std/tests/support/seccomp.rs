//! Filters of system calls.

use std::{io, ptr};

/// Makes the kernel answer each `membarrier` of any thread of this process with `action`, until the
/// process ends.
pub(crate) fn forbid_membarrier(action: u32) -> io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        // The number of the system call is the first field of what a filter sees.
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_EQUAL, libc::SYS_membarrier as u32, 0, 1),
        instruction(RETURN, action, 0, 0),
        instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: The arguments are numbers.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: The kernel reads the program, which lives until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            ptr::from_ref(&program),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether the kernel filters system calls, and knows this action: a user-mode emulator does not.
pub(crate) fn has_action(action: u32) -> bool {
    // SAFETY: The kernel reads the action, which lives until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            ptr::from_ref(&action),
        )
    };
    result == 0
}
