//! A ring alone: what the kernel refuses is repeated, and nothing is lost.

use std::io::{PipeWriter, Write as _, pipe};

use pool_std::driver::{ChannelFull, Hint, WorkerParker as _};

mod noise;

use super::*;
use crate::ring::{parker::RingParker, rings::Rings};
use crate::{file::File, kernel, operation::Next, request::Request};

/// A ring, or none where the kernel has none.
fn ring(entries: u32) -> Option<(Ring, EventCounter)> {
    kernel::has_rings().then(|| {
        let event = EventCounter::new().unwrap();
        (Ring::new(entries, &event).unwrap(), event)
    })
}

fn silent_read() -> (Arc<Operation>, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    let request = Request::read(&File::new(reader).unwrap(), vec![0; 8], None);
    (Operation::new(None, request), writer)
}

/// Takes completions until this number of operations have finished.
fn reap(ring: &Ring, count: usize) {
    let mut finished = 0;
    while finished < count {
        for Completed { operation, result } in ring.reap_after(|_| ()) {
            assert!(matches!(operation.conclude(result), Next::Finished));
            ring.note_concluded();
            finished += 1;
        }
        std::thread::yield_now();
    }
}

#[track_caller]
fn expect(operation: &Operation, result: Result<usize, i32>) {
    assert_eq!(operation.take().expect("finished").1, result);
}

#[test]
fn a_full_queue_loses_no_submission() {
    const READS: usize = 20;
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    // Two entries fit into the queue, and the kernel takes none of them.
    ring.refusals.store(READS, Ordering::Relaxed);
    let (reads, mut writers): (Vec<_>, Vec<_>) = (0..READS).map(|_| silent_read()).unzip();
    for read in &reads {
        assert!(ring.submit(read.clone()).is_none());
        assert!(ring.is_refused());
    }
    assert_eq!(ring.in_flight(), READS);
    assert_eq!(lock(&ring.submission).num_waiting(), READS - 2);
    assert!(ring.repeat());
    assert!(!ring.is_refused());
    for writer in &mut writers {
        writer.write_all(b"abc").unwrap();
    }
    reap(&ring, READS);
    assert_eq!(ring.in_flight(), 0);
    for read in reads {
        expect(&read, Ok(3));
    }
}

/// Some entries are in the kernel's queue by then, and the others in front of it.
#[test]
fn a_refusal_for_good_ends_what_was_submitted() {
    const READS: usize = 5;
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    ring.refusals.store(usize::MAX, Ordering::Relaxed);
    let (reads, mut writers): (Vec<_>, Vec<_>) = (0..READS).map(|_| silent_read()).unzip();
    for read in &reads {
        assert!(ring.submit(read.clone()).is_none());
    }
    assert!(!ring.repeat(), "short of memory");
    ring.refusal.store(libc::EPERM, Ordering::Relaxed);
    assert!(ring.repeat());
    assert!(ring.is_refused(), "until it is collected");
    reap(&ring, READS);
    assert_eq!(ring.in_flight(), 0);
    assert!(ring.repeat());
    assert!(!ring.is_refused());
    for read in &reads {
        expect(read, Err(libc::EPERM));
    }
    // The kernel is not asked again: what is in its queue belongs to nothing any more.
    ring.refusals.store(0, Ordering::Relaxed);
    ring.cancel(None);
    let (late, _writer) = silent_read();
    let failed = ring.submit(late.clone()).expect("not submitted");
    assert!(Arc::ptr_eq(&failed.operation, &late));
    assert_eq!(failed.result, Err(libc::EPERM));
    for (read, writer) in reads.iter().zip(&mut writers) {
        let error = writer.write_all(b"abc").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "no reader is left");
        assert_eq!(Arc::strong_count(read), 1);
    }
    assert!(ring.reap_after(|_| ()).is_empty());
    assert_eq!(ring.in_flight(), 0);
}

/// Reproduces a bug: the drop of a ring cancelled the read of its pipe once, and waited for good if
/// the kernel did not find it just then.
#[test]
fn the_drop_of_a_ring_repeats_a_cancel_that_was_in_vain() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    assert!(ring.sleep(|| false).is_empty());
    assert!(ring.hint.is_in_flight());
    ring.vain_cancels.store(2, Ordering::Relaxed);
    drop(ring);
}

/// Before the ring listens to its pipe, and while it does.
#[test]
fn a_worker_sleeps_beside_a_ring_that_refuses_for_good() {
    for has_listened in [false, true] {
        let Some((ring, _event)) = ring(2) else {
            return;
        };
        if has_listened {
            assert!(ring.sleep(|| false).is_empty());
            assert!(ring.hint.is_in_flight());
        }
        ring.refusal.store(libc::EPERM, Ordering::Relaxed);
        ring.refusals.store(usize::MAX, Ordering::Relaxed);
        let (read, _writer) = silent_read();
        assert!(ring.submit(read.clone()).is_none());
        reap(&ring, 1);
        expect(&read, Err(libc::EPERM));
        for number in 0..10 {
            ring.hint.send(Hint::Worker(number)).unwrap();
            assert!(ring.sleep(|| true).is_empty());
            // A read that the kernel has had since before may have taken the hint. The worker gets
            // it, at the latest when that read completes.
            while ring.hint.is_unread() {
                assert!(ring.sleep(|| false).is_empty());
            }
            assert_eq!(ring.hint.take(), Some(Hint::Worker(number)));
        }
        // Nothing comes, and the worker looks again all the same.
        assert!(ring.sleep(|| true).is_empty());
    }
}

#[test]
fn a_cancel_reaches_what_still_waits_for_the_queue() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    ring.refusals.store(4, Ordering::Relaxed);
    let (reads, _writers): (Vec<_>, Vec<_>) = (0..3).map(|_| silent_read()).unzip();
    for read in &reads {
        assert!(ring.submit(read.clone()).is_none());
    }
    reads[2].cancel();
    ring.cancel(Some(&reads[2]));
    assert!(ring.repeat());
    reap(&ring, 1);
    expect(&reads[2], Err(libc::ECANCELED));
    reads[0].cancel();
    reads[1].cancel();
    ring.cancel(None);
    reap(&ring, 2);
    expect(&reads[0], Err(libc::ECANCELED));
    expect(&reads[1], Err(libc::ECANCELED));
}

#[test]
fn a_cancelled_operation_is_not_submitted() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    let (read, _writer) = silent_read();
    read.cancel();
    let failed = ring.submit(read).expect("not submitted");
    assert_eq!(failed.result, Err(libc::ECANCELED));
    assert_eq!(ring.in_flight(), 0);
}

// More completions than the queue holds: the kernel keeps the others until a call.
#[test]
fn more_completions_than_the_queue_holds_are_all_taken() {
    let Some((ring, _event)) = ring(64) else {
        return;
    };
    const READS: usize = COMPLETIONS as usize * 2 + 10;
    let reads: Vec<_> = (0..READS)
        .map(|_| {
            let (reader, _) = pipe().unwrap();
            let request = Request::read(&File::new(reader).unwrap(), vec![0; 8], None);
            Operation::new(None, request)
        })
        .collect();
    for read in &reads {
        assert!(ring.submit(read.clone()).is_none());
    }
    while !ring.repeat() {
        std::thread::yield_now();
    }
    reap(&ring, READS);
    for read in reads {
        expect(&read, Ok(0));
    }
}

#[test]
fn a_ring_whose_worker_has_listened_ends() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    let _ = ring.hint.send(Hint::Unknown);
    assert!(ring.sleep(|| true).is_empty());
    // The hint has come; this leaves another read in flight.
    assert!(ring.sleep(|| false).is_empty());
    assert!(ring.hint.is_in_flight());
    drop(ring);
}

#[test]
fn a_hint_that_comes_first_ends_the_sleep() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    for _ in 0..100 {
        let _ = ring.hint.send(Hint::Unknown);
        let _ = ring.hint.send(Hint::Unknown);
        assert!(ring.sleep(|| true).is_empty());
    }
    // A pipe that is full keeps its hints, and none of these waits.
    for _ in 0..100_000 {
        let _ = ring.hint.send(Hint::Unknown);
    }
    assert!(ring.sleep(|| true).is_empty());
}

/// Sleeps in the ring, and waits until the read of an earlier thread is cancelled.
#[track_caller]
fn expect_one_read_by_this_thread(ring: &Ring) {
    let this_thread = Some(std::thread::current().id());
    loop {
        assert!(ring.sleep(|| false).is_empty());
        let (in_flight, thread) = ring.hint.reads();
        assert_eq!(thread, this_thread);
        if in_flight == 1 {
            return;
        }
        std::thread::yield_now();
    }
}

/// The kernel completes a read on the thread that has submitted it, which may be busy for long.
#[test]
fn each_thread_that_sleeps_in_a_ring_reads_itself() {
    let Some((ring, _event)) = ring(2) else {
        return;
    };
    assert!(ring.sleep(|| false).is_empty());
    assert_eq!(ring.hint.begin().map(|read| read.number), None, "in flight");
    std::thread::scope(|threads| {
        let other = threads.spawn(|| {
            // The cancelled read of the first thread may end a sleep early.
            let mut sleeps = 0;
            while sleeps < 2 {
                let _ = ring.hint.send(Hint::Unknown);
                assert!(ring.sleep(|| true).is_empty());
                sleeps += 1;
            }
            expect_one_read_by_this_thread(&ring);
        });
        other.join().unwrap();
    });
    expect_one_read_by_this_thread(&ring);
}

/// A parker whose ring is the only one, or none where the kernel has none.
fn parker() -> Option<RingParker> {
    ring(2)?;
    Some(RingParker::new(Rings::new(1).unwrap(), 0))
}

#[test]
fn the_pipe_says_where_the_work_is() {
    let Some(parker) = parker() else { return };
    for number in 0..100 {
        // Before the worker waits, with no read in flight.
        parker.send(Hint::Worker(number)).unwrap();
        assert_eq!(parker.receive(), None, "not read yet");
        parker.park();
        assert_eq!(parker.receive(), Some(Hint::Worker(number)));
        assert_eq!(parker.receive(), None);
        // A token without a hint does not cover one up.
        parker.send(Hint::Injector).unwrap();
        parker.unpark();
        parker.park();
        assert_eq!(parker.receive(), Some(Hint::Injector));
    }
    std::thread::scope(|threads| {
        for number in 0..100 {
            // Whether the worker waits yet or not.
            let sender = threads.spawn({
                let parker = &parker;
                move || parker.send(Hint::Worker(number)).unwrap()
            });
            let hint = std::iter::repeat_with(|| {
                parker.park();
                parker.receive()
            });
            assert_eq!(hint.flatten().next(), Some(Hint::Worker(number)));
            sender.join().unwrap();
        }
    });
}

#[test]
fn a_jammed_pipe_loses_no_wake_up() {
    let Some(parker) = parker() else { return };
    let jam = || {
        while parker.send(Hint::Injector).is_ok() {}
        assert_eq!(parker.send(Hint::Worker(1)), Err(ChannelFull));
    };
    for _ in 0..3 {
        jam();
        // What a notifier does whose hint has found no room.
        parker.unpark();
        parker.park();
        assert_eq!(parker.receive(), Some(Hint::Injector));
    }
    // It is jammed still, and wakes a worker that waits without a token, too.
    jam();
    parker.park();
    parker.park();
    // Emptied, it carries hints again.
    while parker.receive().is_some() {
        parker.unpark();
        parker.park();
    }
    parker.send(Hint::Worker(2)).unwrap();
    parker.park();
    assert_eq!(parker.receive(), Some(Hint::Worker(2)));
}
