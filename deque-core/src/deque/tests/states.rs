//! All states of a small biased deque, with the store buffer of its owner: bias, revocation, answer and
//! bias again, several times over. Each rule of the protocol, left out, gives an element twice.
//!
//! The owner's stores go into a buffer and leave it in any order, as weak hardware has it: only stores to
//! one place keep their order, and a releasing store stays behind those before it. A full fence and a
//! releasing exchange wait until the buffer is empty; a process fence empties it. Thieves only load and
//! exchange, in program order: what they read too early is the matter of the models with loom.
//!
//! `STATES_OPERATIONS` says how many pushes and pops the owner makes.

use core::hash::{BuildHasherDefault, Hasher};
use std::{collections::HashSet, vec::Vec};

/// What a mutant leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Without {
    Nothing,
    /// The element at the position of the bias is taken without an exchange.
    RuleForK,
    /// The answer is not taken back before biasing.
    TakingAnswersBack,
    /// The exchange that biases does not release the answer that was taken back.
    ReleasingBias,
    /// A revocation ends before the owner has taken a fence.
    WaitingBeforeFenced,
    /// A second thief does not see to the owner's fence itself.
    WaitingWhileRevoking,
    /// The owner takes no fence in fenced and revoking mode.
    OwnersFence,
    /// The process fence does nothing.
    ProcessFence,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Mode {
    Biased,
    Beyond,
    Fenced,
    Revoking,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Top {
    index: u8,
    mode: Mode,
}

impl Top {
    fn after(self) -> Self {
        let mode = match self.mode {
            Mode::Beyond => Mode::Biased,
            mode => mode,
        };
        let index = self.index + 1;
        Self { index, mode }
    }

    fn is_biased(self) -> bool {
        matches!(self.mode, Mode::Biased | Mode::Beyond)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Store {
    Bottom(u8),
    Slot(u8, u8),
    Answered(bool),
}

impl Store {
    fn is_same_place(self, other: Self) -> bool {
        match (self, other) {
            (Self::Bottom(_), Self::Bottom(_)) | (Self::Answered(_), Self::Answered(_)) => true,
            (Self::Slot(one, _), Self::Slot(another, _)) => one == another,
            _ => false,
        }
    }
}

/// Where the owner is in a pop.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Idle,
    Lowered,
    Fencing,
    Fenced,
    Exchange(Top),
}

/// Where a thief is in a steal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Thief {
    Idle,
    /// It has found the deque biased.
    Found(Top),
    /// The owner has to take a fence; whether this thief revokes.
    Wait(Top, bool),
    /// It ends its revocation; whether the owner was awaited before.
    End(Top, bool),
    Look(Top),
    Copy(Top),
    Claim(Top, u8),
}

const SLOTS: usize = 6;
const BUFFER: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    top: Top,
    bottom: u8,
    is_answered: bool,
    slots: [u8; SLOTS],
    buffer: [Option<Store>; BUFFER],
    owner: Owner,
    /// The owner's `bottom`, which in memory may be older.
    end: u8,
    operations_left: u8,
    biases_left: u8,
    pushed: u8,
    taken: u16,
    /// With the steals that each has left.
    thieves: [(Thief, u8); 2],
}

/// An element was taken twice, or is lost.
struct Violation;

/// Those states that can follow.
type Next = Result<(), Violation>;

impl State {
    fn store(&mut self, store: Store) -> bool {
        let free = self.buffer.iter().position(Option::is_none);
        free.is_some_and(|free| {
            self.buffer[free] = Some(store);
            true
        })
    }

    fn is_drained(&self) -> bool {
        self.buffer[0].is_none()
    }

    fn drain_at(&mut self, at: usize) {
        match self.buffer[at].expect("there is a store") {
            Store::Bottom(bottom) => self.bottom = bottom,
            Store::Slot(index, element) => self.slots[usize::from(index)] = element,
            Store::Answered(is_answered) => self.is_answered = is_answered,
        }
        self.buffer.copy_within(at + 1.., at);
        self.buffer[BUFFER - 1] = None;
    }

    fn drain(&mut self) {
        while !self.is_drained() {
            self.drain_at(0);
        }
    }

    fn take(&mut self, element: u8) -> Next {
        let before = self.taken;
        self.taken |= 1 << element;
        if self.taken == before {
            Err(Violation)
        } else {
            Ok(())
        }
    }

    /// The element at an index as its owner sees it.
    fn own_slot(&self, index: u8) -> u8 {
        let buffered = self.buffer.iter().rev().find_map(|store| match store {
            Some(Store::Slot(at, element)) if *at == index => Some(*element),
            _ => None,
        });
        buffered.unwrap_or(self.slots[usize::from(index)])
    }

    /// The owner's pop has found this, after a fence or without need of any.
    fn decide(mut self, top: Top, next: &mut Vec<Self>) -> Next {
        let newest = self.end;
        if top.index < newest {
            self.owner = Owner::Idle;
            let element = self.own_slot(newest);
            self.take(element)?;
        } else if top.index == newest {
            self.owner = Owner::Exchange(top);
        } else {
            self.owner = Owner::Idle;
            self.end += 1;
            if !self.store(Store::Bottom(self.end)) {
                return Ok(());
            }
        }
        next.push(self);
        Ok(())
    }

    fn own_steps(self, without: Without, next: &mut Vec<Self>) -> Next {
        let mut after = self;
        match self.owner {
            Owner::Idle => {
                let is_released = self.is_drained() || without == Without::ReleasingBias;
                if self.top.mode == Mode::Fenced && self.biases_left > 0 && is_released {
                    let takes_back = without != Without::TakingAnswersBack;
                    let has_room = !takes_back || after.store(Store::Answered(false));
                    if without != Without::ReleasingBias {
                        after.drain();
                    }
                    after.biases_left -= 1;
                    after.top.mode = match without {
                        Without::RuleForK => Mode::Biased,
                        _ => Mode::Beyond,
                    };
                    if has_room {
                        next.push(after);
                    }
                }
                if self.operations_left == 0 {
                    return Ok(());
                }
                let mut push = self;
                push.operations_left -= 1;
                if usize::from(self.end) < SLOTS
                    && push.store(Store::Slot(self.end, self.pushed))
                    && push.store(Store::Bottom(self.end + 1))
                {
                    push.end += 1;
                    push.pushed += 1;
                    next.push(push);
                }
                let mut pop = self;
                pop.operations_left -= 1;
                if pop.store(Store::Bottom(self.end - 1)) {
                    pop.end -= 1;
                    pop.owner = Owner::Lowered;
                    next.push(pop);
                }
            }
            Owner::Lowered => {
                let (top, newest) = (self.top, self.end);
                let is_ours = match top.mode {
                    Mode::Biased => newest >= top.index,
                    Mode::Beyond => newest > top.index,
                    Mode::Fenced | Mode::Revoking => false,
                };
                let takes_fence = !top.is_biased()
                    && (top.index <= newest || top.mode == Mode::Revoking)
                    && without != Without::OwnersFence;
                if is_ours {
                    after.owner = Owner::Idle;
                    after.take(self.own_slot(newest))?;
                    next.push(after);
                } else if takes_fence {
                    after.owner = Owner::Fencing;
                    next.push(after);
                } else {
                    self.decide(top, next)?;
                }
            }
            Owner::Fencing if self.is_drained() => {
                after.owner = Owner::Fenced;
                next.push(after);
            }
            Owner::Fenced => {
                if self.top.mode == Mode::Revoking {
                    after.store(Store::Answered(true));
                }
                after.decide(self.top, next)?;
            }
            Owner::Exchange(top) if self.is_drained() => {
                if self.top != top {
                    return self.decide(self.top, next);
                }
                after.top = top.after();
                after.take(self.own_slot(self.end))?;
                after.end += 1;
                after.store(Store::Bottom(after.end));
                after.owner = Owner::Idle;
                next.push(after);
            }
            Owner::Fencing | Owner::Exchange(_) => {}
        }
        Ok(())
    }

    fn steps_of_thief(self, number: usize, without: Without, next: &mut Vec<Self>) -> Next {
        let mut after = self;
        let (step, left) = self.thieves[number];
        let thief = &mut after.thieves[number].0;
        match step {
            Thief::Idle if left == 0 => return Ok(()),
            Thief::Idle => {
                after.thieves[number].1 -= 1;
                after.thieves[number].0 = match self.top.mode {
                    Mode::Biased | Mode::Beyond => Thief::Found(self.top),
                    Mode::Revoking if without != Without::WaitingWhileRevoking => {
                        Thief::Wait(self.top, false)
                    }
                    Mode::Fenced | Mode::Revoking => Thief::Look(self.top),
                };
            }
            Thief::Found(top) if self.bottom <= top.index || self.top != top => {
                *thief = Thief::Idle;
            }
            Thief::Found(top) => {
                *thief = match without {
                    Without::WaitingBeforeFenced => Thief::End(top, false),
                    _ => Thief::Wait(top, true),
                };
                after.top.mode = Mode::Revoking;
            }
            Thief::Wait(top, revokes) => {
                *thief = if revokes {
                    Thief::End(top, true)
                } else {
                    Thief::Look(top)
                };
                if self.is_answered {
                    next.push(after);
                }
                // The system refuses the fence: this thief gives up, and its revocation stays.
                let mut refused = self;
                refused.thieves[number].0 = Thief::Idle;
                next.push(refused);
                if without != Without::ProcessFence {
                    after.drain();
                }
            }
            Thief::End(top, was_awaited) => {
                let mode = Mode::Fenced;
                let top = Top { mode, ..top };
                *thief = if was_awaited {
                    Thief::Look(top)
                } else {
                    Thief::Wait(top, false)
                };
                after.top.mode = mode;
            }
            Thief::Look(top) if self.bottom <= top.index => *thief = Thief::Idle,
            Thief::Look(top) => *thief = Thief::Copy(top),
            Thief::Copy(top) => *thief = Thief::Claim(top, self.slots[usize::from(top.index)]),
            Thief::Claim(top, element) => {
                *thief = Thief::Idle;
                if self.top == top {
                    after.top = top.after();
                    after.take(element)?;
                }
            }
        }
        next.push(after);
        Ok(())
    }

    fn follow(self, without: Without, next: &mut Vec<Self>) -> Next {
        for (at, store) in self.buffer.iter().enumerate() {
            let Some(store) = store else { break };
            let earlier = self.buffer[..at].iter().flatten();
            let is_released = matches!(store, Store::Bottom(_)) && at > 0;
            if !is_released && !earlier.clone().any(|earlier| earlier.is_same_place(*store)) {
                let mut after = self;
                after.drain_at(at);
                next.push(after);
            }
        }
        self.own_steps(without, next)?;
        self.steps_of_thief(0, without, next)?;
        self.steps_of_thief(1, without, next)?;
        let is_over = next.is_empty();
        let in_deque = self.bottom.saturating_sub(self.top.index);
        if is_over && self.taken.count_ones() + u32::from(in_deque) != u32::from(self.pushed) {
            return Err(Violation);
        }
        Ok(())
    }
}

/// Multiplies and rotates: the standard hasher takes most of the time.
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

/// Explores all states, or until a violation. Returns how many there were, and in how many a thief has
/// ended a revocation of the last bias on the strength of an answer.
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

/// Smaller in tests that are not optimised.
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

/// With this many pushes and pops and biases, the fewest that do it.
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
