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
pub(super) const MAX_CLAIM: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Top {
    pub(super) index: u8,
    pub(super) mode: Mode,
}

impl Top {
    pub(super) fn after(self, claimed: u8) -> Self {
        let mode = match self.mode {
            Mode::Beyond => Mode::Biased,
            mode => mode,
        };
        let index = self.index + claimed;
        Self { index, mode }
    }

    pub(super) fn with(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    pub(super) fn is_biased(self) -> bool {
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
pub(super) type Next = Result<(), Violation>;

impl State {
    pub(super) fn store(&mut self, store: Store) -> bool {
        let free = self.buffer.iter().position(Option::is_none);
        free.is_some_and(|free| {
            self.buffer[free] = Some(store);
            true
        })
    }

    pub(super) fn is_drained(&self) -> bool {
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

    pub(super) fn drain(&mut self) {
        while !self.is_drained() {
            self.drain_at(0);
        }
    }

    pub(super) fn take(&mut self, element: u8) -> Next {
        let before = self.taken;
        self.taken |= 1 << element;
        if self.taken == before {
            Err(Violation)
        } else {
            Ok(())
        }
    }

    /// Returns the element at an index as its owner sees it.
    pub(super) fn own_slot(&self, index: u8) -> u8 {
        let buffered = self.buffer.iter().rev().find_map(|store| match store {
            Some(Store::Slot(at, element)) if *at == index => Some(*element),
            _ => None,
        });
        buffered.unwrap_or(self.slots[usize::from(index)])
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
