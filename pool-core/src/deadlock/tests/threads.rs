//! Pools whose workers block, on threads. All waits are for facts.

use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use sleep_core::deadlock::{NotActive, State, Ticket};

use super::super::*;
use crate::testing::{
    Accounted, TestClassic, TestHints, TestJec, TestProtocol, accounting::accounted, on_platform,
    with_registry,
};

/// The whole suite with one sleep protocol.
macro_rules! suite {
    ($name:ident, $protocol:ty) => {
        on_platform! { $name, $protocol:
            a_pool_of_blocked_and_sleeping_workers_is_reported_once
            a_pool_without_blocked_workers_is_not_reported
            a_job_from_outside_unblocks_a_worker
            a_worker_that_waits_for_another_pool_is_active
            a_worker_blocks_once
        }
    };
}

suite!(jec, super::TestJec);
suite!(classic, super::TestClassic);
suite!(hints, super::TestHints);

type Reports = Receiver<(usize, usize)>;

/// A pool that sends its reports: the numbers of workers that are blocked, and that sleep.
fn pool<K: TestProtocol>(workers: usize) -> (Arc<Registry<Accounted<K>>>, Reports) {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let registry = accounted(workers, move |report| {
        let counts = (report.num_blocked(), report.num_asleep());
        // A test that has ended does not listen.
        let _ = sender.lock().unwrap().send(counts);
    });
    (registry, receiver)
}

/// Runs a job on any worker that blocks until the returned sender is dropped.
fn block<'s, K: TestProtocol>(
    threads: &'s thread::Scope<'s, '_>,
    registry: &'s Registry<Accounted<K>>,
) -> (Ticket, Sender<()>) {
    let (release, event) = channel::<()>();
    let (tell, told) = channel();
    threads.spawn(move || {
        registry.in_worker(move |worker, _| {
            let ticket = worker.mark_blocked().unwrap();
            tell.send(ticket).unwrap();
            assert!(event.recv().is_err());
            // The resumer may have done this already.
            let _ = registry.deadlock().mark_self_unblocked(ticket);
        });
    });
    (told.recv().unwrap(), release)
}

fn a_pool_of_blocked_and_sleeping_workers_is_reported_once<K: TestProtocol>() {
    let (registry, reports) = pool::<K>(3);
    with_registry(&registry, |registry| {
        thread::scope(|threads| {
            let (first, release) = block(threads, registry);
            assert_eq!(reports.recv(), Ok((1, 2)));
            let second = block(threads, registry);
            registry.deadlock().mark_unblocked(first).unwrap();
            drop(release);
            assert_eq!(
                reports.recv(),
                Ok((1, 2)),
                "the second one is still blocked"
            );
            drop(second);
        });
    });
    drop(registry);
    assert!(reports.try_recv().is_err());
}

fn a_pool_without_blocked_workers_is_not_reported<K: TestProtocol>() {
    let (registry, reports) = pool::<K>(2);
    with_registry(&registry, |registry| {
        for _ in 0..if cfg!(miri) { 3 } else { 200 } {
            registry.in_worker(|worker, _| worker.join_context(|_| (), |_| (), false));
        }
    });
    assert!(reports.try_recv().is_err());
}

/// Checks that jobs from outside run while a worker is blocked, and that such a job can end the
/// blocked section.
fn a_job_from_outside_unblocks_a_worker<K: TestProtocol>() {
    for _ in 0..if cfg!(miri) { 3 } else { 300 } {
        let (registry, _reports) = pool::<K>(2);
        with_registry(&registry, |registry| {
            thread::scope(|threads| {
                let (ticket, release) = block(threads, registry);
                registry.in_worker(|worker, _| {
                    assert_ne!(worker.index(), ticket.worker());
                    registry.deadlock().mark_unblocked(ticket).unwrap();
                    drop(release);
                });
            });
        });
    }
}

/// What a worker waits for in another pool comes from outside, so the worker stays active.
fn a_worker_that_waits_for_another_pool_is_active<K: TestProtocol>() {
    let (registry, reports) = pool::<K>(2);
    let (other, _) = pool::<K>(1);
    with_registry(&other, |other| {
        with_registry(&registry, |registry| {
            let (again, event) = channel::<()>();
            let (release, last_event) = channel::<()>();
            let (tell, told) = channel();
            let (open, gate) = channel::<()>();
            thread::scope(|threads| {
                let tell_again = tell.clone();
                threads.spawn(move || {
                    registry.in_worker(move |worker, _| {
                        for event in [event, last_event] {
                            let ticket = worker.mark_blocked().unwrap();
                            tell_again.send(()).unwrap();
                            assert!(event.recv().is_err());
                            registry.deadlock().mark_self_unblocked(ticket).unwrap();
                        }
                    });
                });
                told.recv().unwrap();
                assert_eq!(reports.recv(), Ok((1, 1)));
                threads.spawn(move || {
                    registry.in_worker(move |_, _| {
                        other.in_worker(move |_, _| {
                            tell.send(()).unwrap();
                            assert!(gate.recv().is_err());
                        });
                        // If this worker counted as asleep, one of the two workers would have
                        // reported before.
                        assert!(reports.try_recv().is_err());
                        drop(release);
                    });
                });
                told.recv().unwrap();
                drop(again);
                told.recv().unwrap();
                while registry.num_sleeping() < 1 {
                    thread::yield_now();
                }
                drop(open);
            });
        });
    });
}

fn a_worker_blocks_once<K: TestProtocol>() {
    let (registry, _reports) = pool::<K>(2);
    with_registry(&registry, |registry| {
        registry.in_worker(|worker, _| {
            let ticket = worker.mark_blocked().unwrap();
            let (index, state) = (worker.index().get(), State::Blocked);
            let error = NotActive {
                worker: index,
                state,
            };
            assert_eq!(worker.mark_blocked(), Err(error));
            registry.deadlock().mark_self_unblocked(ticket).unwrap();
        });
    });
}
