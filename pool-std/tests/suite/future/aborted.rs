//! Futures whose handles abort them.

use super::*;

#[test]
fn a_future_that_is_aborted_is_dropped() {
    let pool = pool(1);
    let count = Arc::default();
    let counted = Counted::new(&count);
    let event = Event::default();
    let awaited = event.clone();
    let job = pool.spawn_future(async move {
        let _counted = counted;
        awaited.wait().await;
    });
    event.wait_until_awaited();
    assert!(job.abort());
    assert!(!job.abort(), "it is aborted already");
    let error = job.join().unwrap_err();
    assert!(error.is_aborted());
    assert_eq!(error.to_string(), "the job was aborted");
    wait_for_zero(&count);
    // The waker is out of date.
    event.happen();
    pool.wait_idle().unwrap();
    let job = pool.spawn_future(ready(1));
    pool.wait_idle().unwrap();
    assert!(!job.abort(), "it has ended");
    assert_eq!(job.join().unwrap(), 1);
}

/// A future uses in its drop what it has borrowed from itself. Miri would notice if the pool had
/// made a shared reference to all of it before.
#[test]
fn a_future_that_borrows_from_itself_is_aborted() {
    struct Increments<'n>(&'n mut u32, mpsc::Sender<u32>);

    impl Drop for Increments<'_> {
        fn drop(&mut self) {
            *self.0 += 1;
            self.1.send(*self.0).unwrap();
        }
    }

    let pool = pool(1);
    let (sender, dropped) = mpsc::channel();
    let event = Event::default();
    let awaited = event.clone();
    let job = pool.spawn_future(async move {
        let mut number = 1;
        let _increments = Increments(&mut number, sender);
        awaited.wait().await;
    });
    event.wait_until_awaited();
    assert!(job.abort());
    assert_eq!(dropped.recv(), Ok(2));
}

#[test]
fn a_future_that_is_aborted_in_its_last_poll_gives_no_result() {
    let pool = pool(1);
    let count = Arc::default();
    let counted = Counted::new(&count);
    let (sender, is_polled) = mpsc::channel();
    let (go_on, receiver) = mpsc::channel();
    let job = pool.spawn_future(async move {
        sender.send(()).unwrap();
        receiver.recv().unwrap();
        counted
    });
    is_polled.recv().unwrap();
    assert!(job.abort());
    assert!(job.is_finished());
    go_on.send(()).unwrap();
    pool.wait_idle().unwrap();
    assert_eq!(count.load(SeqCst), 0, "the result is dropped");
    assert!(job.join().is_err_and(|error| error.is_aborted()));
}

#[test]
fn the_panic_of_a_future_that_is_aborted_in_its_last_poll_goes_to_the_handler() {
    let (pool, panics) = pool_with_handler();
    let (begin, is_polled) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let job: JoinHandle<()> = pool.spawn_future(async move {
        begin.send(()).unwrap();
        may_go_on.recv().unwrap();
        panic_any(5_u8);
    });
    is_polled.recv().unwrap();
    assert!(job.abort());
    go_on.send(()).unwrap();
    pool.wait_idle().unwrap();
    let panic = panics.try_recv().expect("no caller gets the panic");
    assert_eq!(panic.downcast_ref(), Some(&5_u8));
    assert!(job.join().is_err_and(|error| error.is_aborted()));
}
