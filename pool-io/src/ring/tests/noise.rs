//! Descriptors whose transfers would block although they were ready.

use std::{
    io::Read as _,
    time::{Duration, Instant},
};

use super::*;

/// A socket that keeps errors in a queue is ready without end, and a read of it would block.
#[test]
fn a_descriptor_that_is_always_ready_is_not_polled_without_a_pause() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    let (_reader, writer) = pipe().unwrap();
    // The pipe is ready. Its writes are said to block nevertheless.
    let request = Request::write(&File::new(writer).unwrap(), vec![0; 8], None);
    let write = Operation::new(None, request);
    assert_eq!(waits_in_vain(&ring, &write, 20), 3, "after 17 waits");
}

/// Reproduces a bug: a read that had lost many races was tried each millisecond without end.
#[test]
fn a_descriptor_that_was_noisy_and_is_silent_is_waited_for() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    let (reader, mut writer) = pipe().unwrap();
    writer.write_all(b"abc").unwrap();
    let mut other = reader.try_clone().unwrap();
    let request = Request::read(&File::new(reader).unwrap(), vec![0; 8], None);
    let read = Operation::new(None, request);
    assert!(waits_in_vain(&ring, &read, 20) > 0);
    // Another read takes the bytes.
    other.read_exact(&mut [0; 3]).unwrap();
    assert!(matches!(read.conclude(Err(libc::EAGAIN)), Next::Again));
    assert!(ring.submit(read.clone()).is_none());
    let pause = next(&ring);
    assert_eq!(pause.result, Err(libc::ETIME));
    assert!(matches!(read.conclude(pause.result), Next::Again));
    ring.note_concluded();
    assert!(ring.submit(read.clone()).is_none());
    // From here on it waits.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(100) {
        assert!(ring.reap_after(|_| ()).is_empty());
        std::thread::yield_now();
    }
    writer.write_all(b"abc").unwrap();
    assert!(matches!(read.conclude(next(&ring).result), Next::Again));
    ring.note_concluded();
    assert!(ring.submit(read.clone()).is_none());
    reap(&ring, 1);
    expect(&read, Ok(3));
}

/// Lets an operation wait this number of times, each time in vain. Returns the number of pauses.
fn waits_in_vain(ring: &Ring, operation: &Arc<Operation>, times: usize) -> usize {
    let mut pauses = 0;
    for _ in 0..times {
        assert!(matches!(operation.conclude(Err(libc::EAGAIN)), Next::Again));
        while operation.is_polling() {
            assert!(ring.submit(operation.clone()).is_none());
            let completed = next(ring);
            pauses += usize::from(completed.result == Err(libc::ETIME));
            assert!(matches!(operation.conclude(completed.result), Next::Again));
            ring.note_concluded();
        }
    }
    pauses
}

/// Waits for a completion.
fn next(ring: &Ring) -> Completed {
    loop {
        if let Some(completed) = ring.reap_after(|_| ()).pop() {
            return completed;
        }
        std::thread::yield_now();
    }
}
