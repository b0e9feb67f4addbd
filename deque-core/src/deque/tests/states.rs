//! All states of a small biased deque, with the store buffer of its owner: bias, revocation, answer
//! and bias again, several times. Without any one rule of the protocol, an element is taken twice.
//!
//! The owner's stores go into a buffer and leave it in any order, as on weak hardware. Only stores
//! to one location keep their order, and a releasing store stays behind those before it. A full
//! fence and a releasing exchange wait until the buffer is empty; a process fence empties it.
//! Thieves only load and exchange, in program order; the loom models cover what they may read too
//! early.
//!
//! `STATES_OPERATIONS` says how many pushes and pops the owner makes.

use core::hash::{BuildHasherDefault, Hasher};
use std::{collections::HashSet, vec::Vec};

mod model;
mod steps;

use model::{BUFFER, Mode, Owner, SLOTS, State, Thief, Top, Without};

/// Multiplies and rotates; the standard hasher would take most of the time.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u8(byte));
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// Explores all states, or until a violation. Returns how many there were, and in how many a thief
/// has ended a revocation of the last bias on the strength of an answer.
fn explore(
    without: Without,
    operations: u8,
    biases: u8,
    steals: [u8; 2],
) -> Result<(usize, usize), usize> {
    let first = State {
        // From 1 on, so that a pop of an empty deque has somewhere to go.
        top: Top {
            index: 1,
            mode: Mode::Fenced,
        },
        bottom: 1,
        is_answered: false,
        slots: [0; SLOTS],
        buffer: [None; BUFFER],
        owner: Owner::Idle,
        end: 1,
        operations_left: operations,
        biases_left: biases,
        pushed: 0,
        taken: 0,
        thieves: steals.map(|steals| (Thief::Idle, steals)),
    };
    let mut seen: HashSet<State, BuildHasherDefault<Mix>> = HashSet::default();
    let (mut open, mut next, mut late_answers) = (std::vec![first], Vec::new(), 0);
    while let Some(state) = open.pop() {
        if state.follow(without, &mut next).is_err() {
            return Err(seen.len());
        }
        for mut state in next.drain(..) {
            // Thieves with the same number of steals are as good as each other.
            state.thieves.sort_unstable();
            if seen.insert(state) {
                let ends = |(thief, _): &(Thief, u8)| matches!(thief, Thief::End(_, true));
                let is_late = state.biases_left == 0 && state.is_answered;
                late_answers += usize::from(is_late && state.thieves.iter().any(ends));
                open.push(state);
            }
        }
    }
    Ok((seen.len(), late_answers))
}

/// Returns how many pushes and pops the owner makes: fewer in tests that are not optimized.
fn operations() -> u8 {
    let default = if cfg!(debug_assertions) { 4 } else { 6 };
    std::env::var("STATES_OPERATIONS").map_or(default, |operations| {
        operations.parse().expect("STATES_OPERATIONS is a number")
    })
}

#[test]
fn no_element_is_taken_twice_in_any_state() {
    let (states, late_answers) =
        explore(Without::Nothing, operations(), 3, [2, 2]).unwrap_or_else(|states| {
            panic!("an element was taken twice, or is lost, after {states} states");
        });
    std::println!("{states} states, {late_answers} with an answer after the third bias");
    assert!(late_answers > 0, "the third bias is not answered");
}

/// Checks that the mutant fails with this many pushes, pops and biases, the fewest that suffice.
fn does_harm(without: Without, operations: u8, biases: u8) {
    let result = explore(without, operations, biases, [2, 1]);
    assert!(result.is_err(), "{without:?} does no harm");
}

#[test]
fn the_owner_needs_its_rules() {
    does_harm(Without::RuleForK, 2, 1);
    does_harm(Without::OwnersFence, 3, 1);
}

#[test]
fn batches_need_their_rules() {
    does_harm(Without::Closing, 4, 0);
    does_harm(Without::TakingByOpening, 4, 0);
}

#[test]
fn thieves_need_their_rules() {
    does_harm(Without::WaitingBeforeFenced, 3, 1);
    does_harm(Without::WaitingWhileRevoking, 3, 1);
    does_harm(Without::ProcessFence, 3, 1);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "half a million states")]
fn an_answer_must_be_taken_back() {
    does_harm(Without::TakingAnswersBack, 5, 2);
    does_harm(Without::ReleasingBias, 5, 2);
}
