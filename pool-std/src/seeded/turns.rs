//! Turns: of the workers of seeded pools, only one runs at a time.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError},
    thread,
    time::{Duration, Instant},
};

use super::{
    Schedule,
    choices::Choices,
    panics::{FirstPanics, Record},
    system::SystemThread,
};
use crate::{fork::Process, thread_pool::handlers::PanicHandler};

mod guards;
mod looks;
mod outcome;
mod state;
// Other systems do not report what a thread does.
#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests;

pub(crate) use guards::{Hold, Present};
use looks::UNKNOWN;
use state::{Member, State, Status, Waits};

/// How often a worker that waits for its turn looks at what the worker that has the turn does.
const LOOK: Duration = Duration::from_millis(1);
/// The minimum time for which a thread outside the pools waits until the workers have come to rest.
const SETTLING: Duration = Duration::from_secs(1);

/// The turn that workers of seeded pools hand to each other.
///
/// A *member* is a worker of one of the pools. It runs only while it has the turn, which it gives
/// back at its [points](Self::point) and when it [sleeps](Self::sleep). Then the schedule chooses
/// among the members that can go on.
///
/// A member may wait for something that only another member can do, such as releasing a lock. Then
/// it would keep the turn forever. So a member that waits for its turn looks at the member that has
/// it, and takes the turn away if the system reports that this member is blocked. The blocked
/// member continues when it is unblocked, and waits for its turn at its next point. A member that
/// comes to a point waits for those that have just been unblocked. So the order is the same each
/// time, as long as members block only for each other.
///
/// Threads outside the pools are not members. They act at times that the schedule does not control.
/// A thread that has waited for a job therefore waits until the members have [come to
/// rest](Self::settle).
pub(crate) struct Turns {
    state: Mutex<State>,
    /// Notified when no member has the turn or waits for it, and when a member arrives.
    at_rest: Condvar,
    /// The panics of the program, if one is explored.
    first_panics: Option<FirstPanics>,
    /// The process of the members, if there are any.
    process: OnceLock<Process>,
}

impl Turns {
    /// Creates turns without members. `is_recorded` says whether a program is explored, which needs
    /// the [`record`](Self::record).
    pub(crate) fn new(schedule: Schedule, is_recorded: bool) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                choices: Choices::new(schedule, is_recorded),
                members: Vec::new(),
                turn: None,
                is_taken: false,
                holds: 0,
                last_choice: Instant::now(),
                looks: None,
                stuck: None,
                ready: Vec::new(),
            }),
            at_rest: Condvar::new(),
            first_panics: is_recorded.then(FirstPanics::default),
            process: OnceLock::new(),
        })
    }

    /// Adds members that are absent. Returns the number of the first one.
    pub(super) fn add(&self, count: usize) -> usize {
        self.process.get_or_init(Process::current);
        let mut state = self.lock();
        let first = state.members.len();
        state.members.resize_with(first + count, || Member {
            status: Status::Absent,
            bell: Arc::default(),
            thread: SystemThread::current(),
            has_token: false,
            has_arrived: false,
        });
        first
    }

    /// Returns the seed with which a worker chooses among its victims.
    pub(crate) fn seed_of(&self, member: usize) -> u64 {
        self.lock().choices.seed_of(member)
    }

    /// Prevents the turn from being given or taken away until the guard is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        self.lock().holds += 1;
        Hold(self.clone())
    }

    /// Waits until a condition holds that is expected to hold soon, but not forever. The turn stays
    /// where it is meanwhile.
    pub(crate) fn hold_until(self: &Arc<Self>, holds: impl Fn() -> bool) {
        let _hold = self.hold();
        let begin = Instant::now();
        // Liveness: the time ends.
        while !holds() && begin.elapsed() < SETTLING {
            thread::yield_now();
        }
    }

    /// Gives the turn to a member whose thread already runs. Does not wait.
    pub(crate) fn adopt(&self, member: usize) {
        let mut state = self.lock();
        state.be_ready(member);
        state.turn = Some(member);
        state.is_taken = true;
    }

    /// Makes a member ready whose thread is about to [arrive](Self::arrive), at a time that the
    /// schedule controls.
    pub(crate) fn mark_ready(&self, member: usize) {
        let mut state = self.lock();
        state.members[member].status = Status::Ready;
        if state.turn.is_none() {
            state.pass(None, &self.at_rest);
        }
    }

    /// Makes an absent member ready, and waits for its turn. The member becomes absent again when
    /// the guard is dropped.
    pub(crate) fn arrive(self: &Arc<Self>, member: usize) -> Present {
        let mut state = self.lock();
        state.be_ready(member);
        self.at_rest.notify_all();
        if state.turn.is_none() {
            state.pass(None, &self.at_rest);
        }
        self.wait_for_turn(state, member);
        Present {
            turns: self.clone(),
            member,
        }
    }

    /// Waits until these members have arrived. They may be absent again by then: if the waiting
    /// thread loses its turn meanwhile, some of them may run and park. `may_be_late` says that code
    /// of the user starts their threads; then the wait has a time limit.
    pub(crate) fn wait_for_arrivals(
        &self,
        members: impl Iterator<Item = usize> + Clone,
        may_be_late: bool,
    ) {
        let limit = if may_be_late { SETTLING } else { Duration::MAX };
        let mut state = self.lock();
        // The member that has the turn may be the one that waits.
        state.holds += 1;
        // Liveness: each of them notifies when it arrives, or the time ends.
        let waited = self.at_rest.wait_timeout_while(state, limit, |state| {
            let mut members = members.clone();
            members.any(|member| !state.members[member].has_arrived)
        });
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.end_hold(&self.at_rest);
    }

    /// Makes a member absent, and gives its turn back.
    pub(crate) fn leave(&self, member: usize) {
        let mut state = self.lock();
        state.members[member].status = Status::Absent;
        if state.turn == Some(member) {
            state = self.await_unblocked(state);
            state.pass(None, &self.at_rest);
        }
    }

    /// Lets the schedule choose which member continues, and waits until it is this one. While the
    /// turn is held, the member that has it continues, since no other one can.
    pub(crate) fn point(&self, member: usize) {
        let mut state = self.lock();
        state.be_ready(member);
        if state.turn == Some(member) {
            if state.holds > 0 {
                return;
            }
            state = self.await_unblocked(state);
        }
        if state.turn.is_none_or(|turn| turn == member) {
            state.pass(Some(member), &self.at_rest);
        }
        self.wait_for_turn(state, member);
    }

    /// Registers a member as a sleeper: from now on it is [woken](Self::wake).
    pub(crate) fn register(&self, member: usize) {
        self.lock().members[member].status = Status::Asleep;
    }

    /// Undoes [`register`](Self::register).
    pub(crate) fn unregister(&self, member: usize) {
        self.lock().be_ready(member);
    }

    /// Gives the turn back, and waits until the member, which must be registered as a sleeper, has
    /// been woken and has the turn.
    pub(crate) fn sleep(&self, member: usize) {
        self.sleep_in(self.lock(), member);
    }

    fn sleep_in<'s>(&'s self, mut state: MutexGuard<'s, State>, member: usize) {
        state.members[member].thread = SystemThread::current();
        match state.members[member].status {
            Status::BlockedAsleep => state.members[member].status = Status::Asleep,
            // It was woken after its turn was taken away.
            Status::Blocked => {
                state.be_ready(member);
                if state.turn.is_none() {
                    state.pass(Some(member), &self.at_rest);
                }
            }
            _ if state.turn == Some(member) => {
                state = self.await_unblocked(state);
                state.pass(Some(member), &self.at_rest);
            }
            _ => {}
        }
        self.wait_for_turn(state, member);
    }

    /// Gives the turn back, and waits until the member has been [unparked](Self::unpark) and has
    /// the turn. Returns at once if it has been unparked since the last call.
    pub(crate) fn park(&self, member: usize) {
        let mut state = self.lock();
        if !mem::take(&mut state.members[member].has_token) {
            state.members[member].status = Status::Parked;
            self.sleep_in(state, member);
        }
    }

    /// Ends a member's current [`park`](Self::park), or else its next one.
    pub(crate) fn unpark(&self, member: usize) {
        let mut state = self.lock();
        let unparked = &mut state.members[member];
        if unparked.status != Status::Parked {
            unparked.has_token = true;
            return;
        }
        unparked.status = Status::Ready;
        unparked.bell.notify_one();
        if state.turn.is_none() {
            state.pass(None, &self.at_rest);
        }
    }

    /// Wakes a member. Returns whether it was registered as a sleeper.
    pub(crate) fn wake(&self, member: usize) -> bool {
        self.wake_all([member]) > 0
    }

    /// Wakes members together, so that each of them may be the first to continue. Returns how many
    /// were registered as sleepers.
    pub(crate) fn wake_all(&self, members: impl IntoIterator<Item = usize>) -> usize {
        let mut state = self.lock();
        let mut count = 0;
        for member in members {
            let member = &mut state.members[member];
            match member.status {
                Status::Asleep => {
                    member.status = Status::Ready;
                    member.bell.notify_one();
                }
                Status::BlockedAsleep => member.status = Status::Blocked,
                _ => continue,
            }
            count += 1;
        }
        if count > 0 && state.turn.is_none() {
            state.pass(None, &self.at_rest);
        }
        count
    }

    /// Returns how many of these members sleep.
    pub(crate) fn num_asleep(&self, mut members: impl Iterator<Item = usize>) -> usize {
        let state = self.lock();
        let is_asleep = |member: &usize| state.members[*member].status.is_asleep();
        members.by_ref().filter(is_asleep).count()
    }

    /// Waits, on a thread outside the pools, until no member can continue by itself. The wait is
    /// limited, because members may poll for something that this thread does later.
    pub(crate) fn settle(&self) {
        let begin = Instant::now();
        let mut state = self.lock();
        let first = state.choices.made();
        // Liveness: the time ends, and either choices are made or the last one gets old.
        while !state.is_at_rest() && (begin.elapsed() < SETTLING || state.is_about_to_rest(first)) {
            let (guard, waited) = self
                .at_rest
                .wait_timeout(state, LOOK)
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if waited.timed_out() {
                state.look(&self.at_rest);
            }
        }
    }

    /// Returns what each member does, if every call in the last `limit` has found that all members
    /// wait and that no choice was made in between.
    pub(super) fn stuck(&self, limit: Duration) -> Option<String> {
        let mut state = self.lock();
        let (report, limit) = match state.describe_waits() {
            Waits::None => {
                state.stuck = None;
                return None;
            }
            Waits::Known(report) => (report, limit),
            Waits::Unknown(report) => (report, limit.saturating_add(10 * UNKNOWN)),
        };
        let choice = state.choices.made();
        let since = match state.stuck {
            Some((then, since)) if then == choice => since,
            _ => state.stuck.insert((choice, Instant::now())).1,
        };
        (since.elapsed() >= limit).then_some(report)
    }

    /// Locks the state without sleeping: to the system, a thread that sleeps would be blocked.
    fn lock(&self) -> MutexGuard<'_, State> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return state,
                Err(TryLockError::Poisoned(error)) => return error.into_inner(),
                // Liveness: no thread keeps the lock for long, nor while it waits.
                Err(TryLockError::WouldBlock) => {
                    self.abort_in_child();
                    thread::yield_now();
                }
            }
        }
    }

    /// Aborts the process if it is a child of the members' process, in which the caller is about to
    /// wait for one of them.
    fn abort_in_child(&self) {
        if let Some(&process) = self.process.get() {
            process.abort_if_forked();
        }
    }

    /// Waits until it is this member's turn.
    fn wait_for_turn(&self, mut state: MutexGuard<'_, State>, member: usize) {
        // Liveness: the thread that gives the turn to this member rings its bell, and so does the
        // thread that wakes it. A member that keeps the turn gives it back at its next point, or a
        // member that is ready takes it away.
        while state.turn != Some(member) {
            self.abort_in_child();
            let bell = state.members[member].bell.clone();
            if state.members[member].status != Status::Ready {
                state = bell.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (guard, waited) = bell
                .wait_timeout(state, LOOK)
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if waited.timed_out() {
                state.look(&self.at_rest);
            }
        }
        state.is_taken = true;
    }

    /// Waits until each member from which the turn was taken waits for its turn, or is still
    /// blocked. The caller is about to give its turn back, so no other member takes it away.
    fn await_unblocked<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        state.is_taken = false;
        let begin = Instant::now();
        // Liveness: the time ends.
        while state.any_goes_on() && begin.elapsed() < UNKNOWN {
            drop(state);
            thread::yield_now();
            state = self.lock();
        }
        state
    }
}
