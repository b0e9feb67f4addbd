//! Readers with a line of their own, which are not managed.

use core::{fmt, marker::PhantomData};

use crate::{
    Domain, Progress, TooManyParticipants, moment::next, participant::Participant, place::Place,
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
            place: Place {
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
    pub(crate) place: Place<'p, D>,
}

impl<'p, D: Domain> Reader<'p, D> {
    /// Holds up progress until the guard is dropped, which should be soon. Two stores to a line of
    /// its own, two light fences, and two loads of a line that is seldom written.
    #[inline]
    pub fn delay(&mut self) -> Reading<'_, 'p, D> {
        let place = self.place;
        let current = place.progress.current();
        place.confirm(next(current));
        if place.progress.current() != current {
            begin_again(place);
        }
        Reading {
            place,
            reader: PhantomData,
        }
    }
}

/// Progress was made between the two looks.
#[cold]
fn begin_again<D: Domain>(place: Place<'_, D>) {
    loop {
        let current = place.progress.current();
        place.confirm(next(current));
        if place.progress.current() == current {
            return;
        }
    }
}

impl<D: Domain> Drop for Reader<'_, D> {
    fn drop(&mut self) {
        // Only if a guard was forgotten does this change something.
        self.place.leave();
        self.place.participant.give_back();
    }
}

impl<D: Domain> fmt::Debug for Reader<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader")
            .field(&self.place.participant)
            .finish()
    }
}

/// Progress is held up while this lives. From [`Reader::delay`].
pub struct Reading<'r, 'p, D: Domain> {
    place: Place<'p, D>,
    reader: PhantomData<&'r mut Reader<'p, D>>,
}

impl<D: Domain> Drop for Reading<'_, '_, D> {
    #[inline]
    fn drop(&mut self) {
        self.place.leave();
    }
}

impl<D: Domain> fmt::Debug for Reading<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}
