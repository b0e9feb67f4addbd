//! Operations in the middle of others: what a thief, an owner and a process fence call uses the
//! deques, too, or panics.

use core::{cell::RefCell, num::NonZeroU32};
use std::{
    boxed::Box,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::Arc,
    vec::Vec,
};

use proptest::prelude::*;

use super::*;
use crate::{
    ArcWorker, AsymmetricFence,
    testing::{Ledger, Numbered},
};

/// One operation, on the growing deque if its first field says so, or else on the other one. What
/// it calls runs the next operations.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Push(bool),
    Pop(bool),
    Steal(bool, bool),
    /// Into the other deque, or into itself.
    StealBatch(bool, bool),
    StealWithFollowers(bool),
    EnableFastPush(bool),
    Shrink,
    EndBias(bool),
    /// In the middle of another operation.
    Panic,
}

/// An operation, and how many of the next ones each call of it runs.
type Step = (Operation, u8);

fn step() -> impl Strategy<Value = Step> {
    use Operation::*;
    let two = any::<(bool, bool)>;
    let operation = prop_oneof![
        8 => any::<bool>().prop_map(Push),
        8 => any::<bool>().prop_map(Pop),
        6 => two().prop_map(|(first, accepts)| Steal(first, accepts)),
        4 => two().prop_map(|(first, itself)| StealBatch(first, itself)),
        4 => any::<bool>().prop_map(StealWithFollowers),
        1 => any::<bool>().prop_map(EnableFastPush),
        1 => Just(Shrink),
        1 => any::<bool>().prop_map(EndBias),
        1 => Just(Panic),
    ];
    (operation, 0..4_u8)
}

struct Scene {
    ledger: Ledger,
    growable: ArcWorker<Numbered>,
    fixed: Worker<Arc<Deque<Numbered, Fixed<Numbered, 4>>>>,
    steps: RefCell<VecDeque<Step>>,
}

std::thread_local! {
    /// That of the process fence.
    static SCENE: RefCell<Option<Rc<Scene>>> = const { RefCell::new(None) };
}

/// A process fence that uses the deques. It is refused if that panics.
struct Fence;

fn run_from_fence() -> bool {
    let scene = SCENE.with_borrow(Clone::clone).expect("there is one");
    catch_unwind(AssertUnwindSafe(|| scene.run(1))).is_ok()
}

// SAFETY: obligations 1 and 2: no test has another thread. Obligation 3: no panic goes through.
unsafe impl AsymmetricFence for Fence {
    fn light() {}

    fn heavy() -> bool {
        run_from_fence()
    }
}

// SAFETY: 1. no test has another thread; 2. no panic goes through.
unsafe impl FencePrice for Fence {
    fn price() -> Option<NonZeroU32> {
        run_from_fence();
        NonZeroU32::new(2)
    }
}

impl Scene {
    fn new(orders: [Order; 2], steps: Vec<Step>) -> Self {
        let growable = Deque::growable(orders[0]).with_process_fence::<Fence>();
        let fixed = Deque::fixed(orders[1]).with_process_fence::<Fence>();
        Self {
            ledger: Ledger::new(),
            growable: Worker::new(Arc::new(growable)).unwrap(),
            fixed: Worker::new(Arc::new(fixed)).unwrap(),
            steps: RefCell::new(steps.into()),
        }
    }

    /// Runs this many operations, with what they call. Returns false if there are no more.
    fn run(&self, count: u8) -> bool {
        (0..count).all(|_| {
            let next = self.steps.borrow_mut().pop_front();
            next.inspect(|&step| self.apply(step)).is_some()
        })
    }

    fn apply(&self, (operation, calls): Step) {
        let (growable, fixed) = (&self.growable, &self.fixed);
        let run = || _ = self.run(calls);
        let accept = |accepts| {
            move |_| {
                run();
                accepts
            }
        };
        let follow = |_: &_| {
            run();
            true
        };
        match operation {
            Operation::Push(true) => growable.push(self.ledger.element()),
            Operation::Push(false) => drop(fixed.try_push(self.ledger.element())),
            Operation::Pop(true) => drop(growable.pop()),
            Operation::Pop(false) => drop(fixed.pop()),
            Operation::Steal(true, accepts) => {
                drop(growable.stealer().steal_if(accept(accepts), run));
            }
            Operation::Steal(false, accepts) => {
                drop(fixed.stealer().steal_if(accept(accepts), run));
            }
            Operation::StealBatch(true, true) => {
                drop(growable.stealer().steal_batch_and_pop(growable));
            }
            Operation::StealBatch(true, false) => _ = growable.stealer().steal_batch(fixed),
            Operation::StealBatch(false, true) => {
                drop(fixed.stealer().steal_batch_and_pop(fixed));
            }
            Operation::StealBatch(false, false) => _ = fixed.stealer().steal_batch(growable),
            Operation::StealWithFollowers(true) => {
                let stealer = growable.stealer();
                drop(stealer.steal_with_followers(fixed, accept(true), follow, run));
            }
            Operation::StealWithFollowers(false) => {
                let stealer = fixed.stealer();
                drop(stealer.steal_with_followers(growable, accept(true), follow, run));
            }
            Operation::EnableFastPush(may_enable) => {
                growable.enable_fast_push(|| {
                    run();
                    may_enable
                });
            }
            Operation::Shrink => _ = growable.shrink_to(0),
            Operation::EndBias(true) => growable.end_bias(),
            Operation::EndBias(false) => fixed.end_bias(),
            Operation::Panic => resume_unwind(Box::new("by design")),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Elements are put together once, whatever comes between their copy and their claim.
    #[test]
    fn any_operations_within_others_neither_double_nor_lose_elements(
        orders in prop::sample::select(&[
            [Order::Lifo, Order::Lifo],
            [Order::Lifo, Order::Fifo],
            [Order::Fifo, Order::Lifo],
        ][..]),
        steps in prop::collection::vec(step(), 0..if cfg!(miri) { 20 } else { 300 }),
    ) {
        let scene = Rc::new(Scene::new(orders, steps));
        SCENE.set(Some(scene.clone()));
        while catch_unwind(AssertUnwindSafe(|| scene.run(1))).unwrap_or(true) {}
        SCENE.set(None);
        let scene = Rc::into_inner(scene).expect("the operations are over");
        let Scene { ledger, growable, fixed, .. } = scene;
        drop((growable, fixed));
        ledger.assert_each_dropped_once();
    }
}
