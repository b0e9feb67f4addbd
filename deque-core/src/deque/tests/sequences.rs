//! What one thread sees, whatever the order of its operations: as in queues of the standard
//! library.
//!
//! There are two deques with their owners, and an injector. Each operation of an owner, a thief or
//! the injector may follow each other one.

use core::num::NonZeroU32;
use std::vec;

use proptest::prelude::*;

use super::*;
use crate::{
    AsymmetricFence,
    testing::{Ledger, Numbered},
};

mod model;
mod sample;

use model::{Outside, REFUSES, Side};
use sample::Sample;

/// One operation of a sequence, on one deque. Batches that are stolen from it go to the other one.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Push(usize),
    FastPush(usize),
    Pop(usize),
    PopOldest,
    Steal { accepts: bool },
    TakeBack { is_newest: bool },
    StealBatch(Batch),
    StealBatchIntoItself(Batch),
    StealWithFollowers(usize),
    InjectorPush(usize),
    InjectorSteal,
    InjectorStealBatch(Batch),
    EnableFastPush(bool),
    DisableFastPush,
    ShrinkTo(usize),
    TakeReplaced,
    EndBias,
    NextOwner,
    RefuseFences(bool),
}

/// How a batch is stolen.
#[derive(Debug, Clone, Copy)]
struct Batch {
    limit: Option<usize>,
    pops: bool,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    const MOST: usize = if cfg!(miri) { 5 } else { 40 };
    let count = || prop_oneof![3 => Just(1), 1 => 1..MOST];
    let batch = || {
        let limit = prop::option::of(prop_oneof![1..10_usize, Just(usize::MAX)]);
        (limit, any::<bool>()).prop_map(|(limit, pops)| Batch { limit, pops })
    };
    prop_oneof![
        8 => count().prop_map(Push),
        4 => count().prop_map(FastPush),
        6 => count().prop_map(Pop),
        2 => Just(PopOldest),
        4 => prop::bool::weighted(0.8).prop_map(|accepts| Steal { accepts }),
        3 => any::<bool>().prop_map(|is_newest| TakeBack { is_newest }),
        4 => batch().prop_map(StealBatch),
        1 => batch().prop_map(StealBatchIntoItself),
        4 => prop_oneof![0..4_usize, Just(MOST)].prop_map(StealWithFollowers),
        4 => count().prop_map(InjectorPush),
        1 => Just(InjectorSteal),
        4 => batch().prop_map(InjectorStealBatch),
        1 => any::<bool>().prop_map(EnableFastPush),
        1 => Just(DisableFastPush),
        1 => prop_oneof![Just(0), 0..300_usize].prop_map(ShrinkTo),
        1 => Just(TakeReplaced),
        1 => Just(EndBias),
        1 => Just(NextOwner),
        1 => prop_oneof![4 => Just(false), 1 => Just(true)].prop_map(RefuseFences),
    ]
}

/// What is random about the deques of a sequence.
#[derive(Debug, Clone, Copy)]
struct Setting {
    orders: [Order; 2],
    start: usize,
    has_fence: bool,
}

fn setting() -> impl Strategy<Value = Setting> {
    let order = || prop::sample::select(&[Order::Lifo, Order::Lifo, Order::Fifo][..]);
    let starts = &[0, 5, usize::MAX - 3, usize::MAX / 2, usize::MAX / 4 - 3];
    let start = prop::sample::select(&starts[..]);
    ([order(), order()], start, any::<bool>()).prop_map(|(orders, start, has_fence)| Setting {
        orders,
        start,
        has_fence,
    })
}

/// A process fence that the system may refuse.
struct Fence;

// SAFETY: obligations 1 and 2: no test has another thread. Obligation 3: nothing panics.
unsafe impl AsymmetricFence for Fence {
    fn light() {}

    fn heavy() -> bool {
        !REFUSES.get()
    }
}

// SAFETY: 1. no test has another thread; 2. nothing panics.
unsafe impl FencePrice for Fence {
    fn price() -> Option<NonZeroU32> {
        NonZeroU32::new(2)
    }
}

/// Makes a deque with storage of a certain kind.
type Make<T, S> = fn(Order) -> Deque<T, S>;

/// Runs a sequence on two deques and an injector. Each operation says whether it is one of the
/// second deque.
///
/// What is left is taken out of the first deque, and dropped with the second one.
fn agrees_with_model<T: Sample, A: Storage<T>, B: Storage<T>>(
    setting: Setting,
    deques: (Make<T, A>, Make<T, B>),
    sequence: &[(bool, Operation)],
) {
    fn set_up<T: Element, S: Storage<T>>(deque: Deque<T, S>, setting: Setting) -> Deque<T, S> {
        let deque = deque.starting_at(setting.start);
        if setting.has_fence {
            deque.with_process_fence::<Fence>()
        } else {
            deque
        }
    }
    let ledger = Ledger::new();
    let first = set_up(deques.0(setting.orders[0]), setting);
    let second = set_up(deques.1(setting.orders[1]), setting);
    let mut first_side = Side::<T, A>::new(&first);
    let mut second_side = Side::<T, B>::new(&second);
    let mut outside = Outside::new(&ledger, setting.start);
    for &(is_second, operation) in sequence {
        if is_second {
            apply(operation, &mut second_side, &mut first_side, &mut outside);
        } else {
            apply(operation, &mut first_side, &mut second_side, &mut outside);
        }
        first_side.check();
        second_side.check();
        outside.check();
    }
    first_side.pop(usize::MAX);
    drop((first_side, second_side, outside));
    drop((first, second));
    ledger.assert_each_dropped_once();
}

fn apply<T: Sample, A: Storage<T>, B: Storage<T>>(
    operation: Operation,
    own: &mut Side<'_, T, A>,
    other: &mut Side<'_, T, B>,
    outside: &mut Outside<'_, T>,
) {
    match operation {
        Operation::Push(count) => own.push(count, outside),
        Operation::FastPush(count) => own.fast_push(count, outside),
        Operation::Pop(count) => own.pop(count),
        Operation::PopOldest => own.pop_oldest(),
        Operation::Steal { accepts } => own.steal(accepts, outside),
        Operation::TakeBack { is_newest } => own.take_back(is_newest),
        Operation::StealBatch(batch) => own.steal_batch(batch, other, outside),
        Operation::StealBatchIntoItself(batch) => own.steal_batch_into_itself(batch, outside),
        Operation::StealWithFollowers(followers) => {
            own.steal_with_followers(followers, other, outside);
        }
        Operation::InjectorPush(count) => outside.push(count),
        Operation::InjectorSteal => outside.steal(),
        Operation::InjectorStealBatch(batch) => outside.steal_batch(batch, own),
        Operation::EnableFastPush(may_enable) => own.enable_fast_push(may_enable),
        Operation::DisableFastPush => own.disable_fast_push(),
        Operation::ShrinkTo(least) => own.shrink_to(least),
        Operation::TakeReplaced => own.take_replaced(),
        Operation::EndBias => own.end_bias(),
        Operation::NextOwner => own.change_owner(),
        Operation::RefuseFences(refuses) => outside.refuse_fences(refuses),
    }
}

fn fixed<T: Element, const CAPACITY: usize>(order: Order) -> Deque<T, Fixed<T, CAPACITY>> {
    Deque::fixed(order)
}

fn for_all_storages<T: Sample>(setting: Setting, sequence: &[(bool, Operation)]) {
    let growable: Make<T, Growable<T>> = Deque::growable;
    agrees_with_model(setting, (fixed::<T, 1>, fixed::<T, 8>), sequence);
    agrees_with_model(setting, (fixed::<T, 2>, growable), sequence);
    agrees_with_model(setting, (growable, fixed::<T, 4>), sequence);
    if cfg!(miri) {
        return;
    }
    agrees_with_model(setting, (fixed::<T, 64>, fixed::<T, 16>), sequence);
    agrees_with_model(setting, (growable, growable), sequence);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_agrees_with_a_vec_deque(
        setting in setting(),
        sequence in prop::collection::vec(
            (any::<bool>(), operation()),
            if cfg!(miri) { 10..15 } else { 0..200 },
        ),
    ) {
        for_all_storages::<usize>(setting, &sequence);
        for_all_storages::<Numbered>(setting, &sequence);
    }
}
