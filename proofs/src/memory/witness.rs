//! An execution, as text.

use std::fmt::Write as _;

use super::{candidates::Execution, event::Event, relation::members};
use crate::litmus::{Litmus, Order, Test};

/// Returns what each thread did, and from whom it has read.
pub(super) fn text(litmus: &Litmus, execution: &Execution<'_>) -> String {
    let mut text = String::new();
    let base = execution.base;
    let mut last = None;
    for (number, (&event, &thread)) in base.events.iter().zip(&base.threads).enumerate() {
        let Some(thread) = thread else { continue };
        if last != Some(thread) {
            last = Some(thread);
            _ = writeln!(text, "thread {thread}");
        }
        _ = write!(text, "  {number}: {}", described(litmus, event));
        let mut sources = (0..base.events.len()).filter(|&it| base.reads_from.has(it, number));
        if let Some(source) = sources.next() {
            _ = match base.threads[source] {
                None => write!(text, ", the first value"),
                Some(_) => write!(text, ", from {source}"),
            };
        }
        text.push('\n');
    }
    for wait in execution.waits {
        let wanted = match wait.test {
            Test::Is(value) => value.to_string(),
            Test::IsNot(value) => format!("not {value}"),
        };
        let (thread, name) = (wait.thread, &litmus.locations[wait.location]);
        let last = execution.last_value(wait.location);
        _ = writeln!(
            text,
            "thread {thread} waits until {name} is {wanted}, and its last value is {last}"
        );
    }
    for (location, name) in litmus.locations.iter().enumerate() {
        let mut writes: Vec<_> = members(base.writes_to(location)).collect();
        writes.sort_by_key(|&write| std::cmp::Reverse(execution.changes.after(write).count_ones()));
        if writes.len() > 2 {
            let order: Vec<_> = writes[1..].iter().map(ToString::to_string).collect();
            _ = writeln!(
                text,
                "{name} is written by {} in this order",
                order.join(", ")
            );
        }
    }
    text
}

fn described(litmus: &Litmus, event: Event) -> String {
    let order = match event.order() {
        Order::Plain => "plain",
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acqrel",
        Order::SeqCst => "seqcst",
    };
    let name = |location: usize| &litmus.locations[location];
    match event {
        Event::Read(location, value, _) => format!("reads {value} in {} ({order})", name(location)),
        Event::Write(location, value, _) => {
            format!("writes {value} to {} ({order})", name(location))
        }
        Event::Update(location, old, new, _) => {
            format!("changes {} from {old} to {new} ({order})", name(location))
        }
        Event::Fence(_) => format!("fence ({order})"),
        Event::ProcessFenceBegins => "a process fence begins".into(),
        Event::ProcessFenceEnds => "the process fence ends".into(),
        Event::RemoteFence(_) => "its part of a process fence".into(),
    }
}
