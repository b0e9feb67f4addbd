//! The deque, its owner's store buffer, and the steps of owner and thieves.

use std::vec::Vec;

/// What a mutant leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Without {
    Nothing,
    /// The element at the position of the bias is taken without an exchange.
    RuleForK,
    /// The answer is not taken back before biasing.
    TakingAnswersBack,
    /// The exchange that biases does not release the answer that was taken back.
    ReleasingBias,
    /// A revocation ends before the owner has taken a fence.
    WaitingBeforeFenced,
    /// A second thief does not wait for the owner's fence itself.
    WaitingWhileRevoking,
    /// The owner takes no fence in fenced and revoking mode.
    OwnersFence,
    /// The process fence does nothing.
    ProcessFence,
    /// The owner takes what a batch could reach, and leaves the deque open.
    Closing,
    /// A thief opens the deque without taking an element.
    TakingByOpening,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Mode {
    Biased,
    Beyond,
    Fenced,
    Open,
    Revoking,
}

/// The most elements that an exchange takes.
const MAX_CLAIM: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Top {
    pub(super) index: u8,
    pub(super) mode: Mode,
}

impl Top {
    fn after(self, claimed: u8) -> Self {
        let mode = match self.mode {
            Mode::Beyond => Mode::Biased,
            mode => mode,
        };
        let index = self.index + claimed;
        Self { index, mode }
    }

    fn with(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    fn is_biased(self) -> bool {
        matches!(self.mode, Mode::Biased | Mode::Beyond)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Store {
    Bottom(u8),
    Slot(u8, u8),
    Answered(bool),
}

impl Store {
    fn is_same_location(self, other: Self) -> bool {
        match (self, other) {
            (Self::Bottom(_), Self::Bottom(_)) | (Self::Answered(_), Self::Answered(_)) => true,
            (Self::Slot(one, _), Self::Slot(another, _)) => one == another,
            _ => false,
        }
    }
}

/// Where the owner is in a pop.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Idle,
    Lowered,
    Fencing,
    Fenced,
    /// It takes the last element by an exchange.
    Exchange(Top),
    /// It ends the mode open before it takes an element that a batch could reach.
    Close(Top),
}

/// Where a thief is in a steal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Thief {
    Idle,
    /// It has found the deque biased.
    Found(Top),
    /// The owner has to take a fence; whether this thief revokes.
    Wait(Top, bool),
    /// It ends its revocation; whether the owner was awaited before.
    End(Top, bool),
    Look(Top),
    /// It copies so many elements, the oldest first.
    Copy(Top, u8),
    /// It copies the second element after this one.
    CopySecond(Top, u8),
    /// It takes an element, or two.
    Claim(Top, u8, Option<u8>),
    /// It takes an element and opens the deque.
    ClaimAndOpen(Top, u8),
}

pub(super) const SLOTS: usize = 6;
pub(super) const BUFFER: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) top: Top,
    pub(super) bottom: u8,
    pub(super) is_answered: bool,
    pub(super) slots: [u8; SLOTS],
    pub(super) buffer: [Option<Store>; BUFFER],
    pub(super) owner: Owner,
    /// The owner's `bottom`, which in memory may be older.
    pub(super) end: u8,
    pub(super) operations_left: u8,
    pub(super) biases_left: u8,
    pub(super) pushed: u8,
    pub(super) taken: u16,
    /// With the steals that each has left.
    pub(super) thieves: [(Thief, u8); 2],
}

/// An element was taken twice, or is lost.
pub(super) struct Violation;

/// The states that can follow are pushed to a list; this tells whether they are allowed.
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

    /// Returns the element at an index as its owner sees it.
    fn own_slot(&self, index: u8) -> u8 {
        let buffered = self.buffer.iter().rev().find_map(|store| match store {
            Some(Store::Slot(at, element)) if *at == index => Some(*element),
            _ => None,
        });
        buffered.unwrap_or(self.slots[usize::from(index)])
    }

    /// Decides the owner's pop by the `top` that it has read, after a fence if it needed one.
    fn decide(mut self, top: Top, without: Without, next: &mut Vec<Self>) -> Next {
        let newest = self.end;
        let is_reached = top.mode == Mode::Open && newest < top.index + MAX_CLAIM;
        if top.index < newest && is_reached && without != Without::Closing {
            self.owner = Owner::Close(top);
        } else if top.index < newest {
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
                let is_fenced = matches!(self.top.mode, Mode::Fenced | Mode::Open);
                if is_fenced && self.biases_left > 0 && is_released {
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
                    Mode::Fenced | Mode::Open | Mode::Revoking => false,
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
                    self.decide(top, without, next)?;
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
                after.decide(self.top, without, next)?;
            }
            Owner::Close(top) => {
                after.top.mode = Mode::Fenced;
                // What a thief has changed meanwhile decides anew.
                let known = if self.top == top {
                    &mut after
                } else {
                    &mut { self }
                };
                return known.decide(known.top, without, next);
            }
            Owner::Exchange(top) if self.is_drained() => {
                if self.top != top {
                    return self.decide(self.top, without, next);
                }
                after.top = top.after(1);
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
                    Mode::Fenced | Mode::Open | Mode::Revoking => Thief::Look(self.top),
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
                let top = top.with(Mode::Fenced);
                *thief = if was_awaited {
                    Thief::Look(top)
                } else {
                    Thief::Wait(top, false)
                };
                after.top.mode = Mode::Fenced;
            }
            Thief::Look(top) if self.bottom <= top.index => *thief = Thief::Idle,
            Thief::Look(top) => {
                *thief = Thief::Copy(top, 1);
                if top.mode == Mode::Open && self.bottom > top.index + 1 {
                    next.push(after);
                    after.thieves[number].0 = Thief::Copy(top, 2);
                }
            }
            Thief::Copy(top, count) => {
                let oldest = self.slots[usize::from(top.index)];
                *thief = match count {
                    1 => Thief::Claim(top, oldest, None),
                    _ => Thief::CopySecond(top, oldest),
                };
                if top.mode == Mode::Fenced {
                    next.push(after);
                    after.thieves[number].0 = Thief::ClaimAndOpen(top, oldest);
                }
            }
            Thief::CopySecond(top, oldest) => {
                let second = self.slots[usize::from(top.index) + 1];
                *thief = Thief::Claim(top, oldest, Some(second));
            }
            Thief::Claim(top, oldest, second) => {
                *thief = Thief::Idle;
                if self.top == top {
                    after.top = top.after(1 + u8::from(second.is_some()));
                    after.take(oldest)?;
                    second.map_or(Ok(()), |second| after.take(second))?;
                }
            }
            Thief::ClaimAndOpen(top, oldest) => {
                *thief = Thief::Idle;
                if self.top == top && without == Without::TakingByOpening {
                    after.top.mode = Mode::Open;
                } else if self.top == top {
                    after.top = top.after(1).with(Mode::Open);
                    after.take(oldest)?;
                }
            }
        }
        next.push(after);
        Ok(())
    }

    pub(super) fn follow(self, without: Without, next: &mut Vec<Self>) -> Next {
        for (at, store) in self.buffer.iter().enumerate() {
            let Some(store) = store else { break };
            let earlier = self.buffer[..at].iter().flatten();
            let is_released = matches!(store, Store::Bottom(_)) && at > 0;
            if !is_released
                && !earlier
                    .clone()
                    .any(|earlier| earlier.is_same_location(*store))
            {
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
