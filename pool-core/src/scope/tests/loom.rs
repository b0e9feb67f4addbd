use std::boxed::Box;

use ::loom::{cell::UnsafeCell, model, sync::Arc, thread};

use super::{super::*, Sent};
use crate::testing::{Test, registry};

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

/// Models a scope on a worker that counts its own jobs in advance, while another thread ends one of
/// its jobs. The scope does not end before, and then what the job wrote is visible.
#[test]
fn a_scope_with_prepaid_counts_gathers_what_others_wrote() {
    model(|| {
        let registry = registry::<Test>(1);
        let first = registry.worker(0).unwrap();
        // SAFETY: 1. this closure holds the registry; 2. it is the `Arc`'s pointer.
        let worker =
            unsafe { WorkerThread::new(std::sync::Arc::as_ptr(&registry), first) }.unwrap();
        // SAFETY: 1. it stays until it leaves.
        unsafe { worker.enter() };
        let value = Arc::new(UnsafeCell::new(0));
        let scope = Box::new(ScopeCore::<Test>::new(Some(&worker), &registry));
        let mut other = None;
        scope.complete(Some(&worker), || {
            scope.add_job(Some(&worker));
            let (value, sent) = (value.clone(), Sent::new(&scope));
            other = Some(thread::spawn(move || {
                // SAFETY: the worker reads only when the scope has ended.
                value.with_mut(|value| unsafe { *value = 1 });
                // SAFETY: 1. it was added above; 2. the model holds the pool until the thread has
                // ended.
                unsafe { sent.job_done() };
            }));
            scope.add_job(Some(&worker));
            // SAFETY: 1. it was added above; 2. this is the scope's worker.
            unsafe { ScopeCore::job_done(&raw const *scope) };
        });
        drop(scope);
        // SAFETY: the scope has ended, so the job has written.
        value.with(|value| assert_eq!(unsafe { *value }, 1));
        other.expect("spawned above").join().unwrap();
        worker.leave();
    });
}
