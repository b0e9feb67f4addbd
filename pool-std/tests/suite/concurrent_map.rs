//! The example of a map that is read without locks.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[path = "../../examples/concurrent_map.rs"]
#[allow(dead_code, unreachable_pub, reason = "this is not the main program")]
mod example;

use example::Map;
use pool_std::ThreadPoolBuilder;

const LOOKS: usize = if cfg!(miri) { 10 } else { 200 };

#[test]
fn an_entry_that_is_read_outlives_its_removal() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let map = Map::new(1, pool.progress());
    assert!(map.insert(1, Counts));
    let found = map.get(&1, |_value| {
        assert!(map.remove(&1));
        // Often enough that progress has gone on, if nothing delays it.
        for _ in 0..LOOKS {
            pool.broadcast(|_| ());
            assert_eq!(DROPPED.load(SeqCst), 0);
        }
    });
    assert_eq!(found, Some(()));
    pool.shutdown().unwrap();
    assert_eq!(DROPPED.load(SeqCst), 1);
}
