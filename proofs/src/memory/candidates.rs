//! Puts threads together: in which order locations change, and where process fences reach them.

use super::{
    CheckError,
    axioms::{Base, is_coherent, is_sequential},
    event::Event,
    relation::{MAX_EVENTS, Relation, members},
    traces::{self, Source, Trace, Wait},
};
use crate::litmus::{Litmus, Location, Order, Register, Value};

/// An execution that the model allows.
pub(super) struct Execution<'c> {
    pub(super) base: &'c Base,
    /// From each write to those that overwrite it.
    pub(super) changes: Relation,
    registers: &'c [Option<Value>],
    /// For what the threads wait that have not ended.
    pub(super) waits: &'c [Wait],
}

impl Execution<'_> {
    pub(super) fn register(&self, register: Register) -> Option<Value> {
        self.registers[register]
    }

    /// Returns what a location holds at the end.
    pub(super) fn last_value(&self, location: Location) -> Value {
        let writes = self.base.writes_to(location);
        let mut writes = members(writes);
        let last = writes.find(|&write| self.changes.after(write) == 0);
        let value = last.and_then(|write| self.base.events[write].written());
        value.expect("each location has a first value, and the order of its changes an end")
    }

    /// Whether each thread has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.waits.is_empty()
    }

    /// Whether a thread waits, and nothing is left that would end the wait. A thread that reads
    /// again and again finds the last value at some time.
    pub(super) fn waits_without_end(&self) -> bool {
        let may_end = |wait: &Wait| wait.test.passes(self.last_value(wait.location));
        !self.has_ended() && !self.waits.iter().any(may_end)
    }

    /// Whether two threads access a location at the same time, one of them not atomically, and one
    /// of them writes.
    pub(super) fn has_race(&self) -> bool {
        let base = self.base;
        let accesses = || (0..base.events.len()).filter(|&it| !base.events[it].is_fence());
        accesses().any(|first| {
            accesses().filter(|&second| first < second).any(|second| {
                let (a, b) = (base.events[first], base.events[second]);
                a.location() == b.location()
                    && base.threads[first] != base.threads[second]
                    && (a.written().is_some() || b.written().is_some())
                    && !(a.is_atomic() && b.is_atomic())
                    && !base.happens_before.has(first, second)
                    && !base.happens_before.has(second, first)
            })
        })
    }
}

/// Calls a closure with each execution that the model allows, with `with_waits` also those in which
/// threads wait without end. Returns how many were considered.
///
/// # Errors
/// [`CheckError::TooManyEvents`].
pub(super) fn for_each(
    litmus: &Litmus,
    with_waits: bool,
    found: &mut dyn FnMut(&Execution<'_>),
) -> Result<u64, CheckError> {
    let mut search = Search {
        litmus,
        chosen: Vec::new(),
        waits: Vec::new(),
        candidates: 0,
        found,
    };
    traces::for_each(litmus, with_waits, &mut |traces| {
        search.chosen = traces.of_threads;
        search.waits = traces.waits;
        search.place_fences(0)
    })?;
    Ok(search.candidates)
}

struct Search<'s> {
    litmus: &'s Litmus,
    /// The trace of each thread.
    chosen: Vec<Trace>,
    /// For what these wait.
    waits: Vec<Wait>,
    candidates: u64,
    found: &'s mut dyn FnMut(&Execution<'_>),
}

impl Search<'_> {
    /// Chooses where each other thread executes its part of each process fence, from the fence with
    /// this number on.
    fn place_fences(&mut self, number: usize) -> Result<(), CheckError> {
        let caller = self.caller_of(number);
        let Some(caller) = caller else {
            let mut base = self.base()?;
            self.choose_changes(&mut base);
            return Ok(());
        };
        self.place_part(number, caller, 0)
    }

    fn place_part(
        &mut self,
        number: usize,
        caller: usize,
        thread: usize,
    ) -> Result<(), CheckError> {
        if thread == self.chosen.len() {
            return self.place_fences(number + 1);
        }
        if thread == caller {
            return self.place_part(number, caller, thread + 1);
        }
        for place in 0..=self.chosen[thread].events.len() {
            self.chosen[thread]
                .events
                .insert(place, Event::RemoteFence(number));
            self.place_part(number, caller, thread + 1)?;
            self.chosen[thread].events.remove(place);
        }
        Ok(())
    }

    /// Returns the thread that calls a process fence.
    fn caller_of(&self, number: usize) -> Option<usize> {
        let begins = |event: &Event| *event == Event::ProcessFenceBegins;
        let callers = self.chosen.iter().enumerate().flat_map(|(thread, trace)| {
            let count = trace.events.iter().filter(|event| begins(event)).count();
            std::iter::repeat_n(thread, count)
        });
        callers.clone().nth(number)
    }

    /// Chooses in which order the writes to each location happen.
    fn choose_changes(&mut self, base: &mut Base) {
        self.candidates += 1;
        if !base.relate() {
            return;
        }
        let registers = self.registers();
        let none = Relation::empty(base.events.len());
        self.choose_orders(base, &registers, 0, &none);
    }

    /// Chooses the orders of the writes from one location on, after those of the others.
    fn choose_orders(
        &mut self,
        base: &Base,
        registers: &[Option<Value>],
        location: Location,
        changes: &Relation,
    ) {
        if location < self.litmus.locations.len() {
            orders_of(base, location, &mut |order| {
                self.choose_orders(base, registers, location + 1, &changes.union(order));
            });
        } else if is_sequential(base, changes) {
            (self.found)(&Execution {
                base,
                changes: changes.clone(),
                registers,
                waits: &self.waits,
            });
        }
    }

    fn registers(&self) -> Vec<Option<Value>> {
        let register = |register| {
            self.chosen
                .iter()
                .find_map(|trace| trace.registers[register])
        };
        (0..self.litmus.registers.len()).map(register).collect()
    }

    /// Returns the events of the chosen traces, after the first values of all locations.
    fn base(&self) -> Result<Base, CheckError> {
        let initial = self.litmus.initial.iter().enumerate();
        let mut events: Vec<_> = initial
            .map(|(location, &value)| Event::Write(location, value, Order::Relaxed))
            .collect();
        let mut threads = vec![None; events.len()];
        for (thread, trace) in self.chosen.iter().enumerate() {
            events.extend(&trace.events);
            threads.extend(trace.events.iter().map(|_| Some(thread)));
        }
        if events.len() > MAX_EVENTS {
            return Err(CheckError::TooManyEvents {
                events: events.len(),
                maximum: MAX_EVENTS,
            });
        }
        let mut base = Base::new(events, threads);
        self.relate_sources(&mut base);
        Ok(base)
    }

    /// Notes from which write each read has its value.
    fn relate_sources(&self, base: &mut Base) {
        // Where the events of each thread are, of which sources know the places without the parts
        // of process fences.
        let places: Vec<Vec<usize>> = (0..self.chosen.len())
            .map(|thread| {
                let is_own = |event: &usize| {
                    base.threads[*event] == Some(thread)
                        && !matches!(base.events[*event], Event::RemoteFence(_))
                };
                (0..base.events.len()).filter(is_own).collect()
            })
            .collect();
        for (thread, trace) in self.chosen.iter().enumerate() {
            let reads = places[thread].iter().copied();
            let reads = reads.filter(|&event| base.events[event].read().is_some());
            let pairs: Vec<_> = reads.zip(&trace.sources).collect();
            for (read, source) in pairs {
                let source = match *source {
                    Source::First => base.events[read].location().expect("a read has one"),
                    Source::Write(thread, event) => places[thread][event],
                };
                base.reads_from.add(source, read);
            }
        }
    }
}

/// Calls a closure with each order in which the writes to a location may happen: the first value
/// first, an update right after the write that it reads from, and nothing against what happens
/// before.
fn orders_of(base: &Base, location: Location, found: &mut dyn FnMut(&Relation)) {
    let writes: Vec<_> = members(base.writes_to(location)).collect();
    permute(base, &mut vec![writes[0]], &writes, &mut |order| {
        let mut changes = Relation::empty(base.events.len());
        for (place, &write) in order.iter().enumerate() {
            order[place + 1..]
                .iter()
                .for_each(|&later| changes.add(write, later));
        }
        if is_coherent(base, location, &changes) {
            found(&changes);
        }
    });
}

fn permute(base: &Base, order: &mut Vec<usize>, writes: &[usize], found: &mut dyn FnMut(&[usize])) {
    if order.len() == writes.len() {
        return found(order);
    }
    let last = *order.last().expect("the first value is there");
    for &write in writes {
        if order.contains(&write) {
            continue;
        }
        let comes_too_early =
            |other: &usize| !order.contains(other) && base.happens_before.has(*other, write);
        let source = |update: usize| base.reads_from.has(last, update);
        let is_torn_off = base.events[write].is_update() && !source(write);
        if !is_torn_off && !writes.iter().any(comes_too_early) {
            order.push(write);
            permute(base, order, writes, found);
            order.pop();
        }
    }
}
