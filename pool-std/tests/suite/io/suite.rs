//! The tests, written once.

use std::{
    fs,
    future::Future,
    io::{self as std_io, ErrorKind, PipeReader, PipeWriter, Write, pipe},
    path::PathBuf,
    pin::pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use pool_std::{
    BuildError, IdlePolicy, ShutdownError, SleepKind, ThreadPool, ThreadPoolBuilder,
    io::{self, Completion, File, IoBackend, OpenOptions, Transfer},
};

use crate::{
    io::child::{allow_no_more_files, in_child, interrupt_all_threads_until},
    support::{wait_for, wait_for_asleep},
};

/// A module with all tests for one backend.
macro_rules! suite {
    ($module:ident, $backend:expr) => {
        crate::io::suite::suite! {
            $module, $backend;
            round_trip short_reads_and_the_end full_device closed_pipe bad_input
            a_wait_runs_other_jobs a_wait_sleeps_without_jobs a_future_wakes_its_executor
            a_waker_that_panics_is_handled a_dropped_handle_keeps_file_and_buffer
            a_silent_pipe_can_be_cancelled a_cancel_after_the_end_changes_nothing many_operations
            more_streams_than_threads shutdown_cancels_what_is_in_flight
            a_waker_cannot_wait_for_the_end_of_its_pool waits_do_not_nest_without_limit
            a_worker_runs_jobs_while_many_wait
            descriptors_that_do_not_block_are_waited_for ping_pong_between_threads
            threads_that_lend_their_worker_wait threads_outside_may_end_before_their_operations
            workers_sleep_and_wake_with_each_protocol
            signals_are_no_errors too_many_open_files_are_an_error_of_the_build
        }
    };
    ($module:ident, $backend:expr; $($test:ident)*) => {
        mod $module {
            use super::IoBackend;

            $(
                #[test]
                fn $test() {
                    if crate::io::suite::is_available($backend) {
                        let name = concat!("io::", stringify!($module), "::", stringify!($test));
                        crate::io::suite::$test($backend, name);
                    }
                }
            )*
        }
    };
}
pub(crate) use suite;

/// Whether the system has what the backend needs. Asks the kernel itself, not the code under test.
pub(crate) fn is_available(backend: IoBackend) -> bool {
    static REFUSED: OnceLock<Option<std_io::Error>> = OnceLock::new();

    if backend != IoBackend::Ring {
        return true;
    }
    let refused = REFUSED.get_or_init(|| {
        // SAFETY: the kernel refuses a structure at address zero, or does not know the call.
        unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null_mut::<u8>()) };
        let error = std_io::Error::last_os_error();
        let is_there = error.raw_os_error() == Some(libc::EFAULT);
        (!is_there).then_some(error)
    });
    if let Some(error) = refused {
        eprintln!("io_uring is refused here ({error}): only helper threads are tested");
    }
    refused.is_none()
}

fn builder(backend: IoBackend, threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .io(backend)
}

fn pool(backend: IoBackend, threads: usize) -> ThreadPool {
    let pool = builder(backend, threads).build().unwrap();
    assert_eq!(pool.install(io::backend), backend);
    pool
}

/// A file that goes away with the value.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str) -> Self {
        let name = name.replace("::", "-");
        let name = format!("pool-std-io-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn with(name: &str, contents: &[u8]) -> Self {
        let this = Self::new(name);
        fs::write(&this.0, contents).unwrap();
        this
    }

    fn open(&self) -> File {
        File::new(fs::File::open(&self.0).unwrap()).unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A pipe whose reader is a file for operations.
fn pipe_to_read() -> (File, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    (File::new(reader).unwrap(), writer)
}

fn pipe_to_write() -> (PipeReader, File) {
    let (reader, writer) = pipe().unwrap();
    (reader, File::new(writer).unwrap())
}

/// Starts a read on a pool.
fn start_read(pool: &ThreadPool, file: &File) -> Completion<Transfer> {
    pool.install(|| io::read(file, vec![0; 16]))
}

fn raw_error<T: std::fmt::Debug>(result: Result<T, impl Into<std_io::Error>>) -> i32 {
    let error: std_io::Error = result.unwrap_err().into();
    error.raw_os_error().unwrap()
}

pub(crate) fn round_trip(backend: IoBackend, name: &str) {
    let path = TempFile::new(name);
    let text: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    pool(backend, 2).install(|| {
        let options = OpenOptions::new().read(true).write(true).create_new(true);
        let file = io::open(&path.0, &options).wait().unwrap();
        assert!(!file.is_stream());
        let mut rest = text.clone();
        let mut offset = 0;
        while !rest.is_empty() {
            let written = io::write_at(&file, rest, offset).wait().unwrap();
            assert!(written.bytes > 0);
            offset += written.bytes as u64;
            rest = written.buffer[written.bytes..].to_vec();
        }
        io::sync(&file).wait().unwrap();
        let exists = io::open(&path.0, &options).wait();
        assert_eq!(exists.unwrap_err().kind(), ErrorKind::AlreadyExists);

        let blocks: Vec<_> = (0..text.len() as u64)
            .step_by(4096)
            .map(|offset| io::read_at(&file, vec![0; 4096], offset))
            .collect();
        let read: Vec<u8> = blocks
            .into_iter()
            .flat_map(|block| block.wait().unwrap().data().to_vec())
            .collect();
        assert!(read == text);
        // From the current position.
        let first = io::read(&file, vec![0; 4]).wait().unwrap();
        let second = io::read(&file, vec![0; 4]).wait().unwrap();
        assert_eq!(first.data(), 0_u32.to_le_bytes());
        assert_eq!(second.data(), 1_u32.to_le_bytes());
    });
}

pub(crate) fn short_reads_and_the_end(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"0123456789");
    let (reader, mut writer) = pipe_to_read();
    let pool = pool(backend, 1);
    pool.install(|| {
        let file = file.open();
        for (offset, bytes) in [(0, 10), (4, 6), (10, 0), (1 << 40, 0)] {
            let read = io::read_at(&file, vec![7; 100], offset).wait().unwrap();
            assert_eq!((read.bytes, read.buffer.len()), (bytes, 100), "{offset}");
            assert_eq!(read.data(), &b"0123456789"[10 - bytes..]);
            assert_eq!(read.buffer[bytes..], vec![7; 100 - bytes]);
        }
        assert_eq!(io::read_at(&file, Vec::new(), 0).wait().unwrap().bytes, 0);
    });
    let read = start_read(&pool, &reader);
    writer.write_all(b"abc").unwrap();
    assert_eq!(read.wait().unwrap().data(), b"abc");
    drop(writer);
    assert_eq!(start_read(&pool, &reader).wait().unwrap().bytes, 0);
}

pub(crate) fn full_device(backend: IoBackend, _name: &str) {
    pool(backend, 1).install(|| {
        let options = OpenOptions::new().write(true);
        let full = io::open("/dev/full", &options).wait().unwrap();
        let error = io::write(&full, b"text".to_vec()).wait().unwrap_err();
        assert_eq!(error.buffer, b"text");
        assert_eq!(error.error.kind(), ErrorKind::StorageFull);
    });
}

pub(crate) fn closed_pipe(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    let (reader, writer) = pipe_to_write();
    drop(reader);
    let error = pool.install(|| io::write(&writer, b"text".to_vec()).wait());
    let error = error.unwrap_err();
    assert_eq!(error.buffer, b"text");
    assert_eq!(error.error.kind(), ErrorKind::BrokenPipe);

    // A write that waits for room meets the end of the reader.
    let (reader, writer) = pipe_to_write();
    let (written, waits) = pool.install(|| {
        let written = io::write(&writer, vec![0; 1 << 20]).wait().unwrap();
        (written.bytes, io::write(&writer, vec![0; 1 << 20]))
    });
    assert!(written > 0 && written < 1 << 20);
    drop(reader);
    assert_eq!(raw_error(waits.wait()), libc::EPIPE);
}

pub(crate) fn bad_input(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"text");
    let (reader, _writer) = pipe_to_read();
    pool(backend, 1).install(|| {
        let options = OpenOptions::new().read(true);
        let file = file.open();
        assert_eq!(raw_error(io::open("a\0b", &options).wait()), libc::EINVAL);
        let nothing = OpenOptions::new();
        assert_eq!(raw_error(io::open("/", &nothing).wait()), libc::EINVAL);
        let missing = io::open("/no/such/file", &options).wait();
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);

        // The greatest offset means the current position to a ring.
        for offset in [u64::MAX, 1 << 63] {
            let error = io::read_at(&file, vec![1; 4], offset).wait().unwrap_err();
            assert_eq!(error.error.raw_os_error(), Some(libc::EINVAL));
            assert_eq!(error.buffer, [1; 4]);
        }
        assert_eq!(
            raw_error(io::write_at(&file, vec![1], 0).wait()),
            libc::EBADF
        );
        assert!(reader.is_stream());
        let error = io::read_at(&reader, vec![1; 4], 0).wait().unwrap_err();
        assert_eq!(error.error.raw_os_error(), Some(libc::ESPIPE));
        assert_eq!(error.buffer, [1; 4]);
    });
}

pub(crate) fn a_wait_runs_other_jobs(backend: IoBackend, _name: &str) {
    let (reader, mut writer) = pipe_to_read();
    pool(backend, 1).install(|| {
        let read = io::read(&reader, vec![0; 16]);
        // Only this worker can run it.
        pool_std::spawn(move || writer.write_all(b"from a job").unwrap());
        assert_eq!(read.wait().unwrap().data(), b"from a job");
    });
}

pub(crate) fn a_wait_sleeps_without_jobs(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 2);
    for _ in 0..100 {
        let (reader, mut writer) = pipe_to_read();
        thread::scope(|scope| {
            let read = scope.spawn(|| pool.install(|| io::read(&reader, vec![0; 16]).wait()));
            wait_for_asleep(&pool, 2);
            writer.write_all(b"wake up").unwrap();
            assert_eq!(read.join().unwrap().unwrap().data(), b"wake up");
        });
    }
}

struct Unpark(Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, SeqCst);
        self.0.unpark();
    }
}

/// Polls a future on this thread until it is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    let unpark = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(unpark);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

pub(crate) fn a_future_wakes_its_executor(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"0123456789");
    let pool = pool(backend, 1);
    let (reader, mut writer) = pipe_to_read();
    let unpark = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(unpark.clone());
    let mut read = pin!(start_read(&pool, &reader));
    let mut context = Context::from_waker(&waker);
    assert!(read.as_mut().poll(&mut context).is_pending());
    assert!(read.as_mut().poll(&mut context).is_pending());
    assert_eq!(unpark.1.load(SeqCst), 0);
    writer.write_all(b"abc").unwrap();
    // The one that was given last is woken.
    wait_for(|| unpark.1.load(SeqCst) == 1);
    assert!(read.is_finished());
    match read.as_mut().poll(&mut context) {
        Poll::Ready(result) => assert_eq!(result.unwrap().data(), b"abc"),
        Poll::Pending => panic!("woken too early"),
    }

    let text = block_on(async {
        let options = OpenOptions::new().read(true);
        let file = pool.install(|| io::open(&file.0, &options)).await?;
        let read = pool.install(|| io::read_at(&file, vec![0; 4], 3)).await?;
        Ok::<_, std_io::Error>(read.buffer)
    });
    assert_eq!(text.unwrap(), b"3456");
}

pub(crate) fn a_waker_that_panics_is_handled(backend: IoBackend, _name: &str) {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("in a waker");
        }
    }

    let (sender, panics) = mpsc::channel();
    let sender = Mutex::new(sender);
    let handler = move |panic| sender.lock().unwrap().send(panic).unwrap();
    let pool = builder(backend, 1).panic_handler(handler).build().unwrap();
    let (reader, mut writer) = pipe_to_read();
    let mut read = pin!(start_read(&pool, &reader));
    let waker = Waker::from(Arc::new(Panics));
    assert!(
        read.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    writer.write_all(b"abc").unwrap();
    let panic = panics.recv().unwrap();
    assert_eq!(panic.downcast_ref(), Some(&"in a waker"));
    assert_eq!(block_on(read).unwrap().data(), b"abc");
}

pub(crate) fn a_dropped_handle_keeps_file_and_buffer(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    for is_polled in [false, true] {
        let (reader, mut writer) = pipe_to_read();
        let mut read = start_read(&pool, &reader);
        drop(reader);
        if is_polled {
            let context = &mut Context::from_waker(Waker::noop());
            assert!(pin!(&mut read).poll(context).is_pending());
        }
        drop(read);
        // The operation has the last reader, so this does not fail. It ends the operation.
        writer.write_all(b"abc").unwrap();
        // Then the reader is closed.
        while writer.write_all(b"abc").is_ok() {}
    }
}

pub(crate) fn a_silent_pipe_can_be_cancelled(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    let (reader, mut writer) = pipe_to_read();
    let read = start_read(&pool, &reader);
    read.cancel();
    let error = read.wait().unwrap_err();
    assert_eq!(error.error.raw_os_error(), Some(libc::ECANCELED));
    assert_eq!(error.buffer.len(), 16);

    // Waited for by a worker that sleeps.
    let read = Arc::new(Mutex::new(None));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            pool.install(|| {
                let first = io::read(&reader, vec![0; 16]);
                *read.lock().unwrap() = Some(io::read(&reader, vec![0; 16]));
                first.wait()
            })
        });
        wait_for(|| read.lock().unwrap().is_some());
        wait_for_asleep(&pool, 1);
        let second = read.lock().unwrap().take().unwrap();
        second.cancel();
        assert_eq!(raw_error(second.wait()), libc::ECANCELED);
        // The other one was not meant.
        writer.write_all(b"abc").unwrap();
        assert_eq!(waiter.join().unwrap().unwrap().data(), b"abc");
    });
}

pub(crate) fn a_cancel_after_the_end_changes_nothing(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"text").open();
    let pool = pool(backend, 1);
    let read = pool.install(|| io::read_at(&file, vec![0; 4], 0));
    wait_for(|| read.is_finished());
    read.cancel();
    assert_eq!(read.wait().unwrap().data(), b"text");
}

pub(crate) fn many_operations(backend: IoBackend, name: &str) {
    const BLOCK: usize = 512;
    const BLOCKS: usize = 2000;
    let text: Vec<u8> = (0..BLOCK * BLOCKS)
        .map(|index| (index / BLOCK) as u8)
        .collect();
    let file = TempFile::with(name, &text).open();
    let is_right = |block: usize, transfer: Transfer| {
        let read = transfer.unwrap();
        assert_eq!(read.data(), &text[block * BLOCK..][..BLOCK], "{block}");
    };
    let start = |block| io::read_at(&file, vec![0; BLOCK], (block * BLOCK) as u64);
    let pool = pool(backend, 3);
    // All at once.
    pool.install(|| {
        let reads: Vec<_> = (0..BLOCKS).map(start).collect();
        for (block, read) in reads.into_iter().enumerate() {
            is_right(block, read.wait());
        }
    });
    // One per job.
    pool.scope(|scope| {
        for block in 0..BLOCKS {
            scope.spawn(move |_| is_right(block, start(block).wait()));
        }
    });
    // Writes do not pass by the kernel's queues.
    let path = TempFile::new(&format!("{name}-written"));
    let written = File::new(fs::File::create(&path.0).unwrap()).unwrap();
    pool.install(|| {
        let blocks = text.chunks(BLOCK).enumerate();
        let writes: Vec<_> = blocks
            .map(|(block, text)| io::write_at(&written, text.to_vec(), (block * BLOCK) as u64))
            .collect();
        for write in writes {
            assert_eq!(write.wait().unwrap().bytes, BLOCK);
        }
    });
    assert!(fs::read(&path.0).unwrap() == text);
}

pub(crate) fn more_streams_than_threads(backend: IoBackend, _name: &str) {
    const PIPES: usize = 64;
    let pool = pool(backend, 2);
    let (readers, mut writers): (Vec<_>, Vec<_>) = (0..PIPES).map(|_| pipe_to_read()).unzip();
    let reads: Vec<_> = readers
        .iter()
        .map(|reader| start_read(&pool, reader))
        .collect();
    // None of them keeps another one from its end, nor a job from running.
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    for (index, writer) in writers.iter_mut().enumerate().rev() {
        writer.write_all(&[index as u8]).unwrap();
    }
    for (index, read) in reads.into_iter().enumerate() {
        assert_eq!(read.wait().unwrap().data(), [index as u8]);
    }
}

pub(crate) fn shutdown_cancels_what_is_in_flight(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"text").open();
    let pool = pool(backend, 2);
    let (reader, mut writer) = pipe_to_read();
    let reads: Vec<_> = (0..10).map(|_| start_read(&pool, &reader)).collect();
    let dropped = start_read(&pool, &reader);
    drop((dropped, reader));
    let at_once = pool.install(|| io::read_at(&file, vec![0; 4], 0));
    pool.shutdown().unwrap();
    for read in reads {
        let error = read.wait().unwrap_err();
        assert_eq!(error.error.raw_os_error(), Some(libc::ECANCELED));
        assert_eq!(error.buffer.len(), 16);
    }
    // Nothing has kept the reader, but a process that another test starts at the moment.
    while writer.write_all(b"abc").is_ok() {}
    // It may have ended before.
    if let Err(error) = at_once.wait() {
        assert_eq!(error.error.raw_os_error(), Some(libc::ECANCELED));
    }
}

pub(crate) fn a_waker_cannot_wait_for_the_end_of_its_pool(backend: IoBackend, _name: &str) {
    struct Ends(
        Mutex<Option<ThreadPool>>,
        mpsc::Sender<Result<(), ShutdownError>>,
    );
    impl Wake for Ends {
        fn wake(self: Arc<Self>) {
            let pool = self.0.lock().unwrap().take().expect("woken once");
            self.1.send(pool.shutdown()).unwrap();
        }
    }
    let pool = pool(backend, 1);
    let (reader, mut writer) = pipe_to_read();
    let mut read = start_read(&pool, &reader);
    let (sender, answer) = mpsc::channel();
    let waker = Waker::from(Arc::new(Ends(Mutex::new(Some(pool)), sender)));
    let poll = std::pin::Pin::new(&mut read).poll(&mut Context::from_waker(&waker));
    assert!(poll.is_pending());
    writer.write_all(b"abc").unwrap();
    assert_eq!(answer.recv().unwrap(), Err(ShutdownError::FromWorker));
    assert_eq!(read.wait().unwrap().bytes, 3);
}

/// Each job that waits runs the next one in its wait, on the same stack, which would hold a few hundred of them.
pub(crate) fn waits_do_not_nest_without_limit(backend: IoBackend, _name: &str) {
    const JOBS: usize = 5_000;
    let pool = builder(backend, 1).stack_size(1 << 20).build().unwrap();
    let (reader, mut writer) = pipe_to_read();
    let read = AtomicUsize::new(0);
    thread::scope(|threads| {
        let (pool, reader, read) = (&pool, &reader, &read);
        threads.spawn(move || {
            pool.scope(|scope| {
                for _ in 0..JOBS {
                    scope.spawn(|_| {
                        let frame = std::hint::black_box([0_u8; 4096]);
                        let bytes = io::read(reader, vec![0; 1]).wait().unwrap().bytes;
                        read.fetch_add(bytes + usize::from(frame[0]), SeqCst);
                    });
                }
            });
        });
        for _ in 0..JOBS {
            writer.write_all(b"a").unwrap();
        }
    });
    assert_eq!(read.load(SeqCst), JOBS);
}

pub(crate) fn a_worker_runs_jobs_while_many_wait(backend: IoBackend, _name: &str) {
    const PIPES: usize = 64;
    // Instrumented frames are large.
    let pool = builder(backend, 1).stack_size(1 << 23).build().unwrap();
    let (begin, begins) = mpsc::channel();
    let (done, dones) = mpsc::channel();
    let writers: Vec<_> = (0..PIPES)
        .map(|_| {
            let (reader, writer) = pipe_to_read();
            let (begin, done) = (begin.clone(), done.clone());
            pool.spawn(move || {
                begin.send(()).unwrap();
                let read = io::read(&reader, vec![0; 1]);
                done.send(read.wait().unwrap().bytes).unwrap();
            });
            writer
        })
        .collect();
    // The one worker begins all of them before any can end, and another job after them.
    (0..PIPES).for_each(|_| begins.recv().unwrap());
    assert_eq!(pool.install(|| 7), 7);
    for mut writer in writers {
        writer.write_all(b"a").unwrap();
    }
    assert_eq!(dones.iter().take(PIPES).sum::<usize>(), PIPES);
}

pub(crate) fn descriptors_that_do_not_block_are_waited_for(backend: IoBackend, _name: &str) {
    use std::os::fd::AsRawFd;

    let (reader, mut writer) = pipe().unwrap();
    // SAFETY: The call takes numbers only.
    let result = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(result, 0);
    let reader = File::new(reader).unwrap();
    let pool = pool(backend, 1);
    for _ in 0..10 {
        thread::scope(|scope| {
            let read = scope.spawn(|| pool.install(|| io::read(&reader, vec![0; 16]).wait()));
            wait_for_asleep(&pool, 1);
            writer.write_all(b"abc").unwrap();
            assert_eq!(read.join().unwrap().unwrap().data(), b"abc");
        });
    }
}

pub(crate) fn ping_pong_between_threads(backend: IoBackend, _name: &str) {
    const ROUNDS: usize = 200;
    const PAIRS: usize = 3;
    let pool = &pool(backend, 2);
    // Jobs could not: one that waits may run its opponent on its own stack.
    let play = |reader: File, writer: File, begins: bool| {
        for round in 0..ROUNDS {
            let ball = &vec![round as u8; 4];
            let write = || pool.install(|| io::write(&writer, ball.clone()));
            if begins {
                assert_eq!(write().wait().unwrap().bytes, 4);
            }
            let read = start_read(pool, &reader);
            assert_eq!(block_on(read).unwrap().data(), ball);
            if !begins {
                assert_eq!(write().wait().unwrap().bytes, 4);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..PAIRS {
            let (here, there) = (pipe().unwrap(), pipe().unwrap());
            let [reader_a, reader_b] = [here.0, there.0].map(|end| File::new(end).unwrap());
            let [writer_a, writer_b] = [there.1, here.1].map(|end| File::new(end).unwrap());
            scope.spawn(move || play(reader_a, writer_a, true));
            scope.spawn(move || play(reader_b, writer_b, false));
        }
    });
}

pub(crate) fn threads_that_lend_their_worker_wait(backend: IoBackend, _name: &str) {
    let pool = builder(backend, 1).max_blocking_threads(1).build().unwrap();
    let (reader, mut writer) = pipe_to_read();
    pool.install(|| {
        let read = io::read(&reader, vec![0; 16]);
        pool_std::spawn(move || writer.write_all(b"abc").unwrap());
        // The spare is the worker that runs the job; this thread is none, and blocks.
        let read = pool_std::block_in_place(|| read.wait());
        assert_eq!(read.unwrap().data(), b"abc");
    });
}

pub(crate) fn threads_outside_may_end_before_their_operations(backend: IoBackend, name: &str) {
    let path = TempFile::new(name);
    // This thread is the only worker, and ends before its operations do.
    let (reader, mut writer) = pipe_to_read();
    let (started, adopted) = thread::spawn(move || {
        let pool = builder(backend, 1).use_current_thread().build().unwrap();
        let read = start_read(&pool, &reader);
        let open = pool.install(|| {
            let options = OpenOptions::new().write(true).create(true);
            io::open(&path.0, &options)
        });
        ((read, open, path), pool)
    })
    .join()
    .unwrap();
    let (read, open, _path) = started;
    writer.write_all(b"abc").unwrap();
    assert_eq!(read.wait().unwrap().data(), b"abc");
    assert!(open.wait().is_ok());
    drop(adopted);
}

pub(crate) fn workers_sleep_and_wake_with_each_protocol(backend: IoBackend, _name: &str) {
    const CYCLES: usize = 1000;
    for &kind in SleepKind::ALL {
        let pool = builder(backend, 3).sleep(kind).build().unwrap();
        let (reader, mut writer) = pipe_to_read();
        for cycle in 0..CYCLES {
            // A job for workers that sleep in their rings, and a completion for one of them.
            assert_eq!(pool.join(|| cycle, || cycle + 1), (cycle, cycle + 1));
            let read = pool.install(|| {
                let read = io::read(&reader, vec![0; 8]);
                writer.write_all(&cycle.to_ne_bytes()).unwrap();
                read.wait().unwrap()
            });
            assert_eq!(read.data(), cycle.to_ne_bytes());
        }
        pool.shutdown().unwrap();
    }
}

pub(crate) fn signals_are_no_errors(backend: IoBackend, name: &str) {
    in_child(name, || {
        let path = TempFile::new(name);
        let c_path = std::ffi::CString::new(path.0.to_str().unwrap()).unwrap();
        // SAFETY: the path lives during the call.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        let pool = pool(backend, 2);
        let (reader, mut writer) = pipe_to_read();
        let (rounds, finished) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let read = start_read(&pool, &reader);
            // Opening a FIFO waits for the other end.
            let open = pool.install(|| io::open(&path.0, &OpenOptions::new().read(true)));
            scope.spawn(|| {
                interrupt_all_threads_until(|| {
                    rounds.fetch_add(1, SeqCst);
                    finished.load(SeqCst)
                });
            });
            let file = scope.spawn(|| {
                wait_for(|| rounds.load(SeqCst) > 200);
                fs::File::create(&path.0)
            });
            // A ring need not wait for the writer, so the reader must stay.
            let _reader = open.wait().unwrap();
            writer.write_all(b"abc").unwrap();
            assert_eq!(read.wait().unwrap().data(), b"abc");
            assert!(file.join().unwrap().is_ok());
            finished.store(true, SeqCst);
        });
    });
}

pub(crate) fn too_many_open_files_are_an_error_of_the_build(backend: IoBackend, name: &str) {
    in_child(name, || {
        allow_no_more_files();
        match builder(backend, 2).build() {
            Err(BuildError::Io { source }) => {
                assert_eq!(source.raw_os_error(), Some(libc::EMFILE));
            }
            other => panic!("{other:?}"),
        }
    });
}
