//! Handles as futures.

use std::{
    future::Future,
    io::{self as std_io, Write as _, pipe},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use pool_io::{self as io, File, IoBackend, OpenOptions};
use pool_std::{ShutdownError, ThreadPool};

use crate::{
    suite::{TempFile, builder, pipe_to_read, pool, start_read},
    support::wait_for,
};

struct Unpark(Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, SeqCst);
        self.0.unpark();
    }
}

/// Polls a future on this thread until it is ready.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
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

/// Each job that waits runs the next one in its wait, on the same stack, which would hold a few
/// hundred of them.
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
