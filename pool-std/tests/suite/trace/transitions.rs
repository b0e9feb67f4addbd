//! What a worker may show next: a table, which `proofs/tests/traces.rs` compares with the model of
//! a pool.

use std::{collections::HashMap, sync::OnceLock};

use pool_std::trace::{Event, SearchEnd};

/// The state of a worker before its first event.
pub(super) const ABSENT: &str = "absent";

type Table = HashMap<(&'static str, &'static str), &'static str>;

/// Returns the state of a worker after an event, or `None` if the worker cannot show it.
/// `is_outermost` says that the worker runs no job.
pub(super) fn next_state(
    state: &'static str,
    event: Event,
    is_outermost: bool,
) -> Option<&'static str> {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let event = name(event, is_outermost)?;
    TABLE.get_or_init(read).get(&(state, event)).copied()
}

fn read() -> Table {
    let lines = include_str!("transitions.txt").lines();
    let transitions = lines.filter_map(|line| {
        let (transition, _) = line.split_once('#').unwrap_or((line, ""));
        let words: Vec<_> = transition.split_whitespace().collect();
        match words[..] {
            [] => None,
            [state, event, next] => Some(((state, event), next)),
            _ => panic!("{line}"),
        }
    });
    transitions.collect()
}

/// Returns the name of an event in the table.
fn name(event: Event, is_outermost: bool) -> Option<&'static str> {
    Some(match event {
        Event::Enter => "enter",
        Event::Leave => "leave",
        Event::Idle => "idle",
        Event::Active(SearchEnd::Job) => "found",
        Event::Active(SearchEnd::Latch) if is_outermost => "stop",
        Event::Active(SearchEnd::Latch) => "latch",
        Event::Active(SearchEnd::Operation) => "operation",
        Event::Sleep => "sleep",
        Event::Wake(_) => "wake",
        Event::FruitlessWake => "fruitless",
        Event::GuestArrived => "guest-arrived",
        Event::GuestLeft => "guest-left",
        Event::Job(_) => "job",
        Event::JobEnd => "job-end",
        Event::Post { .. } => "post",
        Event::DequeFull => "deque-full",
        Event::Steal { .. } => "steal",
        Event::Moved { .. } => "moved",
        Event::Revocation { .. } => "revocation",
        Event::TurnedBack => "turned-back",
        Event::LatchSet { .. } => "latch-set",
        Event::Blocked => "blocked",
        Event::Unblocked => "unblocked",
        Event::Label(_) => "label",
        Event::LabelEnd => "label-end",
        _ => return None,
    })
}
