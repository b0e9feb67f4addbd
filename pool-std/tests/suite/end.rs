//! Waiting until a pool has nothing to do, and until it has ended.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use pool_std::{ThreadPool, ThreadPoolBuilder, current_num_threads, spawn};

mod discard;
mod idle;
mod refused;
mod shutdown;

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);

/// Looks often enough that a wait which ends too early has ended.
const LOOKS: usize = if cfg!(miri) { 10 } else { 2_000 };

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// A job that has begun, and ends when the test lets it.
struct Held {
    has_begun: Receiver<()>,
    go_on: Sender<()>,
}

/// Returns a job, and what controls it.
fn held() -> (impl FnOnce() + Send + 'static, Held) {
    let (begin, has_begun) = mpsc::channel();
    let (go_on, may_end) = mpsc::channel();
    let job = move || {
        begin.send(()).unwrap();
        may_end.recv().unwrap();
    };
    (job, Held { has_begun, go_on })
}

impl Held {
    fn wait(&self) {
        self.has_begun.recv_timeout(LIMIT).unwrap();
    }

    fn release(&self) {
        self.go_on.send(()).unwrap();
    }
}

/// Checks that a wait for the pool does not end while a job is held, and ends after that.
fn expect_wait(pool: &ThreadPool, held: &Held) {
    held.wait();
    let is_released = AtomicBool::new(false);
    let seen = &is_released;
    thread::scope(|threads| {
        let waiting = threads.spawn(move || {
            pool.wait_idle().unwrap();
            assert!(seen.load(SeqCst), "the job has not ended");
        });
        for _ in 0..LOOKS {
            if waiting.is_finished() {
                break;
            }
            thread::yield_now();
        }
        is_released.store(!waiting.is_finished(), SeqCst);
        held.release();
        waiting.join().unwrap();
    });
}

fn pool_with_this_thread(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.use_current_thread().build().unwrap()
}

/// Spawns a job that spawns the next one as its last act, while no queue has a job.
fn chain(length: usize, links: Arc<AtomicUsize>) {
    if length > 0 {
        spawn(move || {
            links.fetch_add(1, Relaxed);
            if length.is_multiple_of(7) {
                thread::yield_now();
            }
            chain(length - 1, links);
        });
    }
}

// The last calls of the two handlers come when the pool has ended.
#[test]
fn the_handlers_of_a_worker_that_ends_find_its_pool() {
    let number = current_num_threads() + 1;
    let found = Arc::new(Mutex::new(Vec::new()));
    let look = || {
        let found = found.clone();
        move || found.lock().unwrap().push(current_num_threads())
    };
    let at_exit = look();
    let builder = ThreadPoolBuilder::new().num_threads(number);
    let builder = builder
        .acquire_thread_handler(look())
        .release_thread_handler(look());
    let pool = builder.exit_handler(move |_| at_exit()).build().unwrap();
    pool.shutdown().unwrap();
    let found = found.lock().unwrap();
    assert!(found.len() >= 3 * number);
    assert!(found.iter().all(|&found| found == number), "{found:?}");
}
