//! What the workers of the model show, against what the checker of traces lets a worker show.

use std::collections::{BTreeMap, BTreeSet};

use proofs::pool::{Kind, NAMED, shown};

/// Scenarios that have each event, and take seconds.
const SCENARIOS: [&str; 5] = [
    "one-by-one",
    "join",
    "inbox-and-fork",
    "guest-waits",
    "block-and-release",
];

/// Those that take seconds with `Sockets`, too, whose workers show what those of `Jec` do.
const WITH_SOCKETS: [&str; 2] = ["inbox-and-fork", "guest-waits"];

/// What a worker may show.
struct Transitions {
    next: BTreeMap<(&'static str, &'static str), &'static str>,
    /// Those that workers of the model make.
    of_the_model: BTreeSet<(&'static str, &'static str)>,
}

fn transitions() -> Transitions {
    let text = include_str!("../../pool-std/tests/suite/trace/transitions.txt");
    let (mut next, mut of_the_model) = (BTreeMap::new(), BTreeSet::new());
    for line in text.lines() {
        let (transition, reason) = line.split_once('#').unwrap_or((line, ""));
        let mut words = transition.split_whitespace();
        let Some(state) = words.next() else { continue };
        let [event, after] = [(); 2].map(|()| words.next().expect(line));
        assert_eq!(words.next(), None, "{line}");
        assert_eq!(next.insert((state, event), after), None, "{line}");
        if reason.is_empty() {
            of_the_model.insert((state, event));
        }
    }
    Transitions { next, of_the_model }
}

#[test]
fn workers_of_the_model_show_what_a_trace_may_show_and_all_of_it() {
    let Transitions { next, of_the_model } = transitions();
    let mut seen = BTreeSet::new();
    for kind in Kind::ALL {
        let scenarios: &[&str] = match kind {
            Kind::Sockets | Kind::OneSocket => &WITH_SOCKETS,
            Kind::Jec | Kind::Classic | Kind::Hints => &SCENARIOS,
        };
        for (name, scenario) in NAMED.iter().filter(|(name, _)| scenarios.contains(name)) {
            let steps = shown(kind, *scenario).unwrap_or_else(|failure| panic!("{failure}"));
            let from = |place| steps.range((place, Vec::new(), 0)..(place + 1, Vec::new(), 0));
            // Where the worker is in the model, and in which state its trace is.
            let mut reached = BTreeSet::from([(0, "active")]);
            let mut left: Vec<_> = reached.iter().copied().collect();
            while let Some((place, begin)) = left.pop() {
                for (_, events, to) in from(place) {
                    let mut state = begin;
                    for &event in events {
                        let after = next.get(&(state, event));
                        seen.insert((state, event));
                        let kind = kind.name();
                        state =
                            after.unwrap_or_else(|| panic!("{kind} {name}: {event} while {state}"));
                    }
                    if reached.insert((*to, state)) {
                        left.push((*to, state));
                    }
                }
            }
        }
    }
    seen.insert(("absent", "enter"));
    assert_eq!(seen, of_the_model);
}
