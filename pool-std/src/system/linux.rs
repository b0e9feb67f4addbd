//! The system calls of Linux and Android that the pool makes, as safe functions.
//!
//! They go through `libc::syscall` with numbers that every libc of the last years has, so that the
//! requirement in the manifest is met by the `libc` of an old lock file.

#[cfg(any(target_env = "gnu", target_env = "musl"))]
use std::{
    ffi::c_void,
    os::unix::thread::{JoinHandleExt as _, RawPthread},
    thread::JoinHandle,
};
use std::{
    fs, io, mem::MaybeUninit, os::unix::fs::MetadataExt as _, ptr, sync::atomic::AtomicU32,
    time::Duration,
};

use libc::{c_int, c_long, c_ulong};

#[cfg(not(any(target_env = "gnu", target_env = "musl")))]
pub(crate) use super::unknown::{JOINS_AT_ONCE, try_join};
use super::{Stack, ThreadState};

/// A duration as the kernel reads it in a futex call.
#[repr(C)]
struct Timespec<T> {
    seconds: T,
    nanoseconds: T,
}

/// Whether the kernel reads a [`Timespec`] of two 64-bit numbers. The system call with the old
/// number reads two of 32 bits on every 32-bit target, whatever the C library calls a `timespec`;
/// the exceptions are x32 and targets that are so young that they have only `futex_time64`.
const TIMESPEC_IS_WIDE: bool = cfg!(target_pointer_width = "64")
    || cfg!(target_arch = "x86_64")
    || libc::SYS_futex == FUTEX_TIME64;
/// The number of `futex_time64`, the same on every architecture that has the call.
const FUTEX_TIME64: c_long = 422;

/// Whether a thread can wait for a word in memory.
pub(crate) const fn has_futex() -> bool {
    true
}

/// Sleeps until `word` is woken, if it holds `expected`, and for no longer than `limit`.
///
/// Returns early at times: the word holds something else, or a signal came.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    const OPERATION: c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let wide = limit.map(|limit| Timespec {
        seconds: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: i64::from(limit.subsec_nanos()),
    });
    let narrow = limit.map(|limit| Timespec {
        seconds: i32::try_from(limit.as_secs()).unwrap_or(i32::MAX),
        nanoseconds: limit.subsec_nanos().cast_signed(),
    });
    let limit: *const () = if TIMESPEC_IS_WIDE {
        wide.as_ref().map_or(ptr::null(), ptr::from_ref).cast()
    } else {
        narrow.as_ref().map_or(ptr::null(), ptr::from_ref).cast()
    };
    // SAFETY: The kernel reads a word that is borrowed for the whole call, and a duration that
    // lives as long, in the kernel's own layout, or none.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, expected, limit);
    }
}

/// Wakes one thread that sleeps on `word`.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    const OPERATION: c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: The kernel takes the address for a name only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, 1_u32);
    }
}

/// Returns the number of the calling thread in the system.
pub(crate) fn thread_number() -> Option<i32> {
    // SAFETY: The call takes and changes nothing.
    let number: c_long = unsafe { libc::syscall(libc::SYS_gettid) };
    i32::try_from(number).ok()
}

/// Returns the numbers of the threads of this process, or none if the system does not say.
pub(crate) fn threads() -> Vec<i32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    let number = |thread: io::Result<fs::DirEntry>| thread.ok()?.file_name().to_str()?.parse().ok();
    threads.filter_map(number).collect()
}

/// Returns what a thread of this process does. None if the system does not say.
pub(crate) fn state_of_thread(thread: i32) -> Option<ThreadState> {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
    // The name of the thread is in parentheses, and may contain some.
    let (_, state) = stat.rsplit_once(')')?;
    Some(match state.trim_start().chars().next()? {
        'R' => ThreadState::Running,
        'D' => ThreadState::Kept,
        'S' => ThreadState::Sleeping,
        _ => ThreadState::Stopped,
    })
}

/// Returns how much processor time a thread of this process has used. None if the system does not
/// say.
pub(crate) fn thread_time(thread: i32) -> Option<Duration> {
    // The kernel's number for the clock of one thread, which the C library has a name for only if
    // its own handle of the thread is known.
    const CLOCK_OF_THREAD: i32 = 0b110;
    time_of((!thread << 3) | CLOCK_OF_THREAD)
}

/// Returns how much processor time all threads of this process have used. None if the system does
/// not say.
pub(crate) fn process_time() -> Option<Duration> {
    time_of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn time_of(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: The call writes to a value that is borrowed for it, of the type that the C library
    // declares.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    (result == 0).then_some(Duration::new(seconds, nanoseconds))
}

/// Returns on how many processors the calling thread may run, by its affinity. None on machines
/// with more than a thousand.
pub(crate) fn num_processors_by_affinity() -> Option<usize> {
    let count: u32 = affinity()?.iter().map(|word| word.count_ones()).sum();
    usize::try_from(count).ok()
}

/// Returns how many processors the machine has, whether this process may use them or not.
///
/// The function `sysconf` is no help: that of musl asks for the affinity.
pub(crate) fn num_processors_of_machine() -> Option<usize> {
    let present = fs::read_to_string("/sys/devices/system/cpu/present").ok()?;
    count_in_ranges(present.trim_end()).filter(|&count| count > 0)
}

/// Returns how many numbers there are in a list of ranges, such as `0-3,8`.
fn count_in_ranges(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').map(count).sum()
}

/// Processors, a bit each, as the system reads and writes them.
pub(crate) type Processors = [c_ulong; 1024 / c_ulong::BITS as usize];

/// Returns the processors on which the calling thread may run. None if the machine has more.
pub(crate) fn affinity() -> Option<Processors> {
    let mut set: Processors = Default::default();
    // SAFETY: The call writes at most as many bytes as it is told, to an array that is borrowed for
    // it.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), (&raw mut set).cast()) };
    (result == 0).then_some(set)
}

/// Lets the calling thread run on these processors, and on no other ones. Returns whether the
/// system does so.
#[cfg(any(test, feature = "pinning"))]
pub(crate) fn set_affinity(set: &Processors) -> bool {
    // SAFETY: The call reads as many bytes as it is told, from an array that is borrowed for it.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(set), ptr::from_ref(set).cast()) };
    result == 0
}

/// Lets the calling thread run on the first processor that it may use, and on no other one.
#[cfg(test)]
pub(crate) fn pin_to_first_processor() {
    let mut set = affinity().expect("the machine is small");
    let first = set.iter().position(|&word| word != 0).expect("it runs");
    let lowest = set[first] & set[first].wrapping_neg();
    set.fill(0);
    set[first] = lowest;
    assert!(set_affinity(&set), "{}", std::io::Error::last_os_error());
}

/// Asks where the stack of this thread is. For the first thread of a process that takes some ten
/// microseconds.
#[cold]
pub(crate) fn stack_of_this_thread() -> Option<Stack> {
    let mut attributes = MaybeUninit::uninit();
    let (mut lowest, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the calls write where the pointers lead. The attributes are destroyed once, if they
    // were made. `is_first_thread`: 1. they were made, for this thread.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let made = attributes.as_mut_ptr();
        let answer = libc::pthread_attr_getstack(made, &raw mut lowest, &raw mut size);
        #[cfg(target_env = "musl")]
        let grows = is_first_thread(made);
        libc::pthread_attr_destroy(made);
        if answer != 0 {
            return None;
        }
        #[cfg(target_env = "musl")]
        if grows {
            return up_to_the_limit(lowest.addr() + size);
        }
    }
    Some(Stack {
        lowest: lowest.addr(),
        size,
    })
}

/// Whether these are the attributes of the first thread of a process, of whose stack musl knows
/// only the part that is there so far. The C library has made no guard for it. In a child of
/// `fork`, a thread with a guard may have the number of the process.
///
/// # Safety
/// 1. The attributes are those of this thread, and were made.
#[cfg(target_env = "musl")]
unsafe fn is_first_thread(attributes: *const libc::pthread_attr_t) -> bool {
    unsafe extern "C" {
        fn pthread_attr_getguardsize(
            attributes: *const libc::pthread_attr_t,
            size: *mut usize,
        ) -> c_int;
    }
    let mut guard = 0;
    // SAFETY: by obligation 1, and the call writes to a value that is borrowed for it.
    let answer = unsafe { pthread_attr_getguardsize(attributes, &raw mut guard) };
    // SAFETY: the call has no requirements.
    answer == 0 && guard == 0 && thread_number() == Some(unsafe { libc::getpid() })
}

/// Returns the stack that ends at an address and may grow up to the limit of the process, or `None`
/// if there is no limit.
#[cfg(target_env = "musl")]
fn up_to_the_limit(end: usize) -> Option<Stack> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call writes to a value that is borrowed for it.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    let has_limit = result == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
    let size = usize::try_from(limit.rlim_cur).ok().filter(|_| has_limit)?;
    let lowest = end.checked_sub(size)?;
    Some(Stack { lowest, size })
}

/// Whether [`try_join`] returns at once.
#[cfg(any(target_env = "gnu", target_env = "musl"))]
pub(crate) const JOINS_AT_ONCE: bool = true;

/// Joins a thread if it has ended, and its thread-locals are destroyed, or else gives it back.
#[cfg(any(target_env = "gnu", target_env = "musl"))]
pub(crate) fn try_join(thread: JoinHandle<()>) -> Result<(), JoinHandle<()>> {
    unsafe extern "C" {
        fn pthread_tryjoin_np(thread: RawPthread, result: *mut *mut c_void) -> c_int;
    }
    // SAFETY: the handle says that the thread is neither joined nor detached. No result is asked
    // for.
    if unsafe { pthread_tryjoin_np(thread.as_pthread_t(), ptr::null_mut()) } != 0 {
        return Err(thread);
    }
    // The system has forgotten the thread, and so must the handle, which would detach it.
    _ = thread.into_pthread_t();
    Ok(())
}

/// Registers a handler that each child of this process calls, on its only thread, before `fork`
/// returns. Returns false if there is no memory for that.
pub(crate) fn call_in_children(handler: unsafe extern "C" fn()) -> bool {
    // SAFETY: the handler is a function of this library, which glibc unregisters with the library.
    unsafe { libc::pthread_atfork(None, None, Some(handler)) == 0 }
}

/// Registers the process for process fences. Returns false if the kernel does not have them
/// (`ENOSYS`), or a filter forbids them (any error that the filter names).
pub(crate) fn register_process_fence() -> bool {
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;
    membarrier(REGISTER_PRIVATE_EXPEDITED)
}

/// Makes each thread of the process execute a fence. Returns false if the system refuses what it
/// has granted before.
pub(crate) fn process_fence() -> bool {
    const PRIVATE_EXPEDITED: c_int = 1 << 3;
    membarrier(PRIVATE_EXPEDITED)
}

/// Whether this is the only thread: else the kernel waits until all processors have scheduled.
pub(crate) fn registers_at_once() -> bool {
    // The directory has a link for each thread, one for itself and one for its parent.
    fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() <= 3)
}

/// Makes a system call with a command from `linux/membarrier.h`. Returns whether it succeeds.
fn membarrier(command: c_int) -> bool {
    // SAFETY: The call takes numbers only, and changes nothing that the program can see.
    let result: c_long = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    result == 0
}

#[cfg(test)]
mod tests {
    use std::{io, time::Instant};

    use super::*;

    #[test]
    fn counts_the_numbers_of_ranges() {
        let lists = [("0", 1), ("0-1", 2), ("0-3,8", 5), ("2,4-5,7", 4)];
        for (list, count) in lists {
            assert_eq!(count_in_ranges(list), Some(count), "{list}");
        }
        for bad in ["", "a", "3-1", "0-", "0-1-2", "0,,1"] {
            assert_eq!(count_in_ranges(bad), None, "{bad}");
        }
        let of_machine = num_processors_of_machine().expect("Linux has it");
        assert!(of_machine >= num_processors_by_affinity().unwrap());
    }

    // With a limit that the kernel misreads, the thread would sleep without end, or not at all.
    #[test]
    fn a_wait_on_a_futex_ends_at_its_limit() {
        const LIMIT: Duration = Duration::from_millis(1_020);
        let word = AtomicU32::new(0);
        let start = Instant::now();
        // A signal may end a wait early.
        while let Some(rest) = LIMIT
            .checked_sub(start.elapsed())
            .filter(|rest| !rest.is_zero())
        {
            let before = Instant::now();
            futex_wait(&word, 0, Some(rest));
            assert!(
                before.elapsed() >= rest
                    || io::Error::last_os_error().raw_os_error() == Some(libc::EINTR),
                "the kernel did not wait for {rest:?}: {}",
                io::Error::last_os_error()
            );
        }
    }
}
