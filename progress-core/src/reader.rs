//! Readers with a line of their own, which are not managed.

use core::{fmt, marker::PhantomData};

use crate::{
    Domain, Progress, TooManyParticipants, active::Registration, moment::next,
    participant::Participant,
};

impl<D: Domain> Progress<D> {
    /// A reader with a line of its own: for threads that are not managed and read often.
    ///
    /// # Errors
    /// [`TooManyParticipants`] if all lines are taken.
    pub fn register_reader(&self) -> Result<Reader<'_, D>, TooManyParticipants> {
        let index = self.take_participant(Participant::take_for_reader)?;
        let participant = &self.participants()[index];
        let progress = self;
        Ok(Reader {
            registration: Registration {
                progress,
                participant,
            },
        })
    }
}

/// Delays progress without touching what other threads write. From [`Progress::register_reader`].
///
/// As [`Progress::delay`], and unlike a [`ManagedThread`](crate::ManagedThread), it neither waits
/// for a thread that [blocks](crate::ManagedThread::block) nor is waited for by it, never leads,
/// and may move from thread to thread. Unlike a delay it takes up a line.
///
/// # Examples
/// ```
/// use progress_core::{Participant, Progress};
/// # use sleep_core::Parker;
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static PROGRESS: Progress<(Core, [Participant<Core>; 1])> =
///     Progress::new([const { Participant::new(Core) }; 1]);
///
/// let mut reader = PROGRESS.register_reader()?;
/// {
///     let _reading = reader.delay();
///     // ... reads of shared structures ...
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
pub struct Reader<'p, D: Domain> {
    pub(crate) registration: Registration<'p, D>,
}

impl<'p, D: Domain> Reader<'p, D> {
    /// Holds up progress until the guard is dropped, which should be soon. Two stores to a line of
    /// its own, two light fences, and two loads of a line that is seldom written.
    #[inline]
    pub fn delay(&mut self) -> Reading<'_, 'p, D> {
        let registration = self.registration;
        let current = registration.progress.current();
        registration.confirm(next(current));
        if registration.progress.current() != current {
            begin_again(registration);
        }
        Reading {
            registration,
            reader: PhantomData,
        }
    }
}

/// Progress was made between the two looks.
#[cold]
fn begin_again<D: Domain>(registration: Registration<'_, D>) {
    loop {
        let current = registration.progress.current();
        registration.confirm(next(current));
        if registration.progress.current() == current {
            return;
        }
    }
}

impl<D: Domain> Drop for Reader<'_, D> {
    fn drop(&mut self) {
        // Only if a guard was forgotten does this change something.
        self.registration.leave();
        self.registration.participant.give_back();
    }
}

impl<D: Domain> fmt::Debug for Reader<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader")
            .field(&self.registration.participant)
            .finish()
    }
}

/// Progress is held up while this lives. From [`Reader::delay`].
pub struct Reading<'r, 'p, D: Domain> {
    registration: Registration<'p, D>,
    reader: PhantomData<&'r mut Reader<'p, D>>,
}

impl<D: Domain> Drop for Reading<'_, '_, D> {
    #[inline]
    fn drop(&mut self) {
        self.registration.leave();
    }
}

impl<D: Domain> fmt::Debug for Reading<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}
