#![doc = include_str!("sockets/README.md")]

use core::{fmt, iter, ops::Deref};

use crate::{
    index::{WorkerIndex, circle},
    latch::CoreLatch,
    policy::{IdlePolicy, Purpose},
    primitive::{Ordering, fence},
    protocol::{
        AwakeSet, LendSeats, NewJobs, Origin, SleepProtocol,
        jec::{self, Jec},
    },
};

mod error;
#[cfg(test)]
mod tests;
mod wake;
mod words;

pub use error::UnusableSockets;

use wake::SEEDS;
use words::Words;

/// The sleep protocol for large machines: a [`Jec`] for each socket, and a word that tells in which
/// of them workers sleep.
///
/// Workers that fall asleep, wake up, and begin or end a search write the counters of their own
/// socket alone. A *socket* is a group of workers with consecutive numbers, for example the 64
/// whose processors share a memory controller. With one socket, use [`Jec`].
///
/// `L` says where the protocols of the sockets are stored, see [`JecList`].
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Jec, Parker, SleepProtocol, Slot, Sockets};
///
/// struct Thread(std::thread::Thread);
/// impl Parker for Thread {
///     fn park(&self) { std::thread::park() }
///     fn unpark(&self) { self.0.unpark() }
/// }
///
/// // 100 workers: one socket of 64, and one of 36.
/// let workers: Vec<usize> = (0..100).collect();
/// let sockets: Box<[_]> = workers
///     .chunks(64)
///     .map(|workers| {
///         let slots = workers.iter().map(|_| Slot::new(Thread(std::thread::current())));
///         Jec::new(slots.collect::<Box<[_]>>(), IdlePolicy::DEFAULT)
///     })
///     .collect::<Result<_, _>>()?;
/// let sleep = Sockets::new(sockets)?;
/// assert_eq!((sleep.num_workers(), sleep.sockets().len()), (100, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The front page of [this module](crate::protocol::sockets) has the argument that no wake-up is
/// lost.
pub struct Sockets<L> {
    words: Words,
    sockets: L,
    /// The number of workers of each socket but the last.
    each: usize,
    workers: usize,
}

/// Where the protocols of [`Sockets`] are stored: anything that dereferences to a slice of [`Jec`],
/// and always to the same one, such as a box.
///
/// If it gives different slices, wake-ups are lost or calls panic, but no memory safety rests on
/// it.
///
/// # Examples
/// See [`Sockets`].
pub trait JecList {
    /// Where the slots of one socket are stored.
    type Slots: jec::Slots;

    /// Returns the protocols, in the order of their workers.
    fn sockets(&self) -> &[Jec<Self::Slots>];
}

impl<S: jec::Slots, L: Deref<Target = [Jec<S>]>> JecList for L {
    type Slots = S;

    #[inline]
    fn sockets(&self) -> &[Jec<S>] {
        self
    }
}

/// One worker's way from finding no work to being asleep, in a pool of [`Sockets`].
///
/// # Examples
/// See the crate's front page, which has a worker's whole loop.
#[must_use = "the worker counts as idle until this is given to `work_found`"]
#[derive(Debug)]
pub struct SocketIdle {
    worker: usize,
    socket: usize,
    inner: jec::IdleState,
}

impl<L: JecList> Sockets<L> {
    /// The greatest number of sockets: one for each bit of a word.
    pub const MAX_SOCKETS: usize = usize::BITS as usize;

    /// Creates the protocol for the workers of several sockets, which are numbered one after the
    /// other.
    ///
    /// All sockets but the last must have the same number of workers. If they have any, the last
    /// must have at least one, and at most that many.
    ///
    /// # Errors
    /// [`UnusableSockets`] if there are more than [`MAX_SOCKETS`](Self::MAX_SOCKETS), or if their
    /// sizes break this rule.
    pub fn new(sockets: L) -> Result<Self, UnusableSockets> {
        let list = sockets.sockets();
        let each = list.first().map_or(0, Jec::num_workers);
        UnusableSockets::check(list.iter().map(Jec::num_workers), Self::MAX_SOCKETS)?;
        let workers = list.iter().map(Jec::num_workers).sum();
        Ok(Self {
            words: Words::new(),
            sockets,
            each: each.max(1),
            workers,
        })
    }

    /// Returns the protocols of the sockets, in the order of their workers.
    #[must_use]
    pub fn sockets(&self) -> &[Jec<L::Slots>] {
        self.sockets.sockets()
    }

    /// Returns how idle workers behave: the policy of the first socket.
    #[must_use]
    pub fn policy(&self) -> IdlePolicy {
        self.sockets()
            .first()
            .map_or(IdlePolicy::DEFAULT, Jec::policy)
    }

    /// Returns the socket of a worker, and its number there.
    #[inline]
    fn place(&self, worker: WorkerIndex) -> (usize, WorkerIndex) {
        let (socket, number) = (worker.get() / self.each, worker.get() % self.each);
        let local = WorkerIndex::new(number, self.sockets()[socket].num_workers());
        (socket, local.expect("the list of sockets stays the same"))
    }

    /// Returns the worker with this number in a socket.
    #[inline]
    fn worker_of(&self, socket: usize, local: usize) -> WorkerIndex {
        let worker = WorkerIndex::new(socket * self.each + local, self.workers);
        worker.expect("the list of sockets stays the same")
    }

    /// Returns the sockets in a circle that begins with the socket of this worker.
    fn circle(&self, worker: usize) -> impl Iterator<Item = usize> + use<L> {
        circle(worker / self.each, self.sockets().len())
    }

    /// Notes for searches whether many workers of a socket are awake. A worker of that socket calls
    /// this when it has just changed the counters, while it still holds their line.
    fn note_crowd(&self, socket: usize) {
        let jec = &self.sockets()[socket];
        let (workers, sleeping) = (jec.num_workers(), jec.num_sleeping());
        self.words
            .note_crowd(socket, workers.saturating_sub(sleeping), workers);
    }
}

impl<L: JecList> SleepProtocol for Sockets<L> {
    type Parker = <L::Slots as jec::Slots>::Parker;
    type IdleState = SocketIdle;
    type Hint = ();

    #[inline]
    fn num_workers(&self) -> usize {
        self.workers
    }

    #[inline]
    fn parker(&self, worker: WorkerIndex) -> &Self::Parker {
        let (socket, local) = self.place(worker);
        self.sockets()[socket].parker(local)
    }

    /// Does rounds if the limit on searchers leaves room for this worker in its socket.
    fn start_looking(&self, worker: WorkerIndex, purpose: Purpose) -> SocketIdle {
        let (socket, local) = self.place(worker);
        let inner = self.sockets()[socket].start_looking(local, purpose);
        self.note_crowd(socket);
        SocketIdle {
            worker: worker.get(),
            socket,
            inner,
        }
    }

    /// Relaxes, gets sleepy, or sleeps, as the policy of the socket says.
    #[inline]
    fn no_work_found(
        &self,
        idle: &mut SocketIdle,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        let socket = idle.socket;
        self.sockets()[socket].no_work_found(&mut idle.inner, latch, || {
            self.words.note_sleeper(socket);
            self.note_crowd(socket);
            has_work()
        });
    }

    /// Wakes workers of its own socket as [`Jec`] does. Once that is busy, it wakes two in another
    /// socket in which workers sleep, if there is more work.
    #[inline]
    fn work_found(&self, idle: SocketIdle, more_work: impl FnOnce() -> bool) {
        let SocketIdle {
            worker,
            socket,
            inner,
        } = idle;
        let mut more_work = Some(more_work);
        let mut ask = || more_work.take().is_some_and(|more_work| more_work());
        let mut answer = None;
        self.sockets()[socket].work_found(inner, || *answer.insert(ask()));
        if answer == Some(false) || self.leaves_to_own_socket(socket) {
            return;
        }
        if answer.is_none() {
            // Ordering: the fence of the cascade, of which a socket without sleepers has executed
            // none. Pairs with that of a poster which left a job to this worker: the job is visible
            // to `more_work`, and so are the bits that the poster could see. Nothing weaker orders
            // our write of the counters before those reads.
            fence(Ordering::SeqCst);
        }
        if self.words.others_may_sleep(socket) && answer.unwrap_or_else(ask) {
            // Each worker begins with another socket, so that not all wake the same one.
            let first = worker % self.each * self.each;
            self.wake_elsewhere(socket, first % self.workers, SEEDS, true);
        }
    }

    /// Wakes sleepers for as many of the jobs as the sockets have no idle workers for: first in the
    /// socket where the jobs are, then two in each other one that is needed.
    ///
    /// For internal jobs there is a fence only if workers may be asleep.
    #[inline]
    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>) {
        if jobs.origin == Origin::Internal && self.all_are_awake() {
            return;
        }
        // Ordering: the poster's fence. Pairs with the sleeper's in `note_sleeper`. Either the
        // sleeper sees the job in its last look, or we see the bit of its socket. Nothing weaker
        // orders the caller's write of its queue before our read.
        fence(Ordering::SeqCst);
        if !self.all_are_awake() {
            self.wake_for(jobs.count, jobs.hint, (jobs.queue_was_empty)());
        }
    }

    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>) {
        let mut places = workers
            .into_iter()
            .map(|worker| self.place(worker))
            .peekable();
        // Consecutive workers of one socket share a fence.
        while let Some((socket, first)) = places.next() {
            let mut others = iter::from_fn(|| places.next_if(|place| place.0 == socket));
            let locals = others.by_ref().map(|(_, local)| local);
            self.sockets()[socket].announce_for(iter::once(first).chain(locals));
            // A socket without sleepers does not advance the iterator, so skip its workers.
            others.for_each(drop);
        }
    }

    #[inline]
    fn all_are_awake(&self) -> bool {
        self.words.none_may_sleep()
    }

    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        let (socket, local) = self.place(worker);
        self.sockets()[socket].wake_worker(local)
    }

    fn num_inactive(&self) -> usize {
        self.sockets().iter().map(Jec::num_inactive).sum()
    }

    fn num_sleeping(&self) -> usize {
        self.sockets().iter().map(Jec::num_sleeping).sum()
    }
}

impl<L: JecList> LendSeats for Sockets<L> {
    /// Lends an eligible sleeper of the first socket that has one.
    fn borrow_sleeper(&self, mut eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        self.sockets().iter().enumerate().find_map(|(socket, jec)| {
            if !self.words.may_sleep(socket) {
                return None;
            }
            let lent = jec.borrow_sleeper(|local| eligible(self.worker_of(socket, local.get())))?;
            Some(self.worker_of(socket, lent.get()))
        })
    }

    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        let (socket, local) = self.place(worker);
        self.sockets()[socket].give_back(local, || {
            self.words.note_sleeper(socket);
            has_work()
        })
    }

    fn caller_resumed(&self) {
        self.sockets().iter().for_each(Jec::caller_resumed);
    }
}

impl<L: JecList> AwakeSet for Sockets<L> {
    /// Leaves out workers of its own socket as [`Jec`] does, and those of another one if few are
    /// awake there.
    #[inline]
    fn any_awake(
        &self,
        caller: Option<WorkerIndex>,
        first: usize,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let caller = caller.map(|caller| self.place(caller));
        let offset = first % self.each;
        self.circle(first).any(|socket| {
            let jec = &self.sockets()[socket];
            let mut holds = |local: usize| holds(self.worker_of(socket, local));
            match caller {
                Some((home, caller)) if home == socket => {
                    jec.any_awake(Some(caller), offset, |local| holds(local.get()))
                }
                _ if self.words.is_crowded(socket) => circle(offset, jec.num_workers()).any(holds),
                _ => jec.any_awake(None, offset, |local| holds(local.get())),
            }
        })
    }
}

impl<L: JecList> fmt::Debug for Sockets<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets")
            .field("words", &self.words)
            .field("sockets", &self.sockets())
            .finish_non_exhaustive()
    }
}
