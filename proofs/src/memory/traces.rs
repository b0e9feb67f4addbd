//! What one thread may do, whatever it reads.

use std::collections::BTreeSet;

use super::event::Event;
use crate::litmus::{Litmus, Location, Operand, Order, Register, Statement, Test, Update, Value};

/// One way through a thread's statements.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    pub(super) events: Vec<Event>,
    /// What the registers hold that the thread has written.
    pub(super) registers: Vec<Option<Value>>,
}

/// Returns the traces of each thread, for all values that a location can have.
///
/// A value can come about by each write once, since no value comes from nothing. So as many rounds
/// as there are writes find all of them.
pub(super) fn of_threads(litmus: &Litmus) -> Vec<Vec<Trace>> {
    let initial = litmus.initial.iter().map(|&value| BTreeSet::from([value]));
    let mut values: Values = initial.collect();
    let writes: usize = litmus
        .threads
        .iter()
        .map(|thread| count_writes(thread))
        .sum();
    for _ in 0..=writes {
        let before = values.clone();
        for thread in &litmus.threads {
            for trace in of_thread(litmus, thread, &before, Waits::Pass) {
                for event in trace.events {
                    if let (Some(location), Some(value)) = (event.location(), event.written()) {
                        values[location].insert(value);
                    }
                }
            }
        }
        if values == before {
            break;
        }
    }
    let threads = litmus.threads.iter();
    threads
        .map(|thread| of_thread(litmus, thread, &values, Waits::Read))
        .collect()
}

/// What becomes of statements that wait for a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// They read it.
    Read,
    /// They are left out, while it is not known yet which values there are: what a thread writes
    /// before it waits may be what another one needs to write the value.
    Pass,
}

/// The values that each location may have at some time.
type Values = Vec<BTreeSet<Value>>;

fn count_writes(statements: &[Statement]) -> usize {
    let writes = statements.iter().map(|statement| match statement {
        Statement::Store(..) | Statement::Update(..) => 1,
        Statement::If(_, _, then, otherwise) => count_writes(then) + count_writes(otherwise),
        _ => 0,
    });
    writes.sum()
}

fn of_thread(
    litmus: &Litmus,
    statements: &[Statement],
    values: &Values,
    waits: Waits,
) -> Vec<Trace> {
    let begin = Trace {
        events: Vec::new(),
        registers: vec![None; litmus.registers.len()],
    };
    extend(vec![begin], statements, values, waits)
}

/// Returns all ways in which traces go on with some statements.
fn extend(
    traces: Vec<Trace>,
    statements: &[Statement],
    values: &Values,
    waits: Waits,
) -> Vec<Trace> {
    statements.iter().fold(traces, |traces, statement| {
        traces
            .into_iter()
            .flat_map(|trace| step(trace, statement, values, waits))
            .collect()
    })
}

fn step(trace: Trace, statement: &Statement, values: &Values, waits: Waits) -> Vec<Trace> {
    match statement {
        Statement::Load(register, location, order) => values[*location]
            .iter()
            .map(|&value| {
                let read = Event::Read(*location, value, *order);
                trace.then(read).with(*register, value)
            })
            .collect(),
        Statement::Store(location, operand, order) => {
            let value = trace.value(*operand);
            vec![trace.then(Event::Write(*location, value, *order))]
        }
        Statement::Update(register, location, update, order) => values[*location]
            .iter()
            .map(|&old| {
                let event = trace.update(*location, old, *update, *order);
                trace.then(event).with(*register, old)
            })
            .collect(),
        Statement::Await(..) if waits == Waits::Pass => vec![trace],
        Statement::Await(location, test, order) => values[*location]
            .iter()
            .filter(|&&value| test.passes(value))
            .map(|&value| trace.then(Event::Read(*location, value, *order)))
            .collect(),
        Statement::Fence(order) => vec![trace.then(Event::Fence(*order))],
        Statement::ProcessFence => {
            let begun = trace.then(Event::ProcessFenceBegins);
            vec![begun.then(Event::ProcessFenceEnds)]
        }
        Statement::If(register, test, then, otherwise) => {
            let way = if trace.passes(*register, *test) {
                then
            } else {
                otherwise
            };
            extend(vec![trace], way, values, waits)
        }
    }
}

impl Trace {
    fn then(&self, event: Event) -> Self {
        let mut longer = self.clone();
        longer.events.push(event);
        longer
    }

    fn with(mut self, register: Register, value: Value) -> Self {
        self.registers[register] = Some(value);
        self
    }

    fn passes(&self, register: Register, test: Test) -> bool {
        self.registers[register].is_some_and(|value| test.passes(value))
    }

    /// A register that was not written on this way counts as zero.
    fn value(&self, operand: Operand) -> Value {
        match operand {
            Operand::Constant(value) => value,
            Operand::Register(register, plus) => {
                self.registers[register].unwrap_or(0).wrapping_add(plus)
            }
        }
    }

    fn update(&self, location: Location, old: Value, update: Update, order: Order) -> Event {
        let new = match update {
            Update::Add(operand) => old.wrapping_add(self.value(operand)),
            Update::Swap(operand) => self.value(operand),
            Update::CompareExchange(expected, new, failure) => {
                if old != self.value(expected) {
                    return Event::Read(location, old, failure);
                }
                self.value(new)
            }
        };
        Event::Update(location, old, new, order)
    }
}
