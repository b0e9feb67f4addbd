use std::{
    mem,
    sync::{
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    thread,
};

use super::*;

/// Confines this thread, and those that it starts, to the processor on which it runs.
fn stay_on_one_processor() {
    // SAFETY: The set is a value of numbers, for which zero is valid; the calls read and write it
    // while it is borrowed, and the size that they get is its own.
    let result = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(usize::try_from(libc::sched_getcpu()).unwrap(), &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
    };
    assert_eq!(result, 0);
}

/// On a busy machine, a thread that held a lock of the allocator did not run for a long time. A
/// worker that waited for the lock was taken to be blocked, and the order of a seed varied.
#[test]
fn a_thread_that_no_processor_is_free_for_has_not_yet_run() {
    let test = || {
        static IS_OVER: AtomicBool = AtomicBool::new(false);

        stay_on_one_processor();
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || {
            sender.send(system::thread_number().unwrap()).unwrap();
            while !IS_OVER.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let thread = receiver.recv().unwrap();
        let only_other = || {
            let mut not_yet_run = NotYetRun::now();
            not_yet_run.0.retain(|&(number, _)| number == thread);
            assert_eq!(not_yet_run.0.len(), 1);
            not_yet_run
        };
        // The other thread may run in the middle of one attempt.
        let mut attempts = (0..1000).map(|_| only_other());
        let mut found = attempts.find_map(|mut it| (!it.is_over()).then_some(it));
        let found = found.as_mut().expect("the other thread has not run");
        // Liveness: the other thread can run while this thread sleeps.
        while !found.is_over() {
            thread::sleep(Duration::from_millis(1));
        }
        IS_OVER.store(true, Relaxed);
        other.join().unwrap();
    };
    thread::spawn(test).join().unwrap();
}
