//! What all actors of a pool share.

use std::array;

use super::accounting::Accounting;

/// How many workers there can be.
pub(super) const MAX_WORKERS: usize = 4;

/// The state of a worker's latch, as in `CoreLatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Latch {
    Unset,
    Sleepy,
    Sleeping,
    Set,
}

/// The state of a worker's slot, by which a waker claims the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    Awake,
    Asleep,
    Waking,
    Lent,
}

/// Which thread may use a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Seat {
    Host,
    /// The host sleeps, and a guest may come.
    Vacant,
    /// The host sleeps below a job, whose frames are on its stack. No guest may come.
    Kept,
    Guest,
}

/// What belongs to one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// How many jobs are on its deque, which all may take.
    pub(super) deque: u8,
    /// How many jobs are there that this worker alone may take.
    pub(super) inbox: u8,
    /// The latch that stops the worker.
    pub(super) latch: Latch,
    /// The latch of the stolen half for which the worker waits, if it waits below a job.
    pub(super) join: Latch,
    pub(super) is_below_job: bool,
    pub(super) slot: Slot,
    pub(super) seat: Seat,
    /// Whether its parker has a token.
    pub(super) token: bool,
}

/// What all actors of a pool share, beside what belongs to the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    num_workers: u8,
    places: [Place; MAX_WORKERS],
    /// How many jobs threads outside the pool have queued.
    pub(super) injected: u8,
    pub(super) accounting: Accounting,
    /// How many jobs run and are not blocked.
    pub(super) running: u8,
    /// How many posters have queued jobs, and have not announced them.
    pub(super) announcing: u8,
    /// How many jobs have been queued, anywhere.
    pub(super) queued: u8,
    /// How many jobs have begun.
    pub(super) begun: u8,
    /// How many jobs have ended.
    pub(super) ended: u8,
}

/// Why an actor looks at the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Look {
    /// A worker that is registered as a sleeper looks for work. If there is none, it leaves its
    /// seat to guests.
    Last(u8),
    /// A worker that has found a job looks for work that it leaves to others.
    More(u8),
    /// A guest that has given a worker back looks for something that the worker must do.
    GivenBack(u8),
    /// The same, but not at the worker's latch.
    GivenBackWithoutLatch(u8),
}

/// A place where a worker finds something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Deque(u8),
    Injected,
    Inbox(u8),
    Latch(u8),
}

impl World {
    pub(super) fn new(num_workers: u8) -> Self {
        let place = Place {
            deque: 0,
            inbox: 0,
            latch: Latch::Unset,
            join: Latch::Unset,
            is_below_job: false,
            slot: Slot::Awake,
            seat: Seat::Host,
            token: false,
        };
        Self {
            num_workers,
            places: array::from_fn(|_| place),
            injected: 0,
            accounting: Accounting::new(),
            running: 0,
            announcing: 0,
            queued: 0,
            begun: 0,
            ended: 0,
        }
    }

    pub(super) fn num_workers(&self) -> u8 {
        self.num_workers
    }

    pub(super) fn place(&mut self, worker: u8) -> &mut Place {
        &mut self.places[usize::from(worker)]
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places[..usize::from(self.num_workers)]
    }

    /// Returns a source in the order in which a worker looks at all of them, or none if there are
    /// no more.
    pub(super) fn source(&self, worker: u8, number: u8) -> Option<Source> {
        match number {
            0 => Some(Source::Deque(worker)),
            1 => Some(Source::Inbox(worker)),
            2 => Some(Source::Injected),
            _ if number < self.num_workers + 2 => {
                Some(Source::Deque((worker + number - 2) % self.num_workers))
            }
            _ => None,
        }
    }

    pub(super) fn num_sources(&self, look: Look) -> u8 {
        match look {
            Look::GivenBack(_) => self.num_workers + 3,
            Look::Last(_) | Look::More(_) | Look::GivenBackWithoutLatch(_) => self.num_workers + 2,
        }
    }

    /// Looks at one source. Returns whether there is something to do, and what was looked at.
    pub(super) fn look(
        &self,
        look: Look,
        number: u8,
        leaves_out: impl Fn(u8) -> bool,
    ) -> (bool, String) {
        let (Look::Last(worker)
        | Look::More(worker)
        | Look::GivenBack(worker)
        | Look::GivenBackWithoutLatch(worker)) = look;
        let source = match self.source(worker, number) {
            Some(source) => source,
            None => Source::Latch(worker),
        };
        if let Source::Deque(other) = source
            && other != worker
            && leaves_out(other)
        {
            return (false, format!("leaves {source:?} out"));
        }
        let finds = self.holds(source);
        let what = if finds {
            "sees something in"
        } else {
            "sees nothing in"
        };
        (finds, format!("{what} {source:?}"))
    }

    pub(super) fn holds(&self, source: Source) -> bool {
        match source {
            Source::Deque(worker) => self.places[usize::from(worker)].deque > 0,
            Source::Inbox(worker) => self.places[usize::from(worker)].inbox > 0,
            Source::Injected => self.injected > 0,
            Source::Latch(worker) => self.places[usize::from(worker)].latch == Latch::Set,
        }
    }

    /// Takes a job, if there is one.
    pub(super) fn take(&mut self, source: Source) -> bool {
        let jobs = match source {
            Source::Deque(worker) => &mut self.places[usize::from(worker)].deque,
            Source::Inbox(worker) => &mut self.places[usize::from(worker)].inbox,
            Source::Injected => &mut self.injected,
            Source::Latch(_) => return false,
        };
        let takes = *jobs > 0;
        *jobs -= u8::from(takes);
        takes
    }

    /// Notes that a job has ended which was running.
    pub(super) fn end_job(&mut self) {
        self.ended += 1;
        self.running -= 1;
    }

    /// Lets wakers claim a worker.
    ///
    /// # Errors
    /// If a waker has claimed it before, and has not released it.
    pub(super) fn open(&mut self, worker: u8) -> Result<(), String> {
        let slot = &mut self.place(worker).slot;
        if *slot != Slot::Awake {
            return Err("a worker opens its slot before it was released".to_owned());
        }
        *slot = Slot::Asleep;
        Ok(())
    }

    /// Takes a worker back. Returns whether no waker has claimed it.
    pub(super) fn close(&mut self, worker: u8) -> bool {
        self.exchange_slot(worker, Slot::Asleep, Slot::Awake)
    }

    /// Claims a worker for a waker, if its slot is open.
    pub(super) fn claim(&mut self, worker: u8) -> bool {
        self.exchange_slot(worker, Slot::Asleep, Slot::Waking)
    }

    fn exchange_slot(&mut self, worker: u8, from: Slot, to: Slot) -> bool {
        let slot = &mut self.place(worker).slot;
        let is_exchanged = *slot == from;
        if is_exchanged {
            *slot = to;
        }
        is_exchanged
    }

    /// Returns the latch for which a worker waits.
    pub(super) fn awaited_latch(&mut self, worker: u8) -> &mut Latch {
        let place = self.place(worker);
        match place.is_below_job {
            true => &mut place.join,
            false => &mut place.latch,
        }
    }

    /// Moves a latch to SLEEPY or SLEEPING, for its waiter. Returns false if it is set.
    pub(super) fn advance_latch(&mut self, worker: u8, from: Latch, to: Latch) -> bool {
        let latch = self.awaited_latch(worker);
        let advances = *latch == from;
        if advances {
            *latch = to;
        }
        advances
    }

    /// Notes that the waiter of a latch is awake. A latch that is set stays set.
    pub(super) fn wake_latch(&mut self, worker: u8) {
        let latch = self.awaited_latch(worker);
        if *latch != Latch::Set {
            *latch = Latch::Unset;
        }
    }

    /// Takes the token of a worker's parker, if there is one.
    pub(super) fn take_token(&mut self, worker: u8) -> bool {
        std::mem::take(&mut self.place(worker).token)
    }

    /// Gives a token to a worker's parker. Without `keeps`, it is lost if the worker does not park.
    pub(super) fn unpark(&mut self, worker: u8, keeps: bool) {
        let place = self.place(worker);
        place.token |= keeps || place.slot == Slot::Asleep;
    }

    /// Lets guests take the seat of a worker that is about to park, unless it waits below a job.
    pub(super) fn leave_seat(&mut self, worker: u8) {
        let place = self.place(worker);
        place.seat = match place.is_below_job {
            true => Seat::Kept,
            false => Seat::Vacant,
        };
    }

    /// Whether a job waits that a sleeping worker could take, which no thread is waking.
    pub(super) fn is_wasteful(&self) -> bool {
        let is_left = |place: &Place| matches!(place.seat, Seat::Vacant | Seat::Kept);
        let sleeps = |place: &Place| place.slot == Slot::Asleep && is_left(place);
        let for_any = self.injected > 0 || self.places().iter().any(|place| place.deque > 0);
        let has_own = |place: &Place| sleeps(place) && place.inbox > 0;
        for_any && self.places().iter().any(sleeps) || self.places().iter().any(has_own)
    }

    /// Checks that no worker can go on, when a deadlock is reported.
    ///
    /// # Errors
    /// If a job runs, or waits whose poster has announced it.
    pub(super) fn check_report(&self) -> Result<(), String> {
        if self.running > 0 {
            return Err("a deadlock is reported while a job runs".to_owned());
        }
        let waits = self.injected > 0 || self.places().iter().any(|it| it.deque + it.inbox > 0);
        if waits && self.announcing == 0 {
            return Err("a deadlock is reported while a job waits".to_owned());
        }
        Ok(())
    }

    /// # Errors
    /// If a job is left, or a slot is not as it was.
    pub(super) fn check_end(&self) -> Result<(), String> {
        let is_left = self.injected > 0 || self.begun != self.ended;
        let is_left = is_left
            || self
                .places()
                .iter()
                .any(|place| place.deque + place.inbox > 0);
        if is_left {
            return Err("a job is left when all has ended".to_owned());
        }
        if self.places().iter().any(|place| place.slot != Slot::Awake) {
            return Err("a slot is open when its worker has ended".to_owned());
        }
        Ok(())
    }
}
