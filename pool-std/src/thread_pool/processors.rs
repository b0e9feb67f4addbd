//! How many processors this process may use.

use std::{
    num::NonZero,
    sync::TryLockError,
    thread,
    time::{Duration, Instant},
};

use crate::{sync::Mutex, system};

/// Returns how many processors the calling thread may use, by its affinity and by the quota of its
/// group. None if the system does not say.
///
/// On Linux the standard library opens several files for the quota, which takes longer than the
/// start of a thread. So an answer counts for a second, as long as the affinity is the same. Other
/// systems are asked each time.
pub(crate) fn count() -> Option<usize> {
    /// For how long an answer counts.
    const AGE: Duration = Duration::from_secs(1);

    struct Answer {
        time: Instant,
        by_affinity: usize,
        count: usize,
    }

    static LAST: Mutex<Option<Answer>> = Mutex::new(None);

    let Some(by_affinity) = system::num_processors_by_affinity() else {
        return ask();
    };
    // In a child of a process whose other threads were here, the lock may be held for good.
    let mut last = match LAST.try_lock() {
        Ok(last) => last,
        Err(TryLockError::Poisoned(last)) => last.into_inner(),
        Err(TryLockError::WouldBlock) => return ask(),
    };
    let known = last.as_ref();
    if let Some(known) = known.filter(|it| it.by_affinity == by_affinity && it.time.elapsed() < AGE)
    {
        return Some(known.count);
    }
    let count = ask()?;
    *last = Some(Answer {
        time: Instant::now(),
        by_affinity,
        count,
    });
    Some(count)
}

/// Returns how many processors the machine has, as far as is known.
pub(crate) fn of_machine() -> Option<usize> {
    system::num_processors_of_machine().or_else(ask)
}

/// Asks the system, however new the last answer is.
pub(crate) fn ask() -> Option<usize> {
    thread::available_parallelism().ok().map(NonZero::get)
}

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn counts_as_the_standard_library_does() {
        assert_eq!(count(), ask());
        assert_eq!(count(), ask(), "the second answer is the same");
    }

    /// A thread that is moved to one processor builds pools for one.
    #[test]
    fn a_new_affinity_counts_at_once() {
        let before = count();
        let pinned = thread::spawn(|| {
            crate::system::pin_to_first_processor();
            count()
        });
        assert_eq!(pinned.join().unwrap(), Some(1));
        assert_eq!(count(), before);
    }
}
