//! The system calls of Windows that the pool makes, as safe functions.
//!
//! The system counts the processor time of a process in steps of 15.6 ms, too coarse to see whether
//! processors were idle between two checks.

use std::{
    ffi::{CStr, c_char, c_void},
    os::windows::io::AsRawHandle as _,
    sync::atomic::AtomicU32,
    thread::JoinHandle,
    time::Duration,
};

use super::Stack;
pub(crate) use super::unknown::{
    call_in_children, num_processors_by_affinity, num_processors_of_machine, process_time,
    registers_at_once, state_of_thread, thread_number, thread_time, threads,
};

/// What the system declares. A crate with the same declarations would be two more packages in the
/// lock file of every program, and missing in those that are older.
mod system {
    use super::{c_char, c_void};

    #[link(name = "kernel32")]
    unsafe extern "system" {
        pub(super) fn FlushProcessWriteBuffers();
        pub(super) fn GetCurrentThreadStackLimits(lowest: *mut usize, end: *mut usize);
        pub(super) fn GetModuleHandleA(name: *const c_char) -> *mut c_void;
        pub(super) fn GetProcAddress(library: *mut c_void, name: *const c_char) -> *mut c_void;
        pub(super) fn WaitForSingleObject(handle: *mut c_void, milliseconds: u32) -> u32;
    }

    // The library exports plain names, and not those that the calling convention of 32 bits makes.
    #[cfg_attr(
        target_arch = "x86",
        link(
            name = "api-ms-win-core-synch-l1-2-0",
            kind = "raw-dylib",
            import_name_type = "undecorated"
        )
    )]
    #[cfg_attr(
        not(target_arch = "x86"),
        link(name = "api-ms-win-core-synch-l1-2-0", kind = "raw-dylib")
    )]
    unsafe extern "system" {
        pub(super) fn WaitOnAddress(
            address: *const c_void,
            compared: *const c_void,
            size: usize,
            milliseconds: u32,
        ) -> i32;
        pub(super) fn WakeByAddressSingle(address: *const c_void);
    }
}

/// Whether a thread can wait for a word in memory.
pub(crate) const fn has_futex() -> bool {
    true
}

/// Sleeps until `word` is woken, if it holds `expected`, and for no longer than `limit`, rounded up
/// to milliseconds.
///
/// Returns early at times: the word holds something else, or the system has its own reasons.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    const WITHOUT_END: u32 = u32::MAX;
    let milliseconds = limit.map_or(WITHOUT_END, |limit| {
        let rounded_up = limit.as_nanos().div_ceil(1_000_000);
        u32::try_from(rounded_up).map_or(WITHOUT_END - 1, |it| it.min(WITHOUT_END - 1))
    });
    // SAFETY: the system reads a word that is borrowed for the whole call, and as many bytes of a
    // value that lives as long.
    unsafe {
        system::WaitOnAddress(
            word.as_ptr().cast(),
            (&raw const expected).cast(),
            size_of::<u32>(),
            milliseconds,
        );
    }
}

/// Wakes one thread that sleeps on `word`.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    // SAFETY: the system takes the address for a name only.
    unsafe { system::WakeByAddressSingle(word.as_ptr().cast()) }
}

/// Asks where the stack of this thread is. What the system has reserved counts, as it grows into
/// that by itself.
pub(crate) fn stack_of_this_thread() -> Option<Stack> {
    let (mut lowest, mut end) = (0, 0);
    // SAFETY: the call writes two numbers, to values that are borrowed for it.
    unsafe { system::GetCurrentThreadStackLimits(&raw mut lowest, &raw mut end) };
    let size = end.checked_sub(lowest)?;
    Some(Stack { lowest, size })
}

/// Whether [`try_join`] returns at once.
pub(crate) const JOINS_AT_ONCE: bool = true;

/// Joins a thread if it has ended, and its thread-locals are destroyed, or else gives it back.
pub(crate) fn try_join(thread: JoinHandle<()>) -> Result<(), JoinHandle<()>> {
    const HAS_ENDED: u32 = 0;
    // SAFETY: the handle lives during the call, which does not wait.
    if unsafe { system::WaitForSingleObject(thread.as_raw_handle(), 0) } != HAS_ENDED {
        return Err(thread);
    }
    // Its panics were handled on the thread.
    _ = thread.join();
    Ok(())
}

/// Whether the process fence is one. Wine has had a function of that name for years that does
/// nothing, so it is not asked there.
pub(crate) fn register_process_fence() -> bool {
    !is_wine()
}

/// Makes each thread of the process execute a fence. There is no error.
pub(crate) fn process_fence() -> bool {
    // SAFETY: the call takes and changes nothing that a program can see.
    unsafe { system::FlushProcessWriteBuffers() };
    true
}

/// Whether the program runs on Wine, which says so by a function that Windows does not have.
fn is_wine() -> bool {
    const LIBRARY: &CStr = c"ntdll.dll";
    const FUNCTION: &CStr = c"wine_get_version";
    // SAFETY: both strings end with a zero. The library is loaded in every process, and stays.
    unsafe {
        let library = system::GetModuleHandleA(LIBRARY.as_ptr());
        !library.is_null() && !system::GetProcAddress(library, FUNCTION.as_ptr()).is_null()
    }
}
