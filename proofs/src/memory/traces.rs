//! What the threads may do together: which write each read has its value from.
//!
//! No value comes from nothing, so each execution can be built one read after the other, where a
//! read has its value from a write that is there already. What a thread does between two reads
//! follows from them.

use std::collections::HashSet;

use super::{CheckError, event::Event, relation::MAX_EVENTS};
use crate::litmus::{Litmus, Location, Operand, Order, Register, Statement, Test, Update, Value};

/// What one thread does in an execution.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    pub(super) events: Vec<Event>,
    /// For each event that reads, in their order, from which write it does.
    pub(super) sources: Vec<Source>,
    /// What the registers hold that the thread has written.
    pub(super) registers: Vec<Option<Value>>,
}

/// The write that a read has its value from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The first value of the location.
    First,
    /// An event of a thread, by its place in the trace.
    Write(usize, usize),
}

/// What all threads do in an execution.
pub(super) struct Traces {
    pub(super) of_threads: Vec<Trace>,
    /// For what the threads wait that have not ended: each of them is before an `await`.
    pub(super) waits: Vec<Wait>,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) thread: usize,
    pub(super) location: Location,
    pub(super) test: Test,
}

/// Calls a closure with all that the threads may do, once each. With `with_waits`, that includes
/// executions in which threads wait, up to there.
///
/// # Errors
/// [`CheckError::TooManyEvents`], or that of the closure.
pub(super) fn for_each(
    litmus: &Litmus,
    with_waits: bool,
    found: &mut dyn FnMut(Traces) -> Result<(), CheckError>,
) -> Result<(), CheckError> {
    let begin = litmus.threads.iter().map(|statements| Running {
        trace: Trace {
            events: Vec::new(),
            sources: Vec::new(),
            registers: vec![None; litmus.registers.len()],
        },
        rest: vec![statements.as_slice()],
    });
    let begin = begin.collect();
    Exploration {
        litmus,
        with_waits,
        seen: HashSet::new(),
        found,
    }
    .explore(begin)
}

/// A thread that is on its way.
#[derive(Clone)]
struct Running<'l> {
    trace: Trace,
    /// The statements that it has not executed, the innermost ones last.
    rest: Vec<&'l [Statement]>,
}

struct Exploration<'e> {
    litmus: &'e Litmus,
    with_waits: bool,
    /// The sources of all reads, in each state that was explored.
    seen: HashSet<Box<[usize]>>,
    found: &'e mut dyn FnMut(Traces) -> Result<(), CheckError>,
}

impl<'e> Exploration<'e> {
    fn explore(&mut self, mut threads: Vec<Running<'e>>) -> Result<(), CheckError> {
        threads.iter_mut().for_each(Running::run_to_read);
        let events = threads.iter().map(|thread| thread.trace.events.len());
        let events = events.sum::<usize>() + self.litmus.locations.len();
        if events > MAX_EVENTS {
            let maximum = MAX_EVENTS;
            return Err(CheckError::TooManyEvents { events, maximum });
        }
        if !self.seen.insert(key(&threads)) {
            return Ok(());
        }
        let is_at = |thread: &usize| threads[*thread].next().is_some();
        let wait_of = |thread: usize| match threads[thread].next() {
            Some(&Statement::Await(location, test, _)) => Some(Wait {
                thread,
                location,
                test,
            }),
            _ => None,
        };
        let waits = |thread: &usize| wait_of(*thread).is_some();
        let reading: Vec<_> = (0..threads.len()).filter(is_at).collect();
        let all_wait = reading.iter().all(waits);
        if reading.is_empty() || all_wait && self.with_waits {
            let traces = threads.iter().map(|thread| thread.trace.clone());
            let of_threads = traces.collect();
            let waits = reading.iter().filter_map(|&thread| wait_of(thread));
            let waits = waits.collect();
            (self.found)(Traces { of_threads, waits })?;
        }
        // A read whose location no other thread will write to needs not wait for any of them. One
        // that may wait comes last: without it, the others go on. So they do up to a race, which
        // may lie before the end of a wait or behind those of others.
        let is_free = |reader: &&usize| {
            let location = threads[**reader].next().and_then(location_of);
            let may_write = |rest: &&[Statement]| location.is_some_and(|it| may_write(rest, it));
            let mut others = (0..threads.len()).filter(|other| other != *reader);
            (all_wait && !self.with_waits || !waits(reader))
                && !others.any(|other| threads[other].rest.iter().any(may_write))
        };
        let free = reading.iter().find(is_free).copied();
        let reading = free.map_or(reading, |reader| vec![reader]);
        for reader in reading {
            for source in sources(&threads, reader) {
                let value = self.value_of(&threads, reader, source);
                let mut longer = threads.clone();
                if longer[reader].read(value, source) && is_atomic(&longer) {
                    self.explore(longer)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the value that the next read of a thread has from a source.
    fn value_of(&self, threads: &[Running<'_>], reader: usize, source: Source) -> Value {
        let location = threads[reader].next().and_then(location_of);
        let location = location.expect("the next statement reads");
        match source {
            Source::First => self.litmus.initial[location],
            Source::Write(thread, event) => {
                let value = threads[thread].trace.events[event].written();
                value.expect("a source is a write")
            }
        }
    }
}

/// Returns what distinguishes one state from the others: the rest follows from the sources.
fn key(threads: &[Running<'_>]) -> Box<[usize]> {
    let mut key = Vec::new();
    for thread in threads {
        key.push(thread.trace.sources.len());
        key.extend(thread.trace.sources.iter().map(|source| match source {
            Source::First => 0,
            Source::Write(thread, event) => 1 + thread * MAX_EVENTS + event,
        }));
    }
    key.into()
}

/// Returns the location that a statement reads.
fn location_of(statement: &Statement) -> Option<Location> {
    match statement {
        Statement::Load(_, location, _)
        | Statement::Update(_, location, ..)
        | Statement::Await(location, ..) => Some(*location),
        _ => None,
    }
}

/// Whether one of some statements may write to a location.
fn may_write(statements: &[Statement], location: Location) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Store(written, ..) | Statement::Update(_, written, ..) => *written == location,
        Statement::If(_, _, then, otherwise) => {
            may_write(then, location) || may_write(otherwise, location)
        }
        _ => false,
    })
}

/// Returns the writes from which the next read of a thread may have its value. Without those of
/// which the thread itself has seen a later one, which would not be coherent.
fn sources(threads: &[Running<'_>], reader: usize) -> Vec<Source> {
    let Some(location) = threads[reader].next().and_then(location_of) else {
        return Vec::new();
    };
    let is_here = |event: &Event| event.location() == Some(location);
    let mut sources = vec![Source::First];
    for (thread, running) in threads.iter().enumerate() {
        let events = running.trace.events.iter().enumerate();
        let writes = events.filter(|(_, event)| is_here(event) && event.written().is_some());
        sources.extend(writes.map(|(event, _)| Source::Write(thread, event)));
    }
    let own = &threads[reader].trace;
    let mut own_sources = own.sources.iter();
    for (place, event) in own.events.iter().enumerate() {
        let source = event.read().and_then(|_| own_sources.next().copied());
        if !is_here(event) {
            continue;
        }
        if let Some(seen) = source {
            sources.retain(|source| !is_older(*source, seen, reader, place));
        }
        if event.written().is_some() {
            let seen = Source::Write(reader, place);
            sources.retain(|source| !is_older(*source, seen, reader, place));
        }
    }
    sources
}

/// Whether a thread has seen that a write is older than the one that it sees at a place.
fn is_older(write: Source, seen: Source, reader: usize, place: usize) -> bool {
    match (write, seen) {
        _ if write == seen => false,
        (Source::First, _) => true,
        (Source::Write(thread, event), _) if thread == reader => event < place,
        (Source::Write(thread, event), Source::Write(other, later)) => {
            thread == other && event < later
        }
        (Source::Write(..), Source::First) => false,
    }
}

/// Whether no two updates have their values from the same write.
fn is_atomic(threads: &[Running<'_>]) -> bool {
    let mut taken = Vec::new();
    for thread in threads {
        let events = thread.trace.events.iter();
        let reads = events.filter(|event| event.read().is_some());
        for (event, source) in reads.zip(&thread.trace.sources) {
            if event.is_update() {
                taken.push((event.location(), *source));
            }
        }
    }
    let mut others = taken.iter().enumerate();
    others.all(|(place, it)| !taken[..place].contains(it))
}

impl<'l> Running<'l> {
    /// Returns the next statement, if there is one.
    fn next(&self) -> Option<&'l Statement> {
        self.rest.iter().rev().find_map(|rest| rest.first())
    }

    /// Takes the next statement.
    fn take(&mut self) -> Option<&'l Statement> {
        while let Some(rest) = self.rest.last_mut() {
            if let Some((next, after)) = rest.split_first() {
                *rest = after;
                return Some(next);
            }
            self.rest.pop();
        }
        None
    }

    /// Executes all statements before the next one that reads.
    fn run_to_read(&mut self) {
        while let Some(statement) = self.next()
            && location_of(statement).is_none()
        {
            self.take();
            match statement {
                Statement::Store(location, operand, order) => {
                    let value = self.trace.value(*operand);
                    self.push(Event::Write(*location, value, *order));
                }
                Statement::Fence(order) => self.push(Event::Fence(*order)),
                Statement::ProcessFence => {
                    self.push(Event::ProcessFenceBegins);
                    self.push(Event::ProcessFenceEnds);
                }
                Statement::If(register, test, then, otherwise) => {
                    let holds = self.trace.passes(*register, *test);
                    self.rest.push(if holds { then } else { otherwise });
                }
                Statement::Load(..) | Statement::Update(..) | Statement::Await(..) => {}
            }
        }
    }

    /// Executes the next statement, which reads a value from a source. Returns false if it waits
    /// for another value.
    fn read(&mut self, value: Value, source: Source) -> bool {
        match self.take() {
            Some(Statement::Load(register, location, order)) => {
                self.push(Event::Read(*location, value, *order));
                self.trace.registers[*register] = Some(value);
            }
            Some(Statement::Update(register, location, update, order)) => {
                let event = self.trace.update(*location, value, *update, *order);
                self.push(event);
                self.trace.registers[*register] = Some(value);
            }
            Some(Statement::Await(location, test, order)) => {
                if !test.passes(value) {
                    return false;
                }
                self.push(Event::Read(*location, value, *order));
            }
            _ => return false,
        }
        self.trace.sources.push(source);
        true
    }

    fn push(&mut self, event: Event) {
        self.trace.events.push(event);
    }
}

impl Trace {
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
