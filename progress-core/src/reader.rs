//! Readers with a participant of their own, which are not managed.

use core::{fmt, marker::PhantomData};

use crate::{
    Domain, Participant, Progress, TooManyParticipants, active::Registration, moment::next,
    unwind::finally,
};

impl<D: Domain> Progress<D> {
    /// Registers a reader, for a thread that is not managed and reads often.
    ///
    /// # Errors
    /// Returns [`TooManyParticipants`] if there is no room for another participant.
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

/// Delays progress without touching what other threads write. Created by
/// [`Progress::register_reader`].
///
/// Unlike a [`ManagedThread`](crate::ManagedThread), and like [`Progress::delay`], a reader neither
/// waits for a thread that [blocks](crate::ManagedThread::block) nor makes it wait, and may move
/// from thread to thread. Unlike a delay it occupies a participant.
///
/// Like the end of any guard, that of a [`Reading`] may make the progress that others wait for: it
/// unparks threads and runs [wake-ups](Progress::wakeup), but no other operations.
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
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
    /// Delays progress until the guard is dropped, which should be soon. Costs two stores to the
    /// reader's own cache line, two light fences, and three loads of a cache line that is rarely
    /// written.
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

/// Confirms again, after progress was made between the two looks.
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
        finally(
            || self.registration.leave_forgotten(false),
            || self.registration.participant.give_back(),
        );
    }
}

impl<D: Domain> fmt::Debug for Reader<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader")
            .field(&self.registration.participant)
            .finish()
    }
}

/// Delays progress while it lives. Created by [`Reader::delay`].
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let mut reader = progress.register_reader()?;
/// let reading = reader.delay();
/// // ... reads of shared structures, while `reading` lives ...
/// drop(reading);
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[must_use = "the delay ends when the guard is dropped"]
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
