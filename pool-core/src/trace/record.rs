//! Which events are kept, and how one becomes three words and back.

use core::ptr;

use super::ring::Record;
use crate::{
    job::JobName,
    metrics::{Event, SearchEnd, WokenBy},
};

// The kinds of events that are kept. None is zero.
const ENTER: u8 = 1;
const LEAVE: u8 = 2;
const IDLE: u8 = 3;
const ACTIVE: u8 = 4;
const SLEEP: u8 = 5;
const WAKE: u8 = 6;
const FRUITLESS_WAKE: u8 = 7;
const GUEST_ARRIVED: u8 = 8;
const GUEST_LEFT: u8 = 9;
const JOB: u8 = 10;
const JOB_END: u8 = 11;
const POST: u8 = 12;
const DEQUE_FULL: u8 = 13;
const STEAL: u8 = 14;
const REVOCATION: u8 = 15;
const MOVED: u8 = 16;
const BLOCKED: u8 = 17;
const UNBLOCKED: u8 = 18;
const TURNED_BACK: u8 = 19;
const LATCH_SET: u8 = 20;
const LABEL: u8 = 21;
const LABEL_END: u8 = 22;

/// Above the kind, the word has the number of a waker.
const KIND_BITS: u32 = u8::BITS;
/// The greatest number that fits beside a kind.
const MAX_WAKER: usize = usize::MAX >> KIND_BITS;

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
            Event::Job(name) => return Some(Self::of(JOB, 0, now()).named(Name::Job(name))),
            Event::JobEnd => (JOB_END, 0),
            Event::Post { count } => (POST, count),
            Event::DequeFull => (DEQUE_FULL, 0),
            Event::Steal { victim } => (STEAL, victim),
            Event::Revocation { victim } => (REVOCATION, victim),
            Event::Moved { count } => (MOVED, count),
            Event::Blocked => (BLOCKED, 0),
            Event::Unblocked => (UNBLOCKED, 0),
            Event::TurnedBack => (TURNED_BACK, 0),
            Event::LatchSet { waiter } => (LATCH_SET, waiter),
            Event::Label(label) => {
                return Some(Self::of(LABEL, 0, now()).named(Name::Label(label)));
            }
            Event::LabelEnd => (LABEL_END, 0),
            Event::Search | Event::StealAttempt { .. } | Event::StealRetry { .. } => return None,
        };
        Some(Self::of(kind, number, now()))
    }

    #[inline(always)]
    fn of(kind: u8, number: usize, time: u64) -> Self {
        Self {
            time,
            what: usize::from(kind),
            number,
            name: ptr::null_mut(),
        }
    }

    #[inline(always)]
    fn named(self, name: Name) -> Self {
        let name = name.into_word();
        Self { name, ..self }
    }

    /// A wake-up has two times: its own, and how long ago it was given.
    fn of_wake(by: WokenBy, time: u64) -> Self {
        let delay = match by.at {
            0 => usize::MAX,
            at => usize::try_from(time.saturating_sub(at)).unwrap_or(usize::MAX),
        };
        let waker = usize::try_from(by.waker).unwrap_or(0).min(MAX_WAKER);
        let wake = Self::of(WAKE, delay, time);
        let what = wake.what | waker << KIND_BITS;
        Self { what, ..wake }
    }

    /// Returns the event, or `None` if the record holds none.
    ///
    /// # Safety
    /// 1. The name is null, or that of a record that [`new`](Self::new) has made.
    pub(super) unsafe fn event(self) -> Option<Event> {
        let (kind, number) = (self.what as u8, self.number);
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
            WAKE => Event::Wake(self.woken_by()),
            FRUITLESS_WAKE => Event::FruitlessWake,
            GUEST_ARRIVED => Event::GuestArrived,
            GUEST_LEFT => Event::GuestLeft,
            // SAFETY: 1. by obligation 1.
            JOB => match unsafe { Name::from_word(self.name) } {
                Name::Job(name) => Event::Job(name),
                Name::Label(_) => return None,
            },
            JOB_END => Event::JobEnd,
            POST => Event::Post { count: number },
            DEQUE_FULL => Event::DequeFull,
            STEAL => Event::Steal { victim: number },
            REVOCATION => Event::Revocation { victim: number },
            MOVED => Event::Moved { count: number },
            BLOCKED => Event::Blocked,
            UNBLOCKED => Event::Unblocked,
            TURNED_BACK => Event::TurnedBack,
            LATCH_SET => Event::LatchSet { waiter: number },
            // SAFETY: 1. by obligation 1.
            LABEL => match unsafe { Name::from_word(self.name) } {
                Name::Label(label) => Event::Label(label),
                Name::Job(_) => return None,
            },
            LABEL_END => Event::LabelEnd,
            _ => return None,
        })
    }

    fn woken_by(&self) -> WokenBy {
        let at = match self.number {
            usize::MAX => 0,
            delay => self.time.saturating_sub(delay as u64),
        };
        WokenBy {
            waker: u32::try_from(self.what >> KIND_BITS).unwrap_or(0),
            at,
        }
    }
}

/// What the word of a record names. The word alone says which of the two, since a thread may mix
/// the words of records, see [`Record`].
#[derive(Debug, Clone, Copy)]
enum Name {
    Job(JobName),
    Label(&'static &'static str),
}

/// The bit of a word that names a label. Words of jobs and labels are addresses of pointers.
const IS_LABEL: usize = 1;

const _: () = assert!(
    align_of::<&str>() > IS_LABEL && align_of::<fn()>() > IS_LABEL,
    "the bit is one of an address"
);

impl Name {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        match self {
            Self::Job(name) => name.into_word(),
            Self::Label(label) => {
                let word = ptr::from_ref(label).cast_mut().cast::<()>();
                word.map_addr(|address| address | IS_LABEL)
            }
        }
    }

    /// # Safety
    /// 1. The word is null, or one of [`into_word`](Self::into_word).
    unsafe fn from_word(word: *mut ()) -> Self {
        if word.addr() & IS_LABEL == 0 {
            // SAFETY: 1. by obligation 1 it is the word of a job; null is that of an unknown name.
            return Self::Job(unsafe { JobName::from_word(word) });
        }
        let label = word.map_addr(|address| address & !IS_LABEL);
        // SAFETY: by obligation 1 it is the address of a label, which is there for good.
        Self::Label(unsafe { &*label.cast::<&'static str>() })
    }
}
