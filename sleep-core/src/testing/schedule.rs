//! Threads that run one at a time, in every order that has few preemptions.

use std::{
    boxed::Box,
    cell::RefCell,
    format,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    string::{String, ToString},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    thread_local,
    time::Duration,
    vec::Vec,
};

use super::memory::Memory;

mod aborted;
mod check;
mod state;

use aborted::Aborted;
use check::Check;
pub(crate) use state::Switch;
use state::{Begin, Choice, State, Status};

/// So many points without a yield count as one: the actor probably waits in a loop.
const POINTS_IN_A_ROW: u32 = 300;
/// So many points without an end are taken for a loop.
const MOST_POINTS: u32 = 50_000;
/// An actor that reaches no point for so long waits for something that the check does not know of.
/// Nothing else depends on time.
const PATIENCE: Duration = Duration::from_secs(60);

/// One execution of the actors.
#[derive(Debug)]
pub(crate) struct Execution {
    state: Mutex<State>,
    /// One for each actor, which waits for its turn, and the last one for the thread that
    /// explores.
    turns: Vec<Condvar>,
    /// Those of the actors that have had a turn.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Execution {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all threads of the execution, which has failed.
    fn wake_all(&self) {
        self.turns.iter().for_each(Condvar::notify_all);
    }

    /// Lets the current actor run, whose thread begins with its first turn, or the thread that
    /// explores if all actors have ended. It needs the lock at once, so this gives the lock back
    /// before.
    fn hand_over(&self, mut state: MutexGuard<'_, State>) {
        let next = if state.is_over() {
            state.actors.len()
        } else {
            state.current
        };
        let begin = state.begins.get_mut(next).and_then(Option::take);
        drop(state);
        match begin {
            Some(Begin(begin)) => {
                let thread = thread::spawn(begin);
                let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
                threads.push(thread);
            }
            None => self.turns[next].notify_one(),
        }
    }

    /// Waits until the threads of all actors have ended.
    fn join(&self) {
        // An actor has noted the thread that it begins when its own thread ends.
        while let Some(thread) = self.pop_thread() {
            thread.join().expect("an actor catches its panics");
        }
    }

    fn pop_thread(&self) -> Option<JoinHandle<()>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.pop()
    }

    /// Waits on the condition variable of that number until the execution has failed, or the
    /// condition holds. Fails if it takes too long.
    ///
    /// Liveness: the actor that runs reaches a point or ends, and notifies the next one; or else
    /// time is up.
    fn wait<'a>(
        &'a self,
        turn: usize,
        mut state: MutexGuard<'a, State>,
        is_over: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        while state.failure.is_none() && !is_over(&state) {
            let points = state.points;
            let (next, timeout) = self.turns[turn]
                .wait_timeout(state, PATIENCE)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
            if timeout.timed_out() && state.points == points && !is_over(&state) {
                let name = state.names[state.current];
                state.fail(&format!(
                    "{name} reaches no point at which another thread may run: does it wait for a lock that another \
                     thread holds while it calls a parker or a protocol, or in a loop?"
                ));
                state.is_stuck = true;
                self.wake_all();
            }
        }
        state
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Actor>> = const { RefCell::new(None) };
}

/// The thread that plays one actor of an execution.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    execution: Arc<Execution>,
    me: usize,
}

impl Actor {
    /// Calls `act` with the actor that this thread plays, if it plays one.
    #[inline]
    pub(crate) fn with_current(act: impl FnOnce(&Self)) {
        if Check::any_runs() {
            Self::with_current_cold(act);
        }
    }

    #[cold]
    fn with_current_cold(act: impl FnOnce(&Self)) {
        let current = CURRENT.try_with(|current| current.borrow().clone());
        if let Ok(Some(actor)) = current {
            act(&actor);
        }
    }

    /// Returns the actor that this thread plays.
    pub(super) fn current() -> Self {
        CURRENT
            .with(|current| current.borrow().clone())
            .expect("only a thread that a check runs calls this")
    }

    pub(super) fn memory<R>(&self, act: impl FnOnce(&mut Memory, usize) -> R) -> R {
        act(&mut self.execution.lock().memory, self.me)
    }

    /// Makes the actor that waits for the token of this parker runnable.
    pub(super) fn unpark(&self, parker: usize) {
        let mut state = self.execution.lock();
        state.memory.write_back(self.me);
        for actor in &mut state.actors {
            if *actor == Status::Parked(parker) {
                *actor = Status::Runnable;
            }
        }
    }

    /// Adds a line to the schedule that a failure shows.
    pub(super) fn note(&self, what: &'static str) {
        self.execution.lock().trace.push((self.me, what));
    }

    /// Whether a park is to return without a token.
    pub(super) fn takes_spurious_wake_up(&self) -> bool {
        let mut state = self.execution.lock();
        let is_spurious = state.spurious_left > 0;
        state.spurious_left = state.spurious_left.saturating_sub(1);
        is_spurious
    }

    /// Returns how many actors are parked.
    pub(super) fn num_parked(&self) -> usize {
        let state = self.execution.lock();
        let parked = |status: &&Status| matches!(status, Status::Parked(_));
        state.actors.iter().filter(parked).count()
    }

    /// Returns where the token is for which the actor with this number waits, if it is parked.
    pub(super) fn awaited_token(&self, actor: usize) -> Option<usize> {
        match self.execution.lock().actors[actor] {
            Status::Parked(token) => Some(token),
            _ => None,
        }
    }

    /// Reports a mistake and ends the execution.
    pub(super) fn fail(&self, message: &str) -> ! {
        self.execution.lock().fail(message);
        self.execution.wake_all();
        resume_unwind(Box::new(Aborted))
    }

    /// Waits for its turn after a point.
    pub(crate) fn reach(&self, switch: Switch, what: &'static str) {
        let me = self.me;
        let mut state = self.execution.lock();
        if state.failure.is_none() {
            state.points += 1;
            state.points_in_a_row += 1;
            if switch != Switch::Yield || !state.memory.is_still() {
                state.trace.push((me, what));
            }
            if state.points > MOST_POINTS {
                let message = state.describe_endless();
                state.fail(&message);
            }
        }
        let switch = match switch {
            Switch::Point if state.points_in_a_row > POINTS_IN_A_ROW => Switch::Yield,
            switch => switch,
        };
        if state.failure.is_none() {
            state.actors[me] = match switch {
                Switch::Point | Switch::Yield => Status::Runnable,
                Switch::Park(parker) => Status::Parked(parker),
                Switch::Rest => Status::Resting,
                Switch::End => Status::Ended,
            };
            match state.next_actor(me, switch) {
                Some(next) => {
                    if next != me || switch == Switch::Yield {
                        state.points_in_a_row = 0;
                    }
                    state.current = next;
                }
                None if state.is_over() => {}
                None => {
                    let message = state.describe_deadlock();
                    state.fail(&message);
                }
            }
        }
        if state.failure.is_some() {
            drop(state);
            self.execution.wake_all();
        } else if state.is_over() || state.current != me {
            self.execution.hand_over(state);
        } else {
            return;
        }
        if switch == Switch::End {
            return;
        }
        let state = self.execution.lock();
        let state = self.execution.wait(me, state, |state| state.current == me);
        let is_over = state.failure.is_some();
        drop(state);
        if is_over {
            self.execution.end_actor();
        }
    }
}

/// What one actor does.
pub(super) type Script<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// How far schedules are explored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// How often an actor may be interrupted that could go on.
    pub(super) preemptions: usize,
    /// How many parks return without a token.
    pub(super) spurious: usize,
}

/// Runs the actors in every order within the bounds. `check` looks at what is left at the end of
/// each execution.
///
/// # Panics
/// If an execution fails, with its schedule.
pub(super) fn explore<T: Send + Sync + 'static>(
    title: &str,
    bounds: Bounds,
    make: &dyn Fn() -> T,
    actors: &[(&'static str, Script<T>)],
    check: &dyn Fn(&T) -> Result<(), String>,
) {
    let _check = Check::begin();
    let mut choices = Vec::new();
    loop {
        let execution = Arc::new(Execution {
            state: Mutex::new(State {
                names: actors.iter().map(|(name, _)| *name).collect(),
                current: 0,
                actors: std::vec![Status::Runnable; actors.len()],
                memory: Memory::new(actors.len()),
                choices: std::mem::take(&mut choices),
                made: 0,
                preemptions_left: bounds.preemptions,
                spurious_left: bounds.spurious,
                points: 0,
                points_in_a_row: 0,
                begins: Vec::new(),
                trace: Vec::new(),
                failure: None,
                is_stuck: false,
            }),
            turns: (0..=actors.len()).map(|_| Condvar::new()).collect(),
            threads: Mutex::new(Vec::new()),
        });
        let shared = Arc::new(make());
        let mut state = execution.lock();
        let begin = |(me, (_, script)): (usize, &(_, Script<T>))| {
            let execution = execution.clone();
            let (actor, shared, script) = (Actor { execution, me }, shared.clone(), script.clone());
            Some(Begin(Box::new(move || play(&actor, &*shared, &script))))
        };
        state.begins = actors.iter().enumerate().map(begin).collect();
        state.current = state.decide(actors.len());
        execution.hand_over(state);
        let mut state = execution.wait(actors.len(), execution.lock(), State::is_over);
        if state.failure.is_none() {
            drop(state);
            execution.join();
            let result = check(&shared);
            state = execution.lock();
            if let Err(message) = result {
                state.fail(&message);
            }
        }
        if let Some(failure) = state.failure.clone() {
            // Those that have had no turn hold the execution that holds them.
            state.begins.clear();
            drop(state);
            execution.join_unless_stuck();
            panic!("{title}: {failure}");
        }
        choices = std::mem::take(&mut state.choices);
        choices.truncate(state.made);
        drop(state);
        if !advance(&mut choices) {
            return;
        }
    }
}

/// Makes the next path of all. Returns false after the last one.
fn advance(choices: &mut Vec<Choice>) -> bool {
    while let Some(choice) = choices.last_mut() {
        choice.chosen += 1;
        if choice.chosen < choice.options {
            return true;
        }
        choices.pop();
    }
    false
}

/// Plays an actor from its first turn to its end.
fn play<T>(actor: &Actor, shared: &T, script: &Script<T>) {
    CURRENT.set(Some(actor.clone()));
    let result = catch_unwind(AssertUnwindSafe(|| script(shared)));
    CURRENT.set(None);
    match result {
        Ok(()) => actor.reach(Switch::End, "ends"),
        Err(payload) if payload.is::<Aborted>() => {}
        Err(payload) => {
            let message = payload
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| String::from("a panic"));
            actor.execution.lock().fail(&message);
            actor.execution.wake_all();
        }
    }
}
