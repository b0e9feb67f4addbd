//! The calls of macOS and the other systems of Apple that the pool makes, as safe functions.
//!
//! A process cannot ask for fences of its other threads here, so that workers make their own.

use std::{
    ffi::{CStr, c_int, c_void},
    mem,
    sync::atomic::AtomicU32,
    time::Duration,
};

use super::Stack;
pub(crate) use super::unknown::{
    JOINS_AT_ONCE, num_processors_by_affinity, num_processors_of_machine, process_fence,
    register_process_fence, registers_at_once, state_of_thread, thread_number, thread_time,
    threads, try_join,
};
use crate::sync::First;

/// What the system declares. The C library's crate has some of it, in its later versions; an old
/// lock file must do.
mod system {
    use super::{CStr, c_int, c_void};

    unsafe extern "C" {
        pub(super) fn dlsym(library: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void;
        pub(super) fn pthread_self() -> *mut c_void;
        /// The end of the stack: the address above its first byte.
        pub(super) fn pthread_get_stackaddr_np(thread: *mut c_void) -> *mut c_void;
        pub(super) fn pthread_get_stacksize_np(thread: *mut c_void) -> usize;
        pub(super) fn pthread_atfork(
            before: Option<unsafe extern "C" fn()>,
            in_parent: Option<unsafe extern "C" fn()>,
            in_child: Option<unsafe extern "C" fn()>,
        ) -> c_int;
        pub(super) fn clock_gettime_nsec_np(clock: c_int) -> u64;
    }

    /// `os_sync_wait_on_address`.
    pub(super) type Wait =
        unsafe extern "C" fn(address: *mut c_void, compared: u64, size: usize, flags: u32) -> c_int;
    /// `os_sync_wait_on_address_with_timeout`.
    pub(super) type WaitWithLimit = unsafe extern "C" fn(
        address: *mut c_void,
        compared: u64,
        size: usize,
        flags: u32,
        clock: u32,
        nanoseconds: u64,
    ) -> c_int;
    /// `os_sync_wake_by_address_any`.
    pub(super) type Wake =
        unsafe extern "C" fn(address: *mut c_void, size: usize, flags: u32) -> c_int;

    pub(super) const WAIT: &CStr = c"os_sync_wait_on_address";
    pub(super) const WAIT_WITH_LIMIT: &CStr = c"os_sync_wait_on_address_with_timeout";
    pub(super) const WAKE: &CStr = c"os_sync_wake_by_address_any";
    /// The word is private to the process.
    pub(super) const FLAGS_NONE: u32 = 0;
    /// The clock that stands still while the machine sleeps, the only one that limits may name.
    pub(super) const OS_CLOCK_MACH_ABSOLUTE_TIME: u32 = 32;
    pub(super) const CLOCK_PROCESS_CPUTIME_ID: c_int = 12;
    /// All libraries of the process.
    pub(super) const RTLD_DEFAULT: isize = -2;
}

/// The functions by which a thread waits for a word in memory. They came with macOS 14.4 and iOS
/// 17.4; a program that named them would not start on older systems.
#[derive(Clone, Copy)]
struct Futex {
    wait: system::Wait,
    wait_with_limit: system::WaitWithLimit,
    wake: system::Wake,
}

impl Futex {
    /// Looks the functions up once in a process.
    fn get() -> Option<Self> {
        static FUTEX: First<Option<Futex>> = First::new();
        *FUTEX.get_or_set(|| {
            // SAFETY: the system declares each function with the type of its field.
            unsafe {
                Some(Self {
                    wait: mem::transmute::<*mut c_void, system::Wait>(look_up(system::WAIT)?),
                    wait_with_limit: mem::transmute::<*mut c_void, system::WaitWithLimit>(look_up(
                        system::WAIT_WITH_LIMIT,
                    )?),
                    wake: mem::transmute::<*mut c_void, system::Wake>(look_up(system::WAKE)?),
                })
            }
        })
    }
}

/// Returns the function of a name, which is not null.
fn look_up(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero, and the handle is the one that stands for all libraries.
    let function = unsafe {
        system::dlsym(
            std::ptr::without_provenance_mut(system::RTLD_DEFAULT.cast_unsigned()),
            name.as_ptr(),
        )
    };
    (!function.is_null()).then_some(function)
}

/// Whether a thread can wait for a word in memory.
pub(crate) fn has_futex() -> bool {
    Futex::get().is_some()
}

/// Sleeps until `word` is woken, if it holds `expected`, and for no longer than `limit`.
///
/// Returns early at times: the word holds something else, or a signal came.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    /// The system refuses limits that it cannot count to.
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    let Some(futex) = Futex::get() else {
        return std::thread::yield_now();
    };
    let address = word.as_ptr().cast();
    let compared = u64::from(expected);
    // SAFETY: the system reads a word that is borrowed for the whole call.
    unsafe {
        match limit.map(|limit| limit.min(LONGEST).as_nanos() as u64) {
            None => (futex.wait)(address, compared, size_of::<u32>(), system::FLAGS_NONE),
            // The system takes 0 for a mistake.
            Some(0) => 0,
            Some(nanoseconds) => (futex.wait_with_limit)(
                address,
                compared,
                size_of::<u32>(),
                system::FLAGS_NONE,
                system::OS_CLOCK_MACH_ABSOLUTE_TIME,
                nanoseconds,
            ),
        };
    }
}

/// Wakes one thread that sleeps on `word`.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    if let Some(futex) = Futex::get() {
        // SAFETY: the system takes the address for a name only.
        unsafe { (futex.wake)(word.as_ptr().cast(), size_of::<u32>(), system::FLAGS_NONE) };
    }
}

/// Returns how much processor time all threads of this process have used. None if the system does
/// not say.
pub(crate) fn process_time() -> Option<Duration> {
    // SAFETY: the call takes and returns a number.
    let nanoseconds = unsafe { system::clock_gettime_nsec_np(system::CLOCK_PROCESS_CPUTIME_ID) };
    (nanoseconds > 0).then_some(Duration::from_nanos(nanoseconds))
}

/// Asks where the stack of this thread is.
#[cold]
pub(crate) fn stack_of_this_thread() -> Option<Stack> {
    // SAFETY: the calls read what the system knows of the thread that makes them.
    let (end, size) = unsafe {
        let this = system::pthread_self();
        (
            system::pthread_get_stackaddr_np(this).addr(),
            system::pthread_get_stacksize_np(this),
        )
    };
    let lowest = end.checked_sub(size)?;
    Some(Stack { lowest, size })
}

/// Registers a handler that each child of this process calls, on its only thread, before `fork`
/// returns. Returns false if there is no memory for that.
pub(crate) fn call_in_children(handler: unsafe extern "C" fn()) -> bool {
    // SAFETY: the handler is a function of this library, which stays in the process.
    unsafe { system::pthread_atfork(None, None, Some(handler)) == 0 }
}
