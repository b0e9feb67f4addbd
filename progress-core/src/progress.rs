//! The state that the threads of one instance share.

use core::{fmt, marker::PhantomData, ptr};

use crossbeam_utils::CachePadded;

use sleep_primitives::{AtomicBool, AtomicUsize, AtomicWord, Ordering, RawWord, full_fence};

use crate::{
    Domain, Moment, Participant,
    delay::Delays,
    leader::Scan,
    moment::{FIRST, is_reached, next, number},
    state::{SharedState, State},
    unowned::Unowned,
};

/// Tells when all threads have made progress since some moment: then no thread can still be reading
/// a value that was unlinked before that moment.
///
/// The [`Domain`] chooses the threads' parkers, the storage of their participants, and the fences.
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
/// static PROGRESS: Progress<(Core, [Participant<Core>; 2])> =
///     Progress::new([const { Participant::new(Core) }; 2]);
///
/// let mut this_thread = PROGRESS.register()?;
/// {
///     let mut active = this_thread.activate();
///     // ... reads of shared structures ...
///     let moment = active.later();
///     assert!(!PROGRESS.has_reached(moment));
///     for _ in 0..3 {
///         active.tick();
///     }
///     assert!(PROGRESS.has_reached(moment), "the other participant is free");
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
///
/// The participants may be stored elsewhere:
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let mut participants = [Participant::new(Core), Participant::new(Core)];
/// let progress: Progress<(Core, _)> = Progress::new(&mut participants[..]);
/// assert_eq!(progress.participants().len(), 2);
/// ```
///
/// An implementation of `AsRef` is not enough to create an instance: it might return other
/// participants each time, so that the leader does not look at those of threads that read. See
/// [`ParticipantStorage`](crate::ParticipantStorage).
/// ```compile_fail,E0277
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
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
/// Nor can two instances share participants. The leader of one would mistake values of the other
/// for its own:
/// ```compile_fail,E0277
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
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
    /// The thread that blocks the others: the index of its participant plus one, or 0.
    pub(crate) blocker: AtomicUsize,
    pub(crate) participants: D::Participants,
}

/// The fields that every thread reads and few threads write.
pub(crate) struct Shared {
    pub(crate) state: SharedState,
    /// Whether a thread leads.
    pub(crate) is_led: AtomicBool,
    /// The latest value that was requested. There is no need to advance beyond it.
    pub(crate) target: AtomicWord,
}

impl<D: Domain> Progress<D> {
    const_unless_loom! {
        /// Creates an instance with participants that no other instance has.
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

    /// Returns a moment by which every thread will have released what it is reading now: the end of
    /// a grace period that begins here. Any thread may call this, managed or not. Costs a full
    /// fence.
    pub fn later(&self) -> Moment<'_> {
        // Ordering: pairs with the light fences of `Active`: a thread that confirms a value after
        // the one read below does not see what the caller took out of reach before.
        full_fence();
        // One advance may be under way already. The next one needs all threads again.
        let value = next(next(self.current()));
        self.raise_target(value);
        self.moment(value)
    }

    /// Notes that a thread may be interested in this value.
    #[inline]
    pub(crate) fn raise_target(&self, value: RawWord) {
        // Ordering: Relaxed here and below, a hint to active leaders. A thread that parks for a
        // value publishes a request of its own (`request_wakeup`).
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

    /// Whether a thread may be interested in a value that is not reached.
    #[inline]
    pub(crate) fn is_target_ahead(&self, current: RawWord) -> bool {
        // Ordering: Relaxed, see above.
        !is_reached(current, self.shared.target.load(Ordering::Relaxed))
    }

    /// Whether all threads have made progress to this moment. Then no thread reads any more what
    /// was out of reach when the moment was requested.
    ///
    /// Costs one load if so. Otherwise, the caller makes progress itself, unless another thread
    /// does, or a thread prevents it. So a polling thread sees a moment come even if all managed
    /// threads wait.
    ///
    /// # Panics
    /// Panics if the moment belongs to another instance.
    #[inline]
    pub fn has_reached(&self, moment: Moment<'_>) -> bool {
        let value = self.raw(moment);
        is_reached(self.current(), value) || self.advance_to(value)
    }

    /// Returns the participants, in their order.
    pub fn participants(&self) -> &[Participant<D::Parker>] {
        self.participants.as_ref()
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.shared.state.load()
    }

    /// Returns the value that all threads have confirmed.
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

/// Runs the operations that belong to no thread. All threads have ended by now, so that none reads.
impl<D: Domain> Drop for Progress<D> {
    fn drop(&mut self) {
        // The next instance may have the same participants, which must not delay it.
        self.participants().iter().for_each(Participant::reset);
        self.unowned.run_all();
    }
}

impl<D: Domain> fmt::Debug for Progress<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Progress")
            .field("current", &number(state.value()))
            // Ordering: Relaxed; debug output only.
            .field("is_led", &self.shared.is_led.load(Ordering::Relaxed))
            .field("is_blocked", &state.is_blocked())
            .field("has_wakeups", &state.has_wakeups())
            .field("delays", &self.delays.counts(state.value()))
            .field("has_operations", &!self.unowned.is_empty())
            .field("participants", &self.participants())
            .finish()
    }
}
