//! A reader while the owner overwrites.

use ::loom::{model, thread};
use std::sync::Arc;

use super::*;

/// The reader may find a record overwritten, or half overwritten, which it then leaves out.
#[test]
fn a_reader_sees_whole_records() {
    model(|| {
        let ring = Arc::new(Ring::new(slots::<2>()));
        ring.push(record(1));
        let owner = ring.clone();
        let writer = thread::spawn(move || {
            owner.push(record(2));
            owner.push(record(3));
        });
        let seen = read(&ring);
        assert!(seen.is_sorted(), "{seen:?}");
        writer.join().unwrap();
        assert_eq!(read(&ring), [3]);
    });
}

/// What the owner has written before another thread hears of it is there.
#[test]
fn a_reader_sees_what_was_written_before() {
    model(|| {
        let ring = Arc::new(Ring::new(slots::<4>()));
        let owner = ring.clone();
        let writer = thread::spawn(move || {
            owner.push(record(1));
            owner.push(record(2));
        });
        let seen = read(&ring);
        assert!([1, 2].starts_with(&seen), "{seen:?}");
        writer.join().unwrap();
        assert_eq!(read(&ring), [1, 2]);
    });
}
