//! What a job's header knows of the job's type: how to run it, and its name for traces.

use core::{
    fmt,
    hash::{Hash, Hasher},
};

use super::Job;

/// A function that runs a job, see [`Job::execute`].
type Execute = unsafe fn(*const ());

/// The type of a job, in the one word of its header.
///
/// Without the feature `trace` the word is the function that runs the job. With it, the word leads
/// to the function and to the type's name, so that a trace can tell jobs apart.
#[derive(Clone, Copy)]
pub(super) struct Runner(Word);

#[cfg(not(feature = "trace"))]
type Word = Execute;
#[cfg(feature = "trace")]
type Word = &'static Named;

/// What the word leads to.
#[cfg(feature = "trace")]
struct Named {
    execute: Execute,
    name: fn() -> &'static str,
}

impl Runner {
    /// Returns the word for jobs of a type that have the name of the type `N`. It is never zero,
    /// and not the end of memory.
    #[inline(always)]
    pub(super) const fn word_of<J: Job, N>() -> *mut () {
        #[cfg(not(feature = "trace"))]
        {
            let _without_name = core::any::type_name::<N>;
            J::execute as *mut ()
        }
        #[cfg(feature = "trace")]
        {
            let named: &'static Named = const {
                &Named {
                    execute: J::execute,
                    name: core::any::type_name::<N>,
                }
            };
            core::ptr::from_ref(named).cast_mut().cast()
        }
    }

    /// # Safety
    /// 1. The word is one of [`word_of`](Self::word_of).
    #[inline(always)]
    pub(super) unsafe fn from_word(word: *mut ()) -> Self {
        #[cfg(not(feature = "trace"))]
        {
            // SAFETY: by obligation 1 it was made from such a function.
            Self(unsafe { core::mem::transmute::<*mut (), Word>(word) })
        }
        #[cfg(feature = "trace")]
        {
            // SAFETY: by obligation 1 it was made from such a reference.
            Self(unsafe { &*word.cast::<Named>() })
        }
    }

    /// Returns the function that runs the job.
    #[inline(always)]
    pub(super) fn execute(self) -> Execute {
        #[cfg(not(feature = "trace"))]
        {
            self.0
        }
        #[cfg(feature = "trace")]
        {
            self.0.execute
        }
    }
}

/// The name of a job's type, which contains the name of its closure. Without the feature `trace`,
/// it is unknown.
///
/// Two names are equal if they have the same text, and two unknown names are equal.
///
/// # Examples
/// ```
/// use pool_core::JobName;
///
/// let name = JobName::UNKNOWN;
/// assert_eq!(name.get(), None);
/// assert_eq!(name, JobName::UNKNOWN);
/// ```
#[derive(Clone, Copy)]
pub struct JobName(#[cfg(feature = "trace")] Option<&'static Named>);

impl JobName {
    /// The name is not known.
    pub const UNKNOWN: Self = Self(
        #[cfg(feature = "trace")]
        None,
    );

    /// Returns the name as [`type_name`](core::any::type_name) gives it.
    #[must_use]
    pub fn get(self) -> Option<&'static str> {
        #[cfg(not(feature = "trace"))]
        {
            None
        }
        #[cfg(feature = "trace")]
        {
            self.0.map(|named| (named.name)())
        }
    }
}

#[cfg(feature = "trace")]
impl JobName {
    pub(super) fn of(runner: Runner) -> Self {
        Self(Some(runner.0))
    }
}

#[cfg(any(test, feature = "trace"))]
impl JobName {
    /// Returns a word for a trace.
    pub(crate) fn into_word(self) -> *mut () {
        #[cfg(not(feature = "trace"))]
        {
            core::ptr::null_mut()
        }
        #[cfg(feature = "trace")]
        {
            let word = self.0.map(|named| core::ptr::from_ref(named).cast_mut());
            word.unwrap_or(core::ptr::null_mut()).cast()
        }
    }

    /// # Safety
    /// 1. The word is one of [`into_word`](Self::into_word).
    pub(crate) unsafe fn from_word(word: *mut ()) -> Self {
        #[cfg(not(feature = "trace"))]
        {
            let _ = word;
            Self::UNKNOWN
        }
        #[cfg(feature = "trace")]
        {
            // SAFETY: by obligation 1 it is null, or was made from such a reference.
            Self(unsafe { word.cast::<Named>().as_ref() })
        }
    }
}

impl PartialEq for JobName {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for JobName {}

impl Hash for JobName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl fmt::Debug for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get().unwrap_or("unknown"))
    }
}
