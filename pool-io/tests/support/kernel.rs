//! What the kernel has.

use std::{io, ptr, sync::OnceLock};

/// The oldest kernel whose rings suffice.
const LEAST: [u32; 2] = [6, 1];

/// Whether the kernel has rings that suffice, and permits them. Asks the kernel itself, not the
/// code under test.
pub(crate) fn has_rings() -> bool {
    static REFUSED: OnceLock<Option<io::Error>> = OnceLock::new();

    let refused = REFUSED.get_or_init(|| {
        // SAFETY: the kernel refuses a structure at address zero, or does not know the call.
        unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, ptr::null_mut::<u8>()) };
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::EFAULT) && version() < LEAST {
            return Some(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        (error.raw_os_error() != Some(libc::EFAULT)).then_some(error)
    });
    if let Some(error) = refused {
        eprintln!("io_uring is refused here ({error}): rings are not tested");
    }
    refused.is_none()
}

/// Returns the first two numbers of the kernel's version.
fn version() -> [u32; 2] {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = text
        .split(['.', '-'])
        .map(|number| number.parse().unwrap_or(0));
    [(); 2].map(|()| numbers.next().unwrap_or(0))
}
