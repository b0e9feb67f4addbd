//! What is printed.

use std::{format, string::String, time::Duration};

use super::super::{Counts, PoolMetrics, WorkerMetrics, WorkerState, WorkerTimes};

fn workers() -> [WorkerMetrics; 2] {
    let first = Counts {
        jobs_run: 1234,
        jobs_posted: 20,
        steals_tried: 9,
        steals_succeeded: 7,
        steals_retried: 1,
        searches: 300,
        sleeps: 4,
        wakes: 4,
        fruitless_wakes: 1,
        deque_full: 2,
        revocations: 1,
    };
    let second = Counts {
        jobs_run: 1,
        searches: 12_345_678_901,
        sleeps: 5,
        wakes: 4,
        ..Counts::default()
    };
    let times = WorkerTimes {
        active: Duration::from_micros(1_550),
        idle: Duration::from_millis(2),
        asleep: Duration::from_secs(3600),
    };
    [
        WorkerMetrics {
            state: WorkerState::Active,
            queued: 3,
            counts: first,
            times: Some(times),
        },
        WorkerMetrics {
            state: WorkerState::Asleep,
            queued: 0,
            counts: second,
            times: None,
        },
    ]
}

fn table(metrics: &PoolMetrics<[WorkerMetrics; 2]>) -> String {
    let table = format!("{metrics}");
    assert_eq!(format!("{metrics:#?}"), table);
    assert!(!format!("{metrics:?}").contains('\n'));
    table
}

#[test]
#[cfg_attr(miri, ignore = "formats for seconds, without unsafe code")]
fn a_table_has_a_row_for_each_worker_and_the_sum() {
    let metrics = PoolMetrics::of(workers(), Some(6), false);
    assert_eq!(
        table(&metrics),
        "\
worker  state   queued  jobs  posted  tried  stolen  retried     searches  sleeps  wakes  fruitless
     0  active       3  1234      20      9       7        1          300       4      4          1
     1  asleep       0     1       0      0       0        0  12345678901       5      4          0
   sum               3  1235      20      9       7        1  12345679201       9      8          1

worker  full  revoked  active ms  idle ms  asleep ms
     0     2        1        1.5      2.0  3600000.0
     1     0        0          -        -          -
   sum     2        1        1.5      2.0  3600000.0
jobs from outside: 6"
    );
}

#[test]
#[cfg_attr(miri, ignore = "formats for seconds, without unsafe code")]
fn no_line_of_a_table_is_wider_than_a_terminal() {
    let [mut first, second] = workers();
    let most = u64::MAX;
    first.counts = Counts {
        jobs_run: most,
        jobs_posted: most,
        steals_tried: most,
        steals_succeeded: most,
        steals_retried: most,
        searches: most,
        sleeps: most,
        wakes: most,
        fruitless_wakes: most,
        deque_full: most,
        revocations: most,
    };
    for workers in [workers(), [WorkerMetrics::default(); 2], [first, second]] {
        let table = table(&PoolMetrics::of(workers, Some(6), false));
        let widest = table.lines().map(str::len).max();
        assert!(widest <= Some(100), "{table}");
        for heading in Counts::HEADINGS.iter().chain(&["active ms", "asleep ms"]) {
            let mut words = table.lines().filter(|line| line.contains(heading));
            assert!(words.next().is_some(), "{heading}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "formats for seconds, without unsafe code")]
fn a_queue_that_does_not_count_is_empty_or_not() {
    let last_line = |is_empty| {
        let table = table(&PoolMetrics::of(workers(), None, is_empty));
        String::from(table.lines().last().unwrap())
    };
    assert_eq!(last_line(true), "jobs from outside: none");
    assert_eq!(last_line(false), "jobs from outside: some");
}

#[test]
fn sums_are_of_all_workers() {
    let metrics = PoolMetrics::of(workers(), None, true);
    let [first, second] = workers();
    assert_eq!(metrics.sum(), first.counts + second.counts);
    assert_eq!(metrics.sum() - first.counts, second.counts);
    assert_eq!(metrics.sum_of_times(), first.times);
    assert_eq!(metrics.num_in(WorkerState::Asleep), 1);
    assert_eq!(metrics.num_in(WorkerState::Idle), 0);
    let without_times = [second; 2];
    assert_eq!(
        PoolMetrics::of(without_times, None, true).sum_of_times(),
        None
    );
    let twice = PoolMetrics::of([first; 2], None, true)
        .sum_of_times()
        .unwrap();
    assert_eq!(twice.since(first.times.unwrap()), first.times.unwrap());
}
