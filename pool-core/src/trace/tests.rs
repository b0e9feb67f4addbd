use super::{
    TraceSlot,
    ring::{Record, Ring},
};
use core::ptr;
use std::vec::Vec;

#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod records;
#[cfg(not(loom))]
mod rings;

type Slots<const N: usize> = [TraceSlot; N];

fn slots<const N: usize>() -> Slots<N> {
    core::array::from_fn(|_| TraceSlot::new())
}

/// A record all of whose fields say the same.
fn record(number: usize) -> Record {
    Record {
        time: number as u64,
        what: number,
        number,
        name: ptr::without_provenance_mut(number),
    }
}

/// Reads what a ring has. Each record must be whole, and has the number one above its place.
fn read<const N: usize>(ring: &Ring<Slots<N>>) -> Vec<usize> {
    let end = ring.written();
    let numbers = ring.oldest(end)..end;
    numbers
        .filter_map(|number| {
            let found = ring.read(number)?;
            assert_eq!(found, record(number + 1));
            Some(number + 1)
        })
        .collect()
}
