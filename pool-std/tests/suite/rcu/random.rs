//! Random sequences of operations, against a model.

use pool_std::progress::RcuRef;
use proptest::prelude::*;

use super::*;

/// An operation of one thread.
#[derive(Debug, Clone)]
enum Operation {
    Read,
    DropReference(usize),
    Replace(usize),
    Update(usize),
    InPool(Vec<Operation>),
    With(Vec<Operation>),
}

fn operation() -> impl Strategy<Value = Operation> {
    let number = || 0_usize..1_000;
    let flat = prop_oneof![
        Just(Operation::Read),
        (0_usize..4).prop_map(Operation::DropReference),
        number().prop_map(Operation::Replace),
        number().prop_map(Operation::Update),
    ];
    flat.prop_recursive(3, 24, 4, |inner| {
        let nested = proptest::collection::vec(inner, 0..5);
        prop_oneof![
            nested.clone().prop_map(Operation::InPool),
            nested.prop_map(Operation::With),
        ]
    })
}

/// What the threads that perform operations by turns have.
struct Model<'c> {
    pool: &'c ThreadPool,
    cell: &'c RcuCell<Value>,
    alive: &'c Arc<AtomicUsize>,
    current: usize,
    references: Vec<(RcuRef<'c, Value>, usize)>,
}

impl Model<'_> {
    fn perform(&mut self, operations: &[Operation]) {
        let cell = self.cell;
        for operation in operations {
            match operation {
                Operation::Read => self.references.push((cell.read(), self.current)),
                Operation::DropReference(place) if *place < self.references.len() => {
                    self.references.swap_remove(*place);
                }
                Operation::DropReference(_) => {}
                Operation::Replace(number) => {
                    cell.replace(Value::new(*number, self.alive));
                    self.current = *number;
                }
                Operation::Update(number) => {
                    cell.update(|value| Value::new(value.check() + number, self.alive));
                    self.current += number;
                }
                Operation::InPool(nested) => self.pool.install(|| self.perform(nested)),
                Operation::With(nested) => {
                    let before = self.current;
                    cell.with(|value| {
                        self.perform(nested);
                        assert_eq!(value.check(), before);
                    });
                }
            }
            assert_eq!(cell.read().check(), self.current);
            for (reference, number) in &self.references {
                assert_eq!(reference.check(), *number);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases / 4 },
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_operations_show_in_each_read(
        operations in proptest::collection::vec(operation(), 1..if cfg!(miri) { 8 } else { 60 }),
    ) {
        let alive = Arc::new(AtomicUsize::new(0));
        let pool = pool(1);
        let cell = RcuCell::new(pool.progress(), Value::new(0, &alive));
        let mut model = Model {
            pool: &pool,
            cell: &cell,
            alive: &alive,
            current: 0,
            references: Vec::new(),
        };
        model.perform(&operations);
        drop(model);
        drop(cell);
        wait_for_none(&alive);
    }
}
