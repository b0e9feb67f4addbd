//! What becomes of each answer of the system, without a backend.

use std::io::pipe;

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
mod children;

use super::*;
use crate::file::File;

fn read() -> Arc<Operation> {
    let (reader, _) = pipe().unwrap();
    let reader = File::new(reader).unwrap();
    Operation::new(None, Request::read(&reader, vec![0; 16], None))
}

#[track_caller]
fn expect_result(operation: &Operation, next: Next, result: Result<usize, i32>) {
    assert!(matches!(next, Next::Finished));
    assert_eq!(operation.take().expect("finished").1, result);
}

#[test]
fn bytes_finish_a_read() {
    let read = read();
    expect_result(&read, read.conclude(Ok(3)), Ok(3));
}

#[test]
fn an_error_finishes_a_read() {
    let read = read();
    expect_result(&read, read.conclude(Err(libc::EIO)), Err(libc::EIO));
}

/// The caller meets the error again if it goes on.
#[test]
fn bytes_that_came_before_an_error_are_kept() {
    let read = read();
    lock(&read.state).progress = 4;
    expect_result(&read, read.conclude(Err(libc::EIO)), Ok(4));
}

#[test]
fn what_no_caller_asked_for_is_tried_again() {
    let read = read();
    for error in [libc::EINTR, libc::ECANCELED, libc::EFAULT] {
        assert!(matches!(read.conclude(Err(error)), Next::Again));
        assert!(!read.is_finished());
        assert!(!read.is_polling());
    }
    expect_result(&read, read.conclude(Ok(3)), Ok(3));
}

/// A timer whose clock is set fails so, and only once.
#[test]
fn an_error_of_the_file_is_not_taken_for_a_cancel_of_the_kernel() {
    for error in [libc::ECANCELED, libc::EFAULT] {
        let read = read();
        let next = read.conclude_own_call(Err(error));
        expect_result(&read, next, Err(error));
    }
}

/// It has no thread for it, or a signal comes each time that it starts one.
#[test]
fn what_the_kernel_cancels_again_and_again_fails() {
    let read = read();
    for _ in 0..TRIES {
        assert!(matches!(read.conclude(Err(libc::ECANCELED)), Next::Again));
    }
    expect_result(
        &read,
        read.conclude(Err(libc::ECANCELED)),
        Err(libc::EAGAIN),
    );
    // The addresses themselves may be wrong, as far as the pool knows.
    let read = self::read();
    for _ in 0..TRIES {
        assert!(matches!(read.conclude(Err(libc::EFAULT)), Next::Again));
    }
    expect_result(&read, read.conclude(Err(libc::EFAULT)), Err(libc::EFAULT));
}

#[test]
fn an_empty_read_is_not_polled() {
    let (reader, _) = pipe().unwrap();
    let reader = File::new(reader).unwrap();
    let read = Operation::new(None, Request::read(&reader, Vec::new(), None));
    assert!(!read.try_stream_or_poll());
    assert!(!read.is_polling());
}

#[test]
fn a_read_that_would_block_is_polled() {
    let read = read();
    assert!(matches!(read.conclude(Err(libc::EAGAIN)), Next::Again));
    assert!(matches!(read.call(), Ok(Call::Poll { .. })));
    assert!(matches!(read.conclude(Ok(1)), Next::Again));
    assert!(matches!(read.call(), Ok(Call::Transfer { .. })));
    expect_result(&read, read.conclude(Ok(3)), Ok(3));
}

#[test]
fn a_cancelled_read_ends_whatever_the_system_says() {
    for error in [libc::EINTR, libc::ECANCELED, libc::EAGAIN, libc::EFAULT] {
        let read = read();
        read.cancel();
        assert!(matches!(read.call(), Err(libc::ECANCELED)));
        expect_result(&read, read.conclude(Err(error)), Err(libc::ECANCELED));
    }
}

#[test]
fn bytes_that_were_read_before_a_cancel_came_are_kept() {
    let read = read();
    read.cancel();
    expect_result(&read, read.conclude(Ok(3)), Ok(3));
}

#[test]
fn a_cancelled_wait_for_a_stream_reads_nothing() {
    let read = read();
    assert!(matches!(read.conclude(Err(libc::EAGAIN)), Next::Again));
    read.cancel();
    expect_result(&read, read.conclude(Ok(0)), Err(libc::ECANCELED));
}

#[test]
fn what_is_in_memory_is_read_at_once_up_to_the_end_of_the_file() {
    let path = std::env::temp_dir().join(format!("pool-std-operation-{}", std::process::id()));
    std::fs::write(&path, b"0123456789").unwrap();
    let file = File::new(std::fs::File::open(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    let read = Operation::new(None, Request::read(&file, vec![0; 100], Some(4)));
    // Not every file system can tell what is in memory.
    if read.try_at_once() {
        let (request, result) = read.take().unwrap();
        assert_eq!(result, Ok(6));
        assert_eq!(&request.into_buffer()[..6], b"456789");
    }
}

#[test]
fn a_rest_is_read_behind_what_was_read() {
    let path = std::env::temp_dir().join(format!("pool-std-rest-{}", std::process::id()));
    std::fs::write(&path, b"0123456789").unwrap();
    let file = File::new(std::fs::File::open(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    let mut request = Request::read(&file, vec![b'-'; 8], Some(1));
    let call = request.call(3).unwrap();
    // SAFETY: 1. the request is in this frame.
    assert_eq!(unsafe { call.execute() }, Ok(5));
    assert_eq!(request.into_buffer(), b"---45678");
}

#[test]
fn a_waker_whose_drop_panics_leaves_no_latch_behind() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("the drop of a waker");
        }
    }
    let wait_in_vain = || {
        let read = read();
        assert!(read.set_task(&Waker::from(Arc::new(Panics))));
        let wait = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read.wait()));
        assert!(wait.is_err());
        assert!(matches!(lock(&read.state).waiter, Waiter::None));
        expect_result(&read, read.conclude(Ok(3)), Ok(3));
    };
    wait_in_vain();
    // A worker waits in another way.
    let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(wait_in_vain);
}

#[test]
fn a_result_is_taken_once() {
    let read = read();
    expect_result(&read, read.conclude(Ok(3)), Ok(3));
    assert!(read.take().is_none());
}

// Such a file is always ready, so that a wait until it is would not end this.
#[test]
fn a_file_that_would_block_fails() {
    let file = File::new(std::fs::File::open("/dev/null").unwrap()).unwrap();
    let sync = Operation::new(None, Request::sync(&file));
    expect_result(&sync, sync.conclude(Err(libc::EAGAIN)), Err(libc::EAGAIN));
}
