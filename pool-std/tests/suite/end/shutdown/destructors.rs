//! Destructors of thread-local values, beside threads that wait for the end.

use std::time::Instant;

use super::*;

/// Calls a closure when the thread ends.
struct AtEnd(Option<Box<dyn FnOnce()>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(closure) = self.0.take() {
            closure();
        }
    }
}

thread_local!(static AT_END: Cell<AtEnd> = const { Cell::new(AtEnd(None)) });

fn at_end(closure: impl FnOnce() + 'static) {
    AT_END.set(AtEnd(Some(Box::new(closure))));
}

/// Alone, and beside threads that wait without a limit.
#[test]
fn a_limit_holds_while_a_destructor_blocks() {
    for others in 0..3 {
        let pool = pool(1);
        let (begins, has_begun) = mpsc::channel();
        let (go_on, waits) = mpsc::channel::<()>();
        pool.spawn(move || {
            at_end(move || {
                begins.send(()).unwrap();
                assert!(waits.recv_timeout(LIMIT).is_err());
            });
        });
        let handle = pool.handle();
        let others: Vec<_> = (0..others)
            .map(|_| {
                let handle = handle.clone();
                thread::spawn(move || handle.wait_until_stopped())
            })
            .collect();
        let short = Duration::from_millis(20);
        assert_eq!(pool.shutdown_timeout(short), Err(ShutdownError::TimedOut));
        has_begun.recv_timeout(LIMIT).unwrap();
        // What the thread runs may not have returned before.
        thread::sleep(short);
        let start = Instant::now();
        assert_eq!(pool.shutdown_timeout(short), Err(ShutdownError::TimedOut));
        assert!(start.elapsed() < LIMIT / 2);
        assert!(others.iter().all(|other| !other.is_finished()));
        drop(go_on);
        pool.shutdown_timeout(LIMIT).unwrap();
        for other in others {
            other.join().unwrap().unwrap();
        }
    }
}

#[test]
fn a_destructor_may_need_the_worker_that_waits_for_its_thread() {
    let (ending, other) = (pool(1), Arc::new(pool(1)));
    let (begins, has_begun) = mpsc::channel();
    let (sender, answers) = mpsc::channel();
    let needed = other.clone();
    ending.spawn(move || {
        at_end(move || {
            begins.send(()).unwrap();
            // The worker is about to wait, or does.
            thread::sleep(Duration::from_millis(50));
            let (answer, is_run) = mpsc::channel();
            needed.spawn(move || answer.send(()).unwrap());
            sender.send(is_run.recv_timeout(LIMIT / 2)).unwrap();
        });
    });
    other.install(move || {
        assert!(ending.shutdown_timeout(Duration::ZERO).is_err());
        has_begun.recv_timeout(LIMIT).unwrap();
        ending.shutdown().unwrap();
    });
    assert_eq!(answers.recv_timeout(LIMIT).unwrap(), Ok(()));
}
