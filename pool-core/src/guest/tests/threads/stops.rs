//! Requests to stop, and parkers, beside guests.

use super::*;

/// Requests the only worker, which sleeps, to stop. Returns whether that wakes it.
fn stop_sleeper(registry: &Registry<Test>) -> bool {
    let index = registry.worker(0).unwrap();
    let was_asleep = registry.num_sleeping() == 1;
    registry.request_stop(index);
    let is_woken = was_asleep && registry.num_sleeping() == 0;
    // Lets the test end even if it fails.
    registry.wake_worker(index);
    is_woken
}

/// Runs `body` with a pool of one worker that has guests and stops when it is requested to.
fn with_host(body: impl FnOnce(&Arc<Registry<Test>>)) {
    let registry = <Test as TestPlatform>::registry(1);
    registry.data().store(true, SeqCst);
    thread::scope(|scope| {
        scope.spawn(|| with_worker(&registry, 0, run_until_stopped));
        body(&registry);
    });
}

/// The host waits for the request, and its latch says that it sleeps.
#[test]
fn a_guest_that_resets_the_stop_does_not_hide_the_host_from_the_next_request() {
    with_host(|registry| {
        assert!(call_as_guest(registry, WorkerThread::reset_stop));
        assert!(stop_sleeper(registry));
    });
}

#[test]
fn a_guest_does_not_take_back_a_request_to_stop() {
    with_host(|registry| {
        let is_kept = call_as_guest(registry, |worker| {
            registry.request_stop(worker.index());
            assert!(worker.reset_stop(), "the pool goes on");
            let is_kept = worker.shared().terminate.probe();
            // Lets the test end even if it fails.
            registry.request_stop(worker.index());
            is_kept
        });
        assert!(is_kept);
    });
}

/// Without guests, the functions of a parker find the worker.
#[test]
fn a_parker_that_resets_the_stop_does_not_hide_the_worker_from_the_next_request() {
    let registry = <Test as TestPlatform>::registry(1);
    with_worker(&registry, 0, |worker| {
        let woken = Arc::new(Tally::new(0));
        let (of_parker, pool) = (woken.clone(), registry.clone());
        observe(Some(Box::new(move |event| {
            if event == Event::Park {
                assert!(pool.in_worker(|worker, _| worker.reset_stop()));
                of_parker.fetch_add(usize::from(stop_sleeper(&pool)), SeqCst);
            }
        })));
        run_until_stopped(worker);
        observe(None);
        assert_eq!(woken.load(SeqCst), 1);
    });
}

/// Checks that the parker of a host cannot use the worker beside a guest. To leave a reference to
/// the worker elsewhere would break the obligation of the loop.
#[test]
fn a_parker_finds_no_worker_when_the_seat_is_vacant() {
    let (parks, found) = (Arc::new(Tally::new(0)), Arc::new(Tally::new(0)));
    let registry = <Test as TestPlatform>::registry(1);
    registry.data().store(true, SeqCst);
    thread::scope(|scope| {
        let host = scope.spawn(|| {
            let index = registry.worker(0).unwrap();
            // SAFETY: 1. this frame holds the registry; 2. it is the `Arc`'s pointer.
            let worker = unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap();
            // SAFETY: 1. the worker stays in place until it leaves.
            unsafe { worker.enter() };
            let (parks, found) = (parks.clone(), found.clone());
            observe(Some(Box::new(move |event| {
                if event == Event::Park {
                    parks.fetch_add(1, SeqCst);
                    found.fetch_add(usize::from(!Test::current().is_null()), SeqCst);
                }
            })));
            run_until_stopped(&worker);
            observe(None);
            worker.leave();
        });
        call_as_guest(&*registry, |worker| registry.request_stop(worker.index()));
        host.join().unwrap();
    });
    assert!(
        parks.load(SeqCst) > 0,
        "a guest comes while the host sleeps"
    );
    assert_eq!(found.load(SeqCst), 0);
}

/// The request comes while the guest has the seat, so it wakes no thread. The look at the guest's
/// end does.
#[test]
fn a_request_to_stop_waits_for_the_guest() {
    let registry = <Test as TestPlatform>::registry(1);
    registry.data().store(true, SeqCst);
    let has_stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let host = scope.spawn(|| {
            let index = registry.worker(0).unwrap();
            // SAFETY: 1. this frame holds the registry; 2. it is the `Arc`'s pointer.
            let worker = unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap();
            // SAFETY: 1. the worker stays in place until it leaves.
            unsafe { worker.enter() };
            run_until_stopped(&worker);
            has_stopped.store(true, SeqCst);
            worker.leave();
        });
        call_as_guest(&*registry, |worker| {
            registry.request_stop(worker.index());
            assert_eq!(worker.join_context(|_| 1, |_| 2, false), (1, 2));
            assert!(!has_stopped.load(SeqCst), "the guest has the seat");
        });
        host.join().unwrap();
        assert!(has_stopped.load(SeqCst));
    });
}
