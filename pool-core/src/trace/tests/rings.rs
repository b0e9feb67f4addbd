//! What a ring keeps, and what threads read from it.

use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
};

use super::*;

#[test]
fn keeps_the_newest_records() {
    let ring = Ring::new(slots::<4>());
    assert_eq!(read(&ring), []);
    for number in 1..=10 {
        ring.push(record(number));
        let oldest = number.saturating_sub(2).max(1);
        assert_eq!(read(&ring), (oldest..=number).collect::<Vec<_>>());
    }
    assert_eq!(ring.written(), 10);
}

#[test]
fn rounds_the_number_of_slots_down() {
    let ring = Ring::new(slots::<7>());
    (1..=9).for_each(|number| ring.push(record(number)));
    assert_eq!(read(&ring), [7, 8, 9]);
}

#[test]
fn without_slots_it_keeps_nothing() {
    let ring = Ring::new(slots::<0>());
    assert!(ring.is_empty());
    ring.push(record(1));
    assert_eq!(read(&ring), []);
    assert_eq!(ring.read(0), None);
}

/// One slot cannot be read: its record may be overwritten at any moment.
#[test]
fn one_slot_is_not_readable() {
    let ring = Ring::new(slots::<1>());
    ring.push(record(1));
    assert_eq!(read(&ring), []);
}

#[test]
fn stress_readers_see_whole_records() {
    let records = if cfg!(miri) { 300 } else { 300_000 };
    let ring = Ring::new(slots::<16>());
    let is_done = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                // The writer may overtake the reader in the middle, which then leaves out the rest.
                while !is_done.load(SeqCst) {
                    let seen = read(&ring);
                    assert!(seen.is_sorted(), "{seen:?}");
                }
            });
        }
        (1..=records).for_each(|number| ring.push(record(number)));
        is_done.store(true, SeqCst);
    });
    assert_eq!(read(&ring).len(), 15);
}
