//! Which events are kept, and how one becomes three words and back.

use core::ptr;

use super::ring::Record;
use crate::{
    job::JobName,
    metrics::{Event, SearchEnd, WokenBy},
};

/// Defines the kinds of events that are kept. None is zero.
macro_rules! kinds {
    ($($name:ident = $number:literal,)*) => {
        $(const $name: u8 = $number;)*
    };
}

kinds! {
    ENTER = 1,
    LEAVE = 2,
    IDLE = 3,
    ACTIVE = 4,
    SLEEP = 5,
    WAKE = 6,
    FRUITLESS_WAKE = 7,
    GUEST_ARRIVED = 8,
    GUEST_LEFT = 9,
    JOB = 10,
    JOB_END = 11,
    POST = 12,
    DEQUE_FULL = 13,
    STEAL = 14,
    REVOCATION = 15,
    MOVED = 16,
    BLOCKED = 17,
    UNBLOCKED = 18,
}

/// Above the kind, the word has a number.
const KIND_BITS: u32 = u8::BITS;
/// The greatest number that fits beside a kind.
const MAX_NUMBER: usize = usize::MAX >> KIND_BITS;

impl Record {
    /// Makes a record of an event, if it is one that is kept.
    #[inline(always)]
    pub(super) fn new(event: Event, now: impl FnOnce() -> u64) -> Option<Self> {
        let (kind, number) = match event {
            Event::Enter => (ENTER, 0),
            Event::Leave => (LEAVE, 0),
            Event::Idle => (IDLE, 0),
            Event::Active(why) => (ACTIVE, why as usize),
            Event::Sleep => (SLEEP, 0),
            Event::Wake(by) => return Some(Self::of_wake(by, now())),
            Event::FruitlessWake => (FRUITLESS_WAKE, 0),
            Event::GuestArrived => (GUEST_ARRIVED, 0),
            Event::GuestLeft => (GUEST_LEFT, 0),
            Event::Job(name) => {
                let data = name.into_word();
                return Some(Self::with_data(JOB, 0, data, now()));
            }
            Event::JobEnd => (JOB_END, 0),
            Event::Post { count } => (POST, count),
            Event::DequeFull => (DEQUE_FULL, 0),
            Event::Steal { victim } => (STEAL, victim),
            Event::Revocation { victim } => (REVOCATION, victim),
            Event::Moved { count } => (MOVED, count),
            Event::Blocked => (BLOCKED, 0),
            Event::Unblocked => (UNBLOCKED, 0),
            Event::Search | Event::StealAttempt { .. } | Event::StealRetry { .. } => return None,
        };
        Some(Self::with_data(kind, number, ptr::null_mut(), now()))
    }

    #[inline(always)]
    fn with_data(kind: u8, number: usize, data: *mut (), time: u64) -> Self {
        let what = usize::from(kind) | number.min(MAX_NUMBER) << KIND_BITS;
        Self { time, what, data }
    }

    /// A wake-up has two times: its own, and how long ago it was given.
    fn of_wake(by: WokenBy, time: u64) -> Self {
        let delay = match by.at {
            0 => usize::MAX,
            at => usize::try_from(time.saturating_sub(at)).unwrap_or(usize::MAX),
        };
        let waker = usize::try_from(by.waker).unwrap_or(0);
        Self::with_data(WAKE, waker, ptr::without_provenance_mut(delay), time)
    }

    /// Returns the event, or `None` if the record holds none.
    ///
    /// # Safety
    /// 1. The record is one that [`new`](Self::new) has made, or all its fields are zero.
    pub(super) unsafe fn event(self) -> Option<Event> {
        let (kind, number) = (self.what as u8, self.what >> KIND_BITS);
        Some(match kind {
            ENTER => Event::Enter,
            LEAVE => Event::Leave,
            IDLE => Event::Idle,
            ACTIVE => Event::Active(match number {
                0 => SearchEnd::Job,
                1 => SearchEnd::Latch,
                _ => SearchEnd::Operation,
            }),
            SLEEP => Event::Sleep,
            WAKE => Event::Wake(self.woken_by(number)),
            FRUITLESS_WAKE => Event::FruitlessWake,
            GUEST_ARRIVED => Event::GuestArrived,
            GUEST_LEFT => Event::GuestLeft,
            // SAFETY: 1. by obligation 1 the data of a record of this kind is such a word.
            JOB => Event::Job(unsafe { JobName::from_word(self.data) }),
            JOB_END => Event::JobEnd,
            POST => Event::Post { count: number },
            DEQUE_FULL => Event::DequeFull,
            STEAL => Event::Steal { victim: number },
            REVOCATION => Event::Revocation { victim: number },
            MOVED => Event::Moved { count: number },
            BLOCKED => Event::Blocked,
            UNBLOCKED => Event::Unblocked,
            _ => return None,
        })
    }

    fn woken_by(&self, waker: usize) -> WokenBy {
        let at = match self.data.addr() {
            usize::MAX => 0,
            delay => self.time.saturating_sub(delay as u64),
        };
        WokenBy {
            waker: u32::try_from(waker).unwrap_or(0),
            at,
        }
    }
}
