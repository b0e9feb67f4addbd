//! What the owner and the thieves do next in a state.

use std::vec::Vec;

use super::model::{MAX_CLAIM, Mode, Next, Owner, SLOTS, State, Store, Thief, Top, Without};

impl State {
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

    pub(super) fn own_steps(self, without: Without, next: &mut Vec<Self>) -> Next {
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

    pub(super) fn steps_of_thief(
        self,
        number: usize,
        without: Without,
        next: &mut Vec<Self>,
    ) -> Next {
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
}
