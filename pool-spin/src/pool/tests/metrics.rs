//! The metrics of a pool and its workers.

use super::*;
use pool_core::WorkerState;

#[test]
fn a_stolen_join_is_two_jobs_and_a_steal() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    with_workers(&POOL, || {
        let before = POOL.metrics().sum();
        let barrier = Barrier::new(2);
        let meet = |_: Worker<'_, TestCores<2, 64>>| {
            barrier.wait();
        };
        POOL.install(|core| core.join(meet, meet));
        let counts = POOL.metrics().sum() - before;
        assert_eq!(counts.jobs_run, 2, "what was installed and what was stolen");
        assert_eq!(counts.steals_succeeded, 1);
    });
    let metrics = POOL.metrics();
    assert_eq!(metrics.num_in(WorkerState::Absent), 2);
    assert_eq!(
        metrics.sum().wakes,
        metrics.sum().sleeps,
        "all were woken to leave"
    );
}

#[test]
fn a_full_deque_is_counted() {
    fn nest(core: Worker<'_, TestCores<1, 2>>, depth: usize) {
        if depth > 0 {
            core.join(|core| nest(core, depth - 1), |_| ());
        }
    }
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    POOL.run_with(0, |core| nest(core, 2)).unwrap();
    assert_eq!(POOL.metrics().sum().deque_full, 0);
    POOL.run_with(0, |core| nest(core, 3)).unwrap();
    assert_eq!(POOL.metrics().sum().deque_full, 1);
}

#[test]
fn a_machine_without_a_clock_has_no_times() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    POOL.run_with(0, |_| {
        let worker = POOL.worker_metrics(0).unwrap();
        assert_eq!((worker.state, worker.times), (WorkerState::Active, None));
    })
    .unwrap();
}

#[test]
fn a_pool_prints_one_line_or_a_table() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    assert!(!std::format!("{POOL:?}").contains('\n'));
    let table = std::format!("{POOL:#?}");
    let lines: std::vec::Vec<_> = table.lines().collect();
    assert!(lines[1].starts_with("worker  state"), "{table}");
    assert!(lines[2].starts_with("     0  absent"), "{table}");
    assert_eq!(lines.last(), Some(&"jobs from outside: none"));
}
