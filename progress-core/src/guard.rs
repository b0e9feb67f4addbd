//! The guards under which a thread may read.

use crate::{Active, Delay, Domain, Pinned, Reading};

/// A value whose owner may read what progress frees: [`Delay`], [`Reading`], [`Active`] or
/// [`Pinned`]. References to what is read should borrow from the guard.
///
/// A guard protects only what its own instance frees. A structure that takes a guard from its
/// caller must know that it is of that instance; the example `hash_map` takes its guards itself.
///
/// # Safety
/// 1. As long as the value lives, progress does not come to a moment that is requested meanwhile.
///
/// # Examples
/// ```
/// use progress_core::{Guard, Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// /// Reads something that is freed by progress, under whichever guard the caller has.
/// fn read<'g>(_guard: &'g impl Guard, value: &'g u32) -> &'g u32 {
///     value
/// }
/// let delay = progress.delay();
/// assert_eq!(*read(&delay, &7), 7);
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
///
/// The compiler warns of a guard that is dropped at once, because it protects nothing:
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use progress_core::{Domain, ManagedThread};
/// fn read<D: Domain>(this_thread: &mut ManagedThread<'_, D>) {
///     this_thread.activate();
///     // ... this thread may read nothing here ...
/// }
/// ```
#[doc(alias = "rcu_read_lock")]
pub unsafe trait Guard {}

// SAFETY: obligation 1: a delay stops the second advance until it is dropped.
unsafe impl<D: Domain> Guard for Delay<'_, D> {}

// SAFETY: obligation 1: the participant of a reader stops the second advance likewise.
unsafe impl<D: Domain> Guard for Reading<'_, '_, D> {}

// SAFETY: obligation 1: the participant of a thread stops the second advance until the thread
// updates. An update needs exclusive access to the value, so that every borrow from it has ended.
unsafe impl<D: Domain> Guard for Active<'_, '_, D> {}

// SAFETY: obligation 1: as above, without updates.
unsafe impl<D: Domain> Guard for Pinned<'_, '_, D> {}
