//! What a worker's state is, and how long it is idle.

use super::*;

#[test]
fn a_worker_is_active_while_a_thread_is_it_and_absent_otherwise() {
    let at = |time| NOW.set(Some(time));
    with_workers(&registry(1), |[worker]| {
        assert_eq!(metrics(worker).state, WorkerState::Absent);
        assert_eq!(metrics(worker).times, None);
        at(100);
        // SAFETY: 1. it stays until it leaves.
        unsafe { worker.enter() };
        at(130);
        assert_eq!(metrics(worker).state, WorkerState::Active);
        worker.leave();
        at(200);
        let metrics = metrics(worker);
        assert_eq!(metrics.state, WorkerState::Absent);
        let times = metrics.times.unwrap();
        assert_eq!(times.active, Duration::from_nanos(30));
        assert_eq!(times.idle + times.asleep, Duration::ZERO);
    });
}

/// The clock goes on while the worker looks at a queue before it sleeps, which is part of its
/// search.
#[test]
fn a_search_takes_idle_time() {
    with_workers(&registry(1), |[worker]| {
        NOW.set(Some(0));
        // SAFETY: 1. it stays until it leaves.
        unsafe { worker.enter() };
        let latch = CoreLatch::new();
        let address = (&raw const latch).cast::<()>();
        let is_set = Cell::new(false);
        let (pool, index) = (worker.registry_pointer(), worker.index());
        observe(Some(Box::new(move |event| {
            if event == Event::Look && !is_set.replace(true) {
                NOW.set(Some(7));
                // SAFETY: the registry lives; 1. and 3. so does the latch; 2. `worker` waits
                // on it; 4. for this.
                unsafe { (*pool).set_latch(address.cast(), index) };
            }
        })));
        worker.wait_until(&latch);
        observe(None);
        NOW.set(Some(9));
        worker.leave();
        let times = metrics(worker).times.unwrap();
        assert_eq!([times.idle, times.active], [7, 2].map(Duration::from_nanos));
    });
}

/// The worker is woken for nothing, and searches until it looks at a queue before it sleeps again.
#[test]
fn a_worker_that_was_woken_is_idle_when_it_has_found_nothing() {
    with_workers(&registry(1), |[worker]| {
        NOW.set(Some(0));
        // SAFETY: 1. it stays until it leaves.
        unsafe { worker.enter() };
        let latch = CoreLatch::new();
        let address = (&raw const latch).cast::<()>();
        let parked = Cell::new(0);
        let (pool, index) = (worker.registry_pointer(), worker.index());
        observe(Some(Box::new(move |event| {
            match (event, parked.get()) {
                (Event::Park, 0) => {
                    NOW.set(Some(10));
                    // SAFETY: the registry lives.
                    unsafe { (*pool).wake_worker(index) };
                }
                (Event::Look, 1) => NOW.set(Some(17)),
                // SAFETY: 1. and 3. the latch and the registry live; 2. `worker` waits on it; 4.
                // for this.
                (Event::Park, _) => unsafe { (*pool).set_latch(address.cast(), index) },
                _ => {}
            }
            parked.set(parked.get() + usize::from(event == Event::Park));
        })));
        worker.wait_until(&latch);
        observe(None);
        worker.leave();
        let times = metrics(worker).times.unwrap();
        assert_eq!(
            [times.asleep, times.idle],
            [10, 7].map(Duration::from_nanos)
        );
    });
}
