//! Two workers that sleep as early as they may, and a poster outside. The poster waits for its
//! jobs before it terminates the pool, so a lost wake-up is a deadlock, which loom reports.

use ::loom::model::Builder;

use super::*;

fn model<W: Widths>(preemptions: usize, workers: usize, posts: &'static [usize]) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        let pool = Pool::<W>::new(workers, IdlePolicy::IMMEDIATE);
        let threads = Pool::start(&pool);
        let mut posted = 0;
        for &jobs in posts {
            pool.inject(jobs);
            posted += jobs;
            pool.wait_for(posted);
        }
        pool.terminate();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn one_worker_one_poster() {
    model::<DefaultWidths>(3, 1, &[1, 1]);
}

#[test]
fn two_workers_one_poster_jec_of_one_bit() {
    model::<JecOfOneBit>(2, 2, &[1]);
}

#[test]
fn two_workers_one_poster_jec_of_two_bits() {
    model::<JecOfTwoBits>(2, 2, &[1]);
}

#[test]
fn two_workers_two_jobs_at_once() {
    model::<JecOfOneBit>(2, 2, &[2]);
}
