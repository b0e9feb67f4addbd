//! The tests, written once.

use std::{
    fs,
    io::{self as std_io, PipeReader, PipeWriter, pipe},
    path::PathBuf,
};

use pool_io::{self as io, Completion, File, IoBackend, ThreadPoolBuilderExt as _, Transfer};
use pool_std::{IdlePolicy, ThreadPool, ThreadPoolBuilder};

use crate::kernel;

pub(crate) mod ends;
pub(crate) mod files;
pub(crate) mod futures;
pub(crate) mod limits;
pub(crate) mod waits;

/// A module with all tests for one backend.
macro_rules! suite {
    ($module:ident, $backend:expr) => {
        crate::suite::suite! {
            $module, $backend;
            files: round_trip short_reads_and_the_end no_bytes_at_once_are_not_the_end
                an_empty_buffer_does_not_wait full_device closed_pipe bad_input options_open_as_those_of_std_do
                streams_that_fail_do_not_wait transfers_at_the_current_position_take_turns
                direct_reads_move_the_current_position_on
                streams_do_without_a_call_that_a_filter_forbids;
            waits: a_wait_runs_other_jobs a_blocking_wait_runs_none a_wait_sleeps_without_jobs
                waits_do_not_nest_without_limit a_worker_runs_jobs_while_many_wait
                threads_that_lend_their_worker_wait workers_sleep_and_wake_with_each_protocol;
            futures: a_future_wakes_its_executor a_waker_that_panics_is_handled
                a_waker_cannot_wait_for_the_end_of_its_pool ping_pong_between_threads;
            ends: a_dropped_handle_keeps_file_and_buffer
                a_handle_keeps_no_file_of_a_finished_operation a_silent_pipe_can_be_cancelled
                a_cancel_after_the_end_changes_nothing shutdown_cancels_what_is_in_flight
                threads_outside_may_end_before_their_operations
                an_open_that_waits_can_be_cancelled
                a_handle_keeps_no_descriptor_of_its_pool;
            limits: many_operations more_streams_than_threads
                descriptors_that_do_not_block_are_waited_for signals_are_no_errors
                too_many_open_files_are_an_error_of_the_build
                each_descriptor_that_is_refused_is_an_error_of_the_build
                more_streams_than_the_process_may_open
                an_operation_for_which_no_thread_is_left_fails
                fifos_that_are_opened_stall_no_other_operation a_ring_waits_for_no_fifo
                what_waits_for_a_helper_can_be_cancelled
                what_waits_for_a_helper_ends_with_its_pool;
        }
    };
    ($module:ident, $backend:expr; $($subject:ident: $($test:ident)*;)*) => {
        mod $module {
            use super::IoBackend;

            $($(
                #[test]
                fn $test() {
                    if crate::suite::is_available($backend) {
                        let name = concat!(stringify!($module), "::", stringify!($test));
                        crate::suite::$subject::$test($backend, name);
                    }
                }
            )*)*
        }
    };
}
pub(crate) use suite;

/// Whether the system has what the backend needs.
pub(crate) fn is_available(backend: IoBackend) -> bool {
    backend != IoBackend::Ring || kernel::has_rings()
}

pub(crate) fn builder(backend: IoBackend, threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .io(backend)
}

pub(crate) fn pool(backend: IoBackend, threads: usize) -> ThreadPool {
    let pool = builder(backend, threads).build().unwrap();
    assert_eq!(pool.install(io::backend), backend);
    pool
}

/// A file that goes away with the value.
pub(crate) struct TempFile(pub(crate) PathBuf);

impl TempFile {
    pub(crate) fn new(name: &str) -> Self {
        let name = name.replace("::", "-");
        let name = format!("pool-io-test-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    pub(crate) fn with(name: &str, contents: &[u8]) -> Self {
        let this = Self::new(name);
        fs::write(&this.0, contents).unwrap();
        this
    }

    pub(crate) fn open(&self) -> File {
        File::new(fs::File::open(&self.0).unwrap()).unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A pipe whose reader is a file for operations.
pub(crate) fn pipe_to_read() -> (File, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    (File::new(reader).unwrap(), writer)
}

pub(crate) fn pipe_to_write() -> (PipeReader, File) {
    let (reader, writer) = pipe().unwrap();
    (reader, File::new(writer).unwrap())
}

/// Starts a read on a pool.
pub(crate) fn start_read(pool: &ThreadPool, file: &File) -> Completion<Transfer> {
    pool.install(|| io::read(file, vec![0; 16]))
}

pub(crate) fn raw_error<T: std::fmt::Debug>(result: Result<T, impl Into<std_io::Error>>) -> i32 {
    let error: std_io::Error = result.unwrap_err().into();
    error.raw_os_error().unwrap()
}
