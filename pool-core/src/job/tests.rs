#![cfg(not(loom))]

use std::{
    boxed::Box,
    panic::{AssertUnwindSafe, catch_unwind},
    string::String,
};

use super::*;
use crate::{latch::BlockingLatch, testing::Test};

#[test]
fn a_job_reference_survives_being_words() {
    let job = StackJob::new(
        |by| u8::from(by.migrated()) + 1,
        BlockingLatch::<Test>::new(),
    );
    // SAFETY: `as_job_ref`: 1. `job` stays; `from_words`: 1. and 2. hold; `execute`: 1. once;
    // `take_result`: 1. the job has been run; 2. once.
    let result = unsafe {
        let words = job.as_job_ref().into_words();
        let reference = JobRef::from_words(words);
        assert!(reference.refers_to((&raw const job).cast()));
        reference.execute();
        job.take_result()
    };
    assert_eq!(result, 2, "the closure is told that it migrated");
}

#[test]
fn a_panic_is_kept_and_continued() {
    let job = StackJob::new(
        |_| std::panic::panic_any(String::from("payload")),
        BlockingLatch::<Test>::new(),
    );
    // SAFETY: as above.
    let panic = unsafe {
        job.as_job_ref().execute();
        catch_unwind(AssertUnwindSafe(|| job.take_result())).unwrap_err()
    };
    assert_eq!(*panic.downcast::<String>().unwrap(), "payload");
}

#[test]
fn the_closure_is_dropped_once() {
    let owned = Box::new(1);
    let body = Body::<Test, _>::new(move |_| *owned);
    // SAFETY: 1. it is ours. Miri would report a double free or a leak.
    assert_eq!(unsafe { body.run_inline(JobContext::STOLEN) }, 1);

    let owned = Box::new(2);
    let body = Body::<Test, _>::new(move |_| *owned);
    // SAFETY: 1. it is ours; 2. it is not used any more.
    unsafe { body.drop_closure() };
}
