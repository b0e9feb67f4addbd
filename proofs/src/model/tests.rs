use super::*;

/// Two actors that count to a number, each in a way of its own.
#[derive(Debug)]
struct Counting {
    /// Adds in two steps, so that one of two additions may be lost.
    in_two_steps: bool,
    /// Takes back what it has added, and adds it again, until the other one is done.
    takes_back: bool,
    /// Waits for a count that is never reached.
    waits_for: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Count {
    count: u8,
    seen: [Option<u8>; 2],
    has_ended: [bool; 2],
}

impl Model for Counting {
    type State = Count;

    fn initial(&self) -> Count {
        Count::default()
    }

    fn num_actors(&self) -> usize {
        2
    }

    fn name(&self, actor: usize) -> String {
        ["first", "second"][actor].to_owned()
    }

    fn step(&self, state: &mut Count, actor: usize) -> Result<Option<String>, String> {
        if state.has_ended[actor] || state.count < self.waits_for {
            return Ok(None);
        }
        match state.seen[actor] {
            None if self.in_two_steps => state.seen[actor] = Some(state.count),
            None if self.takes_back && !state.has_ended[1 - actor] => {
                state.count += 1;
                state.seen[actor] = Some(0);
            }
            Some(_) if self.takes_back => {
                state.count -= 1;
                state.seen[actor] = None;
            }
            seen => {
                state.count = seen.unwrap_or(state.count) + 1;
                state.has_ended[actor] = true;
            }
        }
        if state.count > 2 {
            return Err("it counts too far".to_owned());
        }
        Ok(Some(format!("counts {}", state.count)))
    }

    fn has_ended(&self, state: &Count) -> Result<bool, String> {
        match state {
            Count {
                has_ended: [true, true],
                count,
                ..
            } if *count != 2 => Err(format!("the count is {count}")),
            _ => Ok(state.has_ended == [true; 2]),
        }
    }

    fn is_wasteful(&self, state: &Count) -> bool {
        state.count == 0
    }
}

const COUNTING: Counting = Counting {
    in_two_steps: false,
    takes_back: false,
    waits_for: 0,
};

#[test]
fn goes_through_all_states() {
    let findings = explore(&COUNTING).unwrap();
    assert_eq!((findings.states, findings.steps), (4, 4));
    assert_eq!(findings.most_wasteful_steps, Some(0));
}

#[test]
fn finds_a_rule_that_is_broken() {
    let failure = explore(&Counting {
        in_two_steps: true,
        ..COUNTING
    })
    .unwrap_err();
    assert_eq!(failure.problem, Problem::Rule("the count is 1".to_owned()));
    let steps = [
        "first: counts 0",
        "second: counts 0",
        "first: counts 1",
        "second: counts 1",
    ];
    assert_eq!(failure.execution, steps);
}

#[test]
fn finds_a_deadlock() {
    let failure = explore(&Counting {
        waits_for: 1,
        ..COUNTING
    })
    .unwrap_err();
    assert_eq!(failure.problem, Problem::Deadlock);
    assert!(failure.execution.is_empty());
}

/// Each of them may go on in every state of the cycle, and does.
#[test]
fn finds_a_cycle_that_is_fair() {
    let failure = explore(&Counting {
        takes_back: true,
        ..COUNTING
    })
    .unwrap_err();
    let both = ["first", "second"].map(str::to_owned).to_vec();
    assert_eq!(failure.problem, Problem::Cycle(both));
}

/// One that looks again and again until the other one has made its only step. That is no failure:
/// it is fair that the other one makes it.
struct Waiting;

impl Model for Waiting {
    type State = [bool; 2];

    fn initial(&self) -> [bool; 2] {
        [false; 2]
    }

    fn num_actors(&self) -> usize {
        2
    }

    fn name(&self, actor: usize) -> String {
        ["waits", "sets"][actor].to_owned()
    }

    fn step(&self, state: &mut [bool; 2], actor: usize) -> Result<Option<String>, String> {
        if state[actor] {
            return Ok(None);
        }
        state[actor] = actor == 1 || state[1];
        Ok(Some("looks, or sets".to_owned()))
    }

    fn has_ended(&self, state: &[bool; 2]) -> Result<bool, String> {
        Ok(*state == [true; 2])
    }

    fn is_wasteful(&self, state: &[bool; 2]) -> bool {
        !state[0]
    }
}

#[test]
fn a_cycle_that_fairness_ends_is_no_failure() {
    let findings = explore(&Waiting).unwrap();
    assert_eq!(findings.states, 3);
    assert_eq!(findings.most_wasteful_steps, None);
}

/// Actors that each make one step, one after the other.
struct InTurn(usize);

impl Model for InTurn {
    type State = usize;

    fn initial(&self) -> usize {
        0
    }

    fn num_actors(&self) -> usize {
        self.0
    }

    fn name(&self, actor: usize) -> String {
        actor.to_string()
    }

    fn step(&self, turn: &mut usize, actor: usize) -> Result<Option<String>, String> {
        let is_next = *turn == actor;
        *turn += usize::from(is_next);
        Ok(is_next.then(|| "goes".into()))
    }

    fn has_ended(&self, _: &usize) -> Result<bool, String> {
        Ok(false)
    }
}

/// Reproduces a bug: the number of an actor was kept in a byte, so that the search took one actor
/// for another, and panicked.
#[test]
fn there_may_be_many_actors() {
    let failure = explore(&InTurn(300)).unwrap_err();
    assert_eq!(failure.problem, Problem::Deadlock);
    assert_eq!(failure.execution.last().unwrap(), "299: goes");
}
