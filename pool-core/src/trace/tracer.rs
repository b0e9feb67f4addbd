//! An observer that keeps events, and what it has kept.

use core::{fmt, marker::PhantomData};

use super::ring::{Record, Ring, TraceSlot};
use crate::metrics::{Clock, Event, Observer};

/// The clock of a trace. A worker reads it at each event that is kept, so it should take a few
/// nanoseconds: a processor's counter rather than a system call.
///
/// # Examples
/// See [`Tracer`].
pub trait TraceClock: 'static {
    /// Returns the time in the clock's own units. Must not unwind, and should not go back.
    fn now() -> u64;
}

/// An observer that keeps a worker's last events, in slots that `S` holds.
///
/// One slot fewer is readable than there are, and the number of slots is rounded down to a power of
/// two. Without slots, it keeps nothing.
///
/// # Examples
/// ```
/// use pool_core::{Event, Observer, trace::{TraceClock, TraceSlot, Tracer}};
///
/// /// A clock that stands still.
/// struct Still;
/// impl TraceClock for Still {
///     fn now() -> u64 {
///         7
///     }
/// }
///
/// static TRACER: Tracer<[TraceSlot; 4], Still> =
///     Tracer::new([const { TraceSlot::new() }; 4]);
/// for victim in 0..5 {
///     TRACER.observe(Event::Steal { victim }, || None);
/// }
/// let events = TRACER.events();
/// assert_eq!(events.overwritten(), 2);
/// let victims: Vec<_> = events
///     .map(|event| match event.event {
///         Event::Steal { victim } => (event.time, victim),
///         other => panic!("{other:?}"),
///     })
///     .collect();
/// assert_eq!(victims, [(7, 2), (7, 3), (7, 4)]);
/// ```
pub struct Tracer<S, C> {
    ring: Ring<S>,
    clock: PhantomData<fn() -> C>,
}

impl<S, C> Tracer<S, C> {
    const_unless_loom! {
        /// Creates a tracer that has kept nothing yet.
        #[must_use]
        pub fn new(slots: S) -> Self {
            Self { ring: Ring::new(slots), clock: PhantomData }
        }
    }
}

impl<S: AsRef<[TraceSlot]>, C> Tracer<S, C> {
    /// Returns the events that are kept at this moment, the oldest one first. Any thread may call
    /// this while the worker continues.
    pub fn events(&self) -> TraceEvents<'_, S> {
        let end = self.ring.written();
        let next = self.ring.oldest(end);
        TraceEvents {
            ring: &self.ring,
            next,
            end,
            overwritten: next,
        }
    }
}

impl<S, C> Observer for Tracer<S, C>
where
    S: AsRef<[TraceSlot]> + Send + Sync + 'static,
    C: TraceClock,
{
    #[inline(always)]
    fn observe(&self, event: Event, _clock: Clock) {
        if !self.ring.is_empty()
            && let Some(record) = Record::new(event, C::now)
        {
            self.ring.push(record);
        }
    }
}

impl<S, C> fmt::Debug for Tracer<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").finish_non_exhaustive()
    }
}

/// An event and its time.
///
/// # Examples
/// See [`Tracer`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TraceEvent {
    /// When it happened, by the [`TraceClock`].
    pub time: u64,
    /// What happened.
    pub event: Event,
}

/// The events that a [`Tracer`] has kept. From [`Tracer::events`].
///
/// Those that the worker overwrites while this goes through them are left out.
///
/// # Examples
/// See [`Tracer`].
pub struct TraceEvents<'t, S> {
    ring: &'t Ring<S>,
    next: usize,
    end: usize,
    overwritten: usize,
}

impl<S> TraceEvents<'_, S> {
    /// Returns how many events were overwritten so far.
    #[must_use]
    pub fn overwritten(&self) -> usize {
        self.overwritten
    }
}

impl<S: AsRef<[TraceSlot]>> Iterator for TraceEvents<'_, S> {
    type Item = TraceEvent;

    fn next(&mut self) -> Option<TraceEvent> {
        while self.next != self.end {
            let record = self.ring.read(self.next);
            self.next = self.next.wrapping_add(1);
            // SAFETY: 1. each name in the ring was null at first, or comes from `Record::new`.
            let event = record.and_then(|record| unsafe { record.event() });
            if let (Some(record), Some(event)) = (record, event) {
                let time = record.time;
                return Some(TraceEvent { time, event });
            }
            self.overwritten = self.overwritten.wrapping_add(1);
        }
        None
    }
}

impl<S> fmt::Debug for TraceEvents<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceEvents")
            .field("left", &self.end.wrapping_sub(self.next))
            .field("overwritten", &self.overwritten)
            .finish_non_exhaustive()
    }
}
