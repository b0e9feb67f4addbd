//! The axioms against interleavings: a program whose accesses are all sequentially consistent, or
//! have such fences between them, ends as some interleaving of its threads does, and in no other
//! way. Without either, it may end so as well.

use std::collections::BTreeSet;

use proofs::{
    litmus::{Expectation, Fact, Litmus, Operand, Order, Statement, Test, Update, Value},
    memory::check,
};
use proptest::{collection::vec, prelude::*};

const LOCATIONS: usize = 2;

/// More registers would have too many outcomes to ask for.
const REGISTERS: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Access {
    Store(Value),
    Load,
    Add,
    Swap(Value),
    /// In the place of zero.
    Exchange(Value),
    /// Waits for a value.
    Await(Value),
}

/// The accesses of each thread, with their locations.
type Threads = Vec<Vec<(usize, Access)>>;

/// What all registers hold at the end, or nothing if a thread waits without end.
type Outcome = Option<Vec<Value>>;

fn threads() -> impl Strategy<Value = Threads> {
    let access = prop_oneof![
        4 => (1_i64..3).prop_map(Access::Store),
        4 => Just(Access::Load),
        1 => Just(Access::Add),
        1 => (1_i64..3).prop_map(Access::Swap),
        1 => (1_i64..3).prop_map(Access::Exchange),
        1 => (0_i64..3).prop_map(Access::Await),
    ];
    let thread = vec((0..LOCATIONS, access), 1..=3);
    vec(thread, 2..=3).prop_map(|mut threads| {
        let mut registers = 0;
        for (_, access) in threads.iter_mut().flatten() {
            registers += usize::from(has_register(*access));
            if registers > REGISTERS {
                *access = Access::Store(1);
            }
        }
        threads
    })
}

fn has_register(access: Access) -> bool {
    !matches!(access, Access::Store(_) | Access::Await(_))
}

fn num_registers(threads: &Threads) -> usize {
    let accesses = threads.iter().flatten();
    accesses.filter(|(_, access)| has_register(*access)).count()
}

/// Returns how the interleavings of some threads end.
fn interleaved(threads: &Threads) -> BTreeSet<Outcome> {
    let mut outcomes = BTreeSet::new();
    let begin = (vec![0; threads.len()], [0; LOCATIONS]);
    let mut open = vec![(begin, vec![0; num_registers(threads)])];
    let mut seen = BTreeSet::new();
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let ((places, memory), outcome) = state;
        let mut has_ended = true;
        let mut waits_without_end = true;
        let mut register = 0;
        for (thread, accesses) in threads.iter().enumerate() {
            let place: usize = places[thread];
            let reads = |accesses: &[(usize, Access)]| {
                let reads = accesses.iter().filter(|(_, access)| has_register(*access));
                reads.count()
            };
            let this = register + reads(&accesses[..place]);
            register += reads(accesses);
            let Some(&(location, access)) = accesses.get(place) else {
                continue;
            };
            has_ended = false;
            let (mut places, mut memory, mut outcome) = (places.clone(), memory, outcome.clone());
            places[thread] += 1;
            let old = memory[location];
            if matches!(access, Access::Await(value) if value != old) {
                continue;
            }
            waits_without_end = false;
            if has_register(access) {
                outcome[this] = old;
            }
            memory[location] = match access {
                Access::Store(value) | Access::Swap(value) => value,
                Access::Exchange(value) if old == 0 => value,
                Access::Add => old + 1,
                Access::Load | Access::Exchange(_) | Access::Await(_) => old,
            };
            open.push(((places, memory), outcome));
        }
        if has_ended {
            outcomes.insert(Some(outcome));
        } else if waits_without_end {
            outcomes.insert(None);
        }
    }
    outcomes
}

/// Returns which of some outcomes the model allows, if all accesses have an order, with fences
/// between them or without.
fn allowed(
    threads: &Threads,
    asked: &[Outcome],
    order: Order,
    has_fences: bool,
) -> BTreeSet<Outcome> {
    let mut register = 0;
    let statements = threads.iter().map(|accesses| {
        let mut statements = Vec::new();
        for &(location, access) in accesses {
            if has_fences && !statements.is_empty() {
                statements.push(Statement::Fence(Order::SeqCst));
            }
            let value = Operand::Constant;
            let update = match access {
                Access::Store(new) => {
                    statements.push(Statement::Store(location, value(new), order));
                    continue;
                }
                Access::Await(value) => {
                    statements.push(Statement::Await(location, Test::Is(value), order));
                    continue;
                }
                Access::Load => None,
                Access::Add => Some(Update::Add(value(1))),
                Access::Swap(new) => Some(Update::Swap(value(new))),
                Access::Exchange(new) => Some(Update::CompareExchange(value(0), value(new), order)),
            };
            statements.push(match update {
                Some(update) => Statement::Update(register, location, update, order),
                None => Statement::Load(register, location, order),
            });
            register += 1;
        }
        statements
    });
    let threads = statements.collect();
    let expectations = asked.iter().map(|outcome| {
        let Some(values) = outcome else {
            return Expectation::AllowWaits;
        };
        let facts = values.iter().enumerate();
        let facts = facts.map(|(register, &value)| Fact::Register(register, Test::Is(value)));
        Expectation::Allow(facts.collect())
    });
    let program = Litmus {
        name: String::new(),
        locations: (0..LOCATIONS).map(|it| it.to_string()).collect(),
        initial: vec![0; LOCATIONS],
        registers: (0..register).map(|it| it.to_string()).collect(),
        threads,
        expectations: expectations.collect(),
        guards: Vec::new(),
    };
    let report = check(&program).unwrap();
    let verdicts = asked.iter().zip(report.verdicts);
    let met = verdicts.filter(|(_, verdict)| verdict.is_met);
    met.map(|(outcome, _)| outcome.clone()).collect()
}

/// Returns all ways in which registers may hold some values, and that of a wait without end.
fn all_outcomes(registers: usize, values: &BTreeSet<Value>) -> Vec<Outcome> {
    let ends = (0..registers).fold(vec![Vec::new()], |ends, _| {
        let longer = |end: Vec<Value>| {
            let with = move |&value: &Value| [&end[..], &[value]].concat();
            values.iter().map(with)
        };
        ends.into_iter().flat_map(longer).collect()
    });
    ends.into_iter().map(Some).chain([None]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_sequentially_consistent_is_interleaved(threads in threads()) {
        let expected = interleaved(&threads);
        let values = expected.iter().flatten().flatten().copied();
        let values = values.chain(0..3).collect();
        let asked = all_outcomes(num_registers(&threads), &values);
        prop_assert_eq!(&allowed(&threads, &asked, Order::SeqCst, false), &expected);
        prop_assert_eq!(&allowed(&threads, &asked, Order::Relaxed, true), &expected);
        let relaxed = allowed(&threads, &asked, Order::Relaxed, false);
        prop_assert!(relaxed.is_superset(&expected));
    }
}
