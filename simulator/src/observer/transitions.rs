//! Whether virtual workers do only what workers of real pools may do.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock},
};

use pool_core::{Event, JobName, SearchEnd};

type Table = HashMap<(&'static str, &'static str), &'static str>;

/// The table that traces of real pools and the model of a pool are checked by.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines = include_str!("../../../pool-std/tests/suite/trace/transitions.txt").lines();
        let transitions = lines.filter_map(|line| {
            let mut words = line.split('#').next()?.split_whitespace();
            Some(((words.next()?, words.next()?), words.next()?))
        });
        transitions.collect()
    })
}

/// What one worker has shown so far.
#[derive(Debug)]
pub(crate) struct Transitions(Mutex<Shown>);

#[derive(Debug)]
struct Shown {
    state: &'static str,
    /// How many jobs it runs, one inside the other.
    depth: usize,
    count: u64,
    /// The first event that it could not show.
    illegal: Option<String>,
}

impl Transitions {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Shown {
            state: "absent",
            depth: 0,
            count: 0,
            illegal: None,
        }))
    }

    pub(crate) fn observe(&self, event: Event) {
        let mut shown = self.0.lock().expect("no test panics meanwhile");
        let Some(name) = name(event, shown.depth == 0) else {
            return;
        };
        match table().get(&(shown.state, name)) {
            Some(next) => shown.state = next,
            None => {
                let illegal = format!("{event:?} while {}", shown.state);
                shown.illegal.get_or_insert(illegal);
            }
        }
        shown.count += 1;
        match event {
            Event::Job(_) => shown.depth += 1,
            Event::JobEnd => shown.depth -= 1,
            _ => {}
        }
    }

    /// Returns how many transitions there were, of a worker that has left.
    ///
    /// # Errors
    /// The first one that is not in the table, or what has not ended.
    pub(crate) fn check(&self) -> Result<u64, String> {
        let shown = self.0.lock().expect("no test panics meanwhile");
        match (&shown.illegal, shown.state, shown.depth) {
            (Some(illegal), ..) => Err(illegal.clone()),
            (None, "absent", 0) => Ok(shown.count),
            (None, state, depth) => Err(format!("{state} at the end, in {depth} jobs")),
        }
    }
}

/// Returns the name of an event in the table, or `None` for one that no trace keeps.
fn name(event: Event, is_outermost: bool) -> Option<&'static str> {
    Some(match event {
        Event::Enter => "enter",
        Event::Leave => "leave",
        Event::Idle => "idle",
        Event::Active(SearchEnd::Job) => "found",
        Event::Active(SearchEnd::Latch) if is_outermost => "stop",
        Event::Active(SearchEnd::Latch) => "latch",
        Event::Active(_) => "operation",
        Event::Sleep => "sleep",
        Event::TurnedBack => "turned-back",
        Event::Wake(_) => "wake",
        Event::FruitlessWake => "fruitless",
        Event::Job(_) => "job",
        Event::JobEnd => "job-end",
        Event::Post { .. } => "post",
        Event::DequeFull => "deque-full",
        Event::Steal { .. } => "steal",
        Event::Moved { .. } => "moved",
        Event::Revocation { .. } => "revocation",
        Event::Search | Event::StealAttempt { .. } | Event::StealRetry { .. } => return None,
        _ => "an event of a pool with guests, labels or blocked workers",
    })
}

#[test]
fn an_event_that_cannot_be_is_noticed() {
    let shown = Transitions::new();
    for event in [Event::Enter, Event::Idle, Event::Sleep] {
        shown.observe(event);
    }
    assert_eq!(
        shown.check(),
        Err("asleep at the end, in 0 jobs".to_owned())
    );
    shown.observe(Event::DequeFull);
    assert_eq!(shown.check(), Err("DequeFull while asleep".to_owned()));
}

#[test]
fn a_job_that_does_not_end_is_noticed() {
    let shown = Transitions::new();
    for event in [Event::Enter, Event::Job(JobName::UNKNOWN), Event::Idle] {
        shown.observe(event);
    }
    for event in [Event::Active(SearchEnd::Latch), Event::JobEnd, Event::Idle] {
        shown.observe(event);
    }
    for event in [Event::Active(SearchEnd::Latch), Event::Leave] {
        shown.observe(event);
    }
    assert_eq!(shown.check(), Ok(8));
    shown.observe(Event::Enter);
    shown.observe(Event::Job(JobName::UNKNOWN));
    assert_eq!(
        shown.check(),
        Err("active at the end, in 1 jobs".to_owned())
    );
}
