//! `bcryptprimitives.dll` for versions of Wine that do not have it. Rust's standard library asks it
//! for random numbers, without which no hash map can be made. Only the lane `windows` builds it.

#![no_std]

#[link(name = "advapi32")]
unsafe extern "system" {
    /// An older function for the same.
    fn SystemFunction036(buffer: *mut u8, length: u32) -> u8;
}

/// Fills a buffer with random bytes. Returns whether it could.
///
/// # Safety
/// 1. As many bytes as `length` says can be written at `buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn ProcessPrng(buffer: *mut u8, length: usize) -> i32 {
    let Ok(length) = u32::try_from(length) else {
        return 0;
    };
    // SAFETY: obligation 1.
    i32::from(unsafe { SystemFunction036(buffer, length) })
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
