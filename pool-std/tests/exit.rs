//! A thread that was adopted ends, or ends the process, in the middle of something. Each test runs
//! itself once more, as a process of its own.
#![cfg(not(miri))]

#[path = "support/again.rs"]
mod again;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    process,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
};

use pool_std::{ThreadPool, ThreadPoolBuilder, block_in_place, join, spawn};

/// The system's allocator, which leaves nothing legible in memory that is freed.
struct Poisoning;

// SAFETY: the system's allocator does the work; memory is written to before it is given back.
unsafe impl GlobalAlloc for Poisoning {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's obligations are forwarded; the block is the caller's until then.
        unsafe {
            pointer.write_bytes(0xDD, layout.size());
            System.dealloc(pointer, layout);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Poisoning = Poisoning;

/// In the child, runs `body`. Otherwise runs the test `name` as a child, which must end with status
/// 3 and print nothing but what the test harness prints.
fn in_a_process(name: &str, body: fn()) {
    if again::is_child() {
        body();
        panic!("the body exits");
    }
    let child = again::child(name).output().unwrap();
    let (output, errors) = (
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr),
    );
    assert_eq!(child.status.code(), Some(3), "{output}{errors}");
    assert!(!output.contains("ran"), "no job runs in exit: {output}");
    assert_eq!(errors, "");
}

fn pool_with_this_thread(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .use_current_thread()
        .build()
        .unwrap()
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

/// What this thread waits for has begun elsewhere.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// It may end.
static MAY_END: AtomicBool = AtomicBool::new(false);
/// The worker that it ran on has gone on to another job: so it has set the latch that this thread
/// waits for.
static LATCH_IS_SET: AtomicBool = AtomicBool::new(false);

fn wait_elsewhere() {
    HAS_BEGUN.store(true, SeqCst);
    wait_for(&MAY_END);
}

/// Instead of a destructor of the program's own: makes a worker set the latch that this thread
/// waits for.
#[derive(Default)]
struct EndWait(Cell<Option<&'static ThreadPool>>);

impl Drop for EndWait {
    fn drop(&mut self) {
        let pool = self.0.get().unwrap();
        MAY_END.store(true, SeqCst);
        pool.spawn(|| LATCH_IS_SET.store(true, SeqCst));
        wait_for(&LATCH_IS_SET);
    }
}

thread_local! {
    static END_WAIT: EndWait = EndWait::default();
}

/// The pool that `build` makes gets a job when this thread has ceased to be a worker: destructors
/// of thread-locals run the newest first.
fn end_wait_on(build: fn() -> ThreadPool) -> &'static ThreadPool {
    END_WAIT.with(|end| {
        let pool: &ThreadPool = Box::leak(Box::new(build()));
        end.0.set(Some(pool));
        pool
    })
}

/// The latch of a call from pool to pool points to the worker that waits, whose thread is gone for
/// good.
#[test]
fn exit_in_a_job_while_another_pool_is_waited_for() {
    in_a_process("exit_in_a_job_while_another_pool_is_waited_for", || {
        let other = end_wait_on(|| ThreadPoolBuilder::new().num_threads(1).build().unwrap());
        let _pool = pool_with_this_thread(1);
        spawn(|| {
            wait_for(&HAS_BEGUN);
            process::exit(3);
        });
        other.install(wait_elsewhere);
    });
}

/// As above, within one pool. There the latch only reads of the worker, which AddressSanitizer
/// sees, and nothing else.
#[test]
fn exit_in_a_job_while_a_join_waits() {
    in_a_process("exit_in_a_job_while_a_join_waits", || {
        end_wait_on(|| pool_with_this_thread(2));
        let first_half = || {
            while !HAS_BEGUN.load(SeqCst) {
                // Announces it once more, in case the other worker was falling asleep.
                spawn(|| ());
                thread::yield_now();
            }
            spawn(|| process::exit(3));
        };
        join(first_half, wait_elsewhere);
    });
}

/// Jobs could need a lock that is held where the process is asked to exit, or call `exit` too.
#[test]
fn exit_runs_no_jobs() {
    in_a_process("exit_runs_no_jobs", || {
        let _pool = pool_with_this_thread(1);
        spawn(|| {
            println!("a spawned job ran");
            process::exit(4);
        });
        join(|| process::exit(3), || println!("a second half ran"));
    });
}

/// The adopted thread ends the process while a spare thread is its worker and runs a job.
#[test]
fn exit_in_a_closure_that_blocks_in_place() {
    in_a_process("exit_in_a_closure_that_blocks_in_place", || {
        let _pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        spawn(wait_elsewhere);
        block_in_place(|| {
            wait_for(&HAS_BEGUN);
            process::exit(3);
        });
    });
}

/// A job that a spare thread runs ends the process, while the worker's own thread waits.
#[test]
fn exit_in_a_job_of_a_spare_thread() {
    in_a_process("exit_in_a_job_of_a_spare_thread", || {
        let _pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        spawn(|| {
            wait_for(&HAS_BEGUN);
            process::exit(3);
        });
        block_in_place(wait_elsewhere);
    });
}
