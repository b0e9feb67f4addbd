//! The state that the threads of one instance share.

use core::{fmt, marker::PhantomData, ptr};

use crossbeam_utils::CachePadded;

use sleep_primitives::{AtomicBool, AtomicUsize, AtomicWord, Ordering, RawWord, full_fence};

use crate::{
    Domain, Moment, Participant,
    delays::Delays,
    leader::Scan,
    moment::{FIRST, is_reached, next, number},
    state::{SharedState, State},
    unowned::Unowned,
};

/// Tells when all threads have made progress since some moment: then no thread can still be reading
/// what was taken out of reach before that moment.
///
/// The [`Domain`] chooses the threads' parkers, the storage of their lines, and the fences.
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
/// static PROGRESS: Progress<(Core, [Participant<Core>; 2])> =
///     Progress::new([const { Participant::new(Core) }; 2]);
///
/// let mut this_thread = PROGRESS.register()?;
/// {
///     let mut active = this_thread.activate();
///     // ... reads of shared structures ...
///     let value = active.later();
///     assert!(!PROGRESS.has_reached(value));
///     for _ in 0..3 {
///         active.tick();
///     }
///     assert!(PROGRESS.has_reached(value), "the other line is free");
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
///
/// The lines may be stored elsewhere:
/// ```
/// use progress_core::{Participant, Progress};
/// # use sleep_core::Parker;
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// let mut participants = [Participant::new(Core), Participant::new(Core)];
/// let progress: Progress<(Core, _)> = Progress::new(&mut participants[..]);
/// assert_eq!(progress.participants().len(), 2);
/// ```
///
/// An implementation of `AsRef` is not enough to create an instance: it might return other lines each
/// time, so that the leader does not look at those of threads that read. See [`ParticipantStorage`].
/// ```compile_fail,E0277
/// use progress_core::{Participant, Progress};
/// # use sleep_core::Parker;
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// struct Elsewhere;
/// impl AsRef<[Participant<Core>]> for Elsewhere {
///     fn as_ref(&self) -> &[Participant<Core>] {
///         Box::leak(Box::new([Participant::new(Core)]))
///     }
/// }
/// let progress: Progress<(Core, Elsewhere)> = Progress::new(Elsewhere);
/// ```
///
/// Nor can two instances share lines. The leader of one would mistake values of the other for its own:
/// ```compile_fail,E0277
/// use progress_core::{Participant, Progress};
/// # use sleep_core::Parker;
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// let participants = [Participant::new(Core)];
/// let one: Progress<(Core, &[Participant<Core>])> = Progress::new(&participants[..]);
/// let other: Progress<(Core, &[Participant<Core>])> = Progress::new(&participants[..]);
/// ```
///
/// Source: "Thread Progress" in the documentation of Erlang/OTP's runtime system.
pub struct Progress<D: Domain> {
    pub(crate) shared: CachePadded<Shared>,
    pub(crate) scan: CachePadded<Scan>,
    pub(crate) delays: Delays,
    pub(crate) unowned: Unowned,
    /// The thread that blocks the others: the number of its line plus one, or 0.
    pub(crate) blocker: AtomicUsize,
    pub(crate) participants: D::Participants,
}

/// What every thread reads and few write.
pub(crate) struct Shared {
    pub(crate) state: SharedState,
    /// Whether some thread leads.
    pub(crate) is_led: AtomicBool,
    /// The latest moment that was asked for: there is no need to advance beyond.
    pub(crate) target: AtomicWord,
}

impl<D: Domain> Progress<D> {
    const_unless_loom! {
        /// Creates an instance with lines that no other instance has.
        #[doc(alias = "from_array")]
        #[doc(alias = "from_slice")]
        #[must_use]
        pub fn new(participants: D::Participants) -> Self {
            Self::starting_at(FIRST, participants)
        }
    }

    const_unless_loom! {
        pub(crate) fn starting_at(current: RawWord, participants: D::Participants) -> Self {
            Self {
                shared: CachePadded::new(Shared {
                    state: SharedState::new(current),
                    is_led: AtomicBool::new(false),
                    target: AtomicWord::new(current),
                }),
                scan: CachePadded::new(Scan::new()),
                delays: Delays::new(),
                unowned: Unowned::new(),
                blocker: AtomicUsize::new(0),
                participants,
            }
        }
    }

    /// A moment by which every thread will have let go of what it reads now. Any thread may ask,
    /// also one that is not managed; a full fence.
    pub fn later(&self) -> Moment<'_> {
        // Ordering: pairs with the light fences of `Active`: what the caller took out of reach
        // before is not seen by threads that confirm a value after the one read below.
        full_fence();
        // One advance may be under way already; the next one needs everybody again.
        let value = next(next(self.current()));
        self.raise_target(value);
        self.moment(value)
    }

    /// Notes that somebody may be interested in this value.
    #[inline]
    pub(crate) fn raise_target(&self, value: RawWord) {
        // Ordering: Relaxed here and below, a hint to active leaders. Whoever parks for a value
        // has its own way to be heard (`request_wakeup`).
        let mut latest = self.shared.target.load(Ordering::Relaxed);
        while !is_reached(latest, value) {
            match self.shared.target.compare_exchange_weak(
                latest,
                value,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(other) => latest = other,
            }
        }
    }

    /// Whether somebody may be interested in a value that has not been reached.
    #[inline]
    pub(crate) fn is_target_ahead(&self, current: RawWord) -> bool {
        // Ordering: Relaxed, see above.
        !is_reached(current, self.shared.target.load(Ordering::Relaxed))
    }

    /// Whether all threads have made progress to this moment: then no thread reads any more what
    /// was out of reach when the moment was asked for.
    ///
    /// One load if so. Otherwise the caller makes progress itself, unless another thread does, or
    /// one stands in the way. So a value comes true for any thread that polls, also if all managed
    /// threads wait.
    ///
    /// # Panics
    /// If the value is another instance's.
    #[inline]
    pub fn has_reached(&self, moment: Moment<'_>) -> bool {
        let value = self.raw(moment);
        is_reached(self.current(), value) || self.advance_to(value)
    }

    /// The lines, in their order.
    pub fn participants(&self) -> &[Participant<D::Parker>] {
        self.participants.as_ref()
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.shared.state.load()
    }

    /// The value that all threads have confirmed.
    #[inline]
    pub(crate) fn current(&self) -> RawWord {
        self.state().value()
    }

    pub(crate) fn moment(&self, raw: RawWord) -> Moment<'_> {
        Moment {
            raw,
            instance: ptr::from_ref(&*self.shared).cast(),
            lifetime: PhantomData,
        }
    }

    pub(crate) fn raw(&self, moment: Moment<'_>) -> RawWord {
        assert!(
            moment.instance == ptr::from_ref(&*self.shared).cast(),
            "the moment is of another instance"
        );
        moment.raw
    }
}

/// Runs the operations that belong to no thread. All threads have gone by now, so
/// nobody reads anything.
impl<D: Domain> Drop for Progress<D> {
    fn drop(&mut self) {
        self.unowned.run_all();
    }
}

impl<D: Domain> fmt::Debug for Progress<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Progress")
            .field("current", &number(state.value()))
            // Ordering: Relaxed, for looking on.
            .field("is_led", &self.shared.is_led.load(Ordering::Relaxed))
            .field("is_blocked", &state.is_blocked())
            .field("has_wakeups", &state.has_wakeups())
            .field("delays", &self.delays.counts(state.value()))
            .field("has_operations", &!self.unowned.is_empty())
            .field("participants", &self.participants())
            .finish()
    }
}
