//! A small scheduler: each thread has a deque, steals from the others, and takes what came from
//! outside.
//!
//! It counts the ways to place queens on a board of 10 by 10. A thread without a job yields. The
//! crate sleep-core has what decides when it sleeps instead.
//!
//! ```sh
//! cargo run --release -p deque-core --example scheduler
//! ```

#![forbid(unsafe_code)]

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use deque_core::{ArcStealer, ArcWorker, Injector, Steal, Worker};

const THREADS: usize = 4;
const SIZE: usize = 10;
/// So many rows are placed by jobs of their own.
const SHARED_ROWS: usize = 4;

/// The columns of the queens that are placed, row by row.
type Job = Box<[usize]>;

/// What all threads share.
struct Scheduler {
    /// Jobs from outside.
    injector: Injector<Job>,
    stealers: Vec<ArcStealer<Job>>,
    /// How many jobs have been queued and have not ended.
    unfinished: AtomicUsize,
    ways: AtomicUsize,
}

impl Scheduler {
    fn new(deques: &[ArcWorker<Job>]) -> Self {
        Self {
            injector: Injector::new(),
            stealers: deques.iter().map(Worker::stealer).collect(),
            unfinished: AtomicUsize::new(0),
            ways: AtomicUsize::new(0),
        }
    }

    /// Queues a job, for a thread that has no deque.
    fn inject(&self, job: Job) {
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        self.injector.push(job);
    }

    /// Runs jobs until there are none. Returns how many this thread has run.
    fn work(&self, own: &ArcWorker<Job>) -> usize {
        let mut run = 0;
        // A job queues its successors before it ends, so that the count does not come to zero
        // before all have ended.
        while self.unfinished.load(Ordering::Acquire) > 0 {
            let Some(job) = self.find(own) else {
                thread::yield_now();
                continue;
            };
            self.run(own, &job);
            run += 1;
            self.unfinished.fetch_sub(1, Ordering::Release);
        }
        run
    }

    /// The thread's own newest job, or a batch from outside, or the oldest job of another thread.
    fn find(&self, own: &ArcWorker<Job>) -> Option<Job> {
        own.pop().or_else(|| {
            loop {
                let from_others = || self.stealers.iter().map(|it| it.steal()).collect();
                let found: Steal<Job> = self.injector.steal_batch_and_pop(own).or_else(from_others);
                // Another thread was faster, and there may be more.
                if !found.is_retry() {
                    return found.success();
                }
            }
        })
    }

    fn run(&self, own: &ArcWorker<Job>, placed: &[usize]) {
        if placed.len() == SHARED_ROWS {
            let ways = ways(&mut placed.to_vec());
            self.ways.fetch_add(ways, Ordering::Relaxed);
            return;
        }
        for column in free_columns(placed) {
            self.unfinished.fetch_add(1, Ordering::Relaxed);
            own.push([placed, &[column]].concat().into());
        }
    }
}

/// Returns the columns of the next row that no queen attacks.
fn free_columns(placed: &[usize]) -> impl Iterator<Item = usize> + use<> {
    let placed = placed.to_vec();
    (0..SIZE).filter(move |&column| {
        let mut queens = placed.iter().rev().zip(1..);
        !queens.any(|(&queen, distance)| queen.abs_diff(column) == distance || queen == column)
    })
}

/// Counts the ways to place the queens that are left.
fn ways(placed: &mut Vec<usize>) -> usize {
    if placed.len() == SIZE {
        return 1;
    }
    let mut count = 0;
    for column in free_columns(placed) {
        placed.push(column);
        count += ways(placed);
        placed.pop();
    }
    count
}

fn main() {
    let deques: Vec<_> = (0..THREADS).map(|_| ArcWorker::new_lifo()).collect();
    let scheduler = &Scheduler::new(&deques);
    scheduler.inject(Box::default());
    let run: Vec<usize> = thread::scope(|scope| {
        let threads: Vec<_> = deques
            .into_iter()
            .map(|own| scope.spawn(move || scheduler.work(&own)))
            .collect();
        let run = threads.into_iter().map(|thread| thread.join().unwrap());
        run.collect()
    });
    let ways = scheduler.ways.load(Ordering::Relaxed);
    println!("{ways} ways; jobs by thread: {run:?}");
    assert_eq!(ways, 724);
}
