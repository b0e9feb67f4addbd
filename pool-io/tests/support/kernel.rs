//! What the kernel has.

use std::{io, ptr, sync::OnceLock};

/// Whether the kernel has rings, and permits them. Asks the kernel itself, not the code under test.
pub(crate) fn has_rings() -> bool {
    static REFUSED: OnceLock<Option<io::Error>> = OnceLock::new();

    let refused = REFUSED.get_or_init(|| {
        // SAFETY: the kernel refuses a structure at address zero, or does not know the call.
        unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, ptr::null_mut::<u8>()) };
        let error = io::Error::last_os_error();
        (error.raw_os_error() != Some(libc::EFAULT)).then_some(error)
    });
    if let Some(error) = refused {
        eprintln!("io_uring is refused here ({error}): rings are not tested");
    }
    refused.is_none()
}
