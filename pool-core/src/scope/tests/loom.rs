use std::boxed::Box;

use ::loom::{model, sync::Arc, thread};

use super::super::*;
use crate::testing::Test;

/// Models two threads that the scope does not wait for: each leaves a panic while the scope ends.
#[test]
fn panics_from_outside_the_scope_while_it_ends() {
    model(|| {
        let first = Arc::new(FirstPanic::<Test>::new());
        let others: [_; 2] = std::array::from_fn(|number| {
            let first = first.clone();
            thread::spawn(move || first.offer(Box::new(number)))
        });
        if let Some(panic) = first.take() {
            assert!(*panic.downcast::<usize>().unwrap() < 2);
        }
        for other in others {
            other.join().unwrap();
        }
    });
}
