//! What rayon-core documents of `use_current_thread`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use rayon_core::{ThreadPoolBuilder, Yield};

#[test]
fn use_current_thread() {
    // On a thread of its own: it stays the pool's worker to its end.
    let result = thread::spawn(|| {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let pool = builder.build().unwrap();
        assert_eq!(rayon_core::current_thread_index(), Some(0));
        assert_eq!(pool.current_thread_index(), Some(0));
        let again = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        assert_eq!(
            again.build().unwrap_err().to_string(),
            "The current thread is already part of another thread pool."
        );
        let here = thread::current().id();
        assert_eq!(pool.install(|| thread::current().id()), here);
        // A job that is spawned while this thread blocks is run by the other worker.
        let (sender, receiver) = std::sync::mpsc::channel();
        pool.spawn(move || sender.send(rayon_core::current_thread_index()).unwrap());
        assert_eq!(receiver.recv().unwrap(), Some(1));
        pool.broadcast(|context| context.index())
    });
    assert_eq!(result.join().unwrap(), [0, 1]);
}

#[test]
fn a_pool_of_the_current_thread_alone() {
    thread::spawn(|| {
        let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let pool = builder.build().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let count = ran.clone();
        pool.spawn(move || {
            count.fetch_add(1, SeqCst);
        });
        assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
        assert_eq!(pool.yield_local(), Some(Yield::Executed));
        assert_eq!(pool.yield_now(), Some(Yield::Idle));
        assert_eq!(ran.load(SeqCst), 1);
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
    })
    .join()
    .unwrap();
}
