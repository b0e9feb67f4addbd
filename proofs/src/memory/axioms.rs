//! The model: which executions there are.
//!
//! This is RC11, with the release sequences of C++20:
//!
//! - **Happens before** is the order of each thread, and what synchronizes: a write that releases,
//!   or is after a fence that does, with a read of its release sequence that acquires, or is before
//!   a fence that does. A release sequence is a write and the updates that read from it, one from
//!   the other.
//! - **Coherence**: a read does not read what was overwritten before it, nor from what happens
//!   after it, and writes do not change places with what happens before them.
//! - **Atomicity**: an update comes right after the write that it reads from. The search makes no
//!   other orders.
//! - **Sequential consistency**: there is an order of all accesses and fences that are sequentially
//!   consistent, which agrees with what they observe.
//! - **No value comes from nothing**: what a thread does and what it reads make no circle. That
//!   leaves load buffering out: hardware and C++ allow it, and no compiler of Rust makes it of code
//!   without data dependencies that it removes.
//!
//! Source: O. Lahav, V. Vafeiadis, J. Kang, C.-K. Hur, D. Dreyer, *Repairing sequential consistency
//! in C/C++11* (PLDI 2017), sections 3 and 4.

use super::{
    event::Event,
    relation::{Relation, Set, members, only},
};
use crate::litmus::{Location, Order};

/// The events of an execution, and what is known of them before the order of writes is chosen.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) events: Vec<Event>,
    /// The thread of each event. The first values belong to none.
    pub(super) threads: Vec<Option<usize>>,
    /// What a thread does before what.
    program_order: Relation,
    /// From each write to the reads that have its value.
    pub(super) reads_from: Relation,
    pub(super) happens_before: Relation,
}

impl Base {
    pub(super) fn new(events: Vec<Event>, threads: Vec<Option<usize>>) -> Self {
        let count = events.len();
        let mut program_order = Relation::empty(count);
        for from in 0..count {
            for to in from + 1..count {
                // The first values are there before anything happens.
                if threads[from].is_none() && threads[to].is_some()
                    || threads[from].is_some() && threads[from] == threads[to]
                {
                    program_order.add(from, to);
                }
            }
        }
        Self {
            events,
            threads,
            program_order,
            reads_from: Relation::empty(count),
            happens_before: Relation::empty(count),
        }
    }

    /// Finds out what happens before what. Returns false if there is no such execution.
    pub(super) fn relate(&mut self) -> bool {
        if !self.program_order.union(&self.reads_from).is_acyclic() {
            return false;
        }
        let synchronizes = self.synchronizes().union(&self.process_fences());
        self.happens_before = self.program_order.union(&synchronizes).closure();
        self.happens_before.is_irreflexive()
    }

    fn set(&self, is_in: impl Fn(Event) -> bool) -> Set {
        let events = self.events.iter().enumerate();
        let is_in = |(event, &it): (usize, &Event)| if is_in(it) { only(event) } else { 0 };
        events.map(is_in).fold(0, |set, event| set | event)
    }

    fn all(&self) -> Set {
        self.set(|_| true)
    }

    pub(super) fn writes_to(&self, location: Location) -> Set {
        self.set(|event| event.written().is_some() && event.location() == Some(location))
    }

    fn synchronizes(&self) -> Relation {
        let (count, all) = (self.events.len(), self.all());
        let fences = self.set(Event::is_fence);
        let atomics = self.set(Event::is_atomic);
        let updates = self.set(Event::is_update);
        let releases = self.set(|event| event.order().releases() && event.read().is_none())
            | self.set(|event| event.order().releases() && event.is_update());
        let acquires = self.set(|event| event.order().acquires() && event.written().is_none())
            | self.set(|event| event.order().acquires() && event.is_update());
        let writes = self.set(|event| event.written().is_some());
        let reads = self.set(|event| event.read().is_some());

        let chain = self.reads_from.between(all, updates).closure().optional();
        let sequence = chain.between(writes & atomics, all);
        // From a fence to the writes after it, or from a write to itself.
        let before = self
            .program_order
            .between(fences & releases, writes & atomics)
            .union(&Relation::identity(count, writes & atomics & releases));
        let after = self
            .program_order
            .between(reads & atomics, fences & acquires)
            .union(&Relation::identity(count, reads & atomics & acquires));
        let observed = self.reads_from.between(all, reads & atomics);
        before.then(&sequence).then(&observed).then(&after)
    }

    /// The begin of a process fence comes before each thread's part of it, and its end after that.
    fn process_fences(&self) -> Relation {
        let mut relation = Relation::empty(self.events.len());
        let of_kind = |kind: Event| members(self.set(move |event| event == kind));
        let begins = of_kind(Event::ProcessFenceBegins);
        for (number, (begin, end)) in begins.zip(of_kind(Event::ProcessFenceEnds)).enumerate() {
            for part in of_kind(Event::RemoteFence(number)) {
                relation.add(begin, part);
                relation.add(part, end);
            }
        }
        relation
    }
}

/// From each read to the writes that overwrite what it has read.
fn reads_before(base: &Base, changes: &Relation) -> Relation {
    let overwritten = base.reads_from.inverse().then(changes);
    overwritten.filter(|read, write| read != write)
}

/// Whether no thread can tell that a location changes in another order.
pub(super) fn is_coherent(base: &Base, location: Location, changes: &Relation) -> bool {
    let here = base.set(|event| event.location() == Some(location));
    let reads_from = base.reads_from.between(here, here);
    let before = reads_before(base, changes).between(here, here);
    let observed = reads_from.union(changes).union(&before).closure();
    base.happens_before
        .then(&observed.optional())
        .is_irreflexive()
}

/// Whether there is an order of what is sequentially consistent.
pub(super) fn is_sequential(base: &Base, changes: &Relation) -> bool {
    let all = base.all();
    let sequential = base.set(|event| event.order() == Order::SeqCst);
    if sequential == 0 {
        return true;
    }
    let fences = base.set(|event| event.is_fence() && event.order() == Order::SeqCst);
    let happens = &base.happens_before;
    let location = |event: usize| base.events[event].location();
    let is_elsewhere = |from: usize, to: usize| location(from) != location(to);
    let before = reads_before(base, changes);
    let observed = base.reads_from.union(changes).union(&before).closure();

    let elsewhere = base.program_order.filter(is_elsewhere);
    let here =
        happens.filter(|from, to| location(from).is_some() && location(from) == location(to));
    let agrees = base
        .program_order
        .union(&elsewhere.then(happens).then(&elsewhere))
        .union(&here)
        .union(changes)
        .union(&before);
    let count = base.events.len();
    let events = Relation::identity(count, sequential);
    let begins = events.union(&happens.optional().between(fences, all));
    let ends = events.union(&happens.optional().between(all, fences));
    let of_accesses = begins.then(&agrees).then(&ends);
    let of_fences = happens
        .union(&happens.then(&observed).then(happens))
        .between(fences, fences);
    of_accesses.union(&of_fences).is_acyclic()
}
