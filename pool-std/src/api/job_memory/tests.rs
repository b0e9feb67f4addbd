use std::{
    rc::Rc,
    sync::{atomic::AtomicPtr, mpsc},
    thread,
};

use super::*;

/// How many free blocks this thread keeps.
fn kept() -> usize {
    CACHE.with(|cache| cache.count.get())
}

#[test]
fn a_thread_uses_a_block_again() {
    thread::spawn(|| {
        let first = put([1_u64, 2]);
        // The rest of a magazine, if other tests have filled one.
        let rest = kept();
        // SAFETY: 1. it is from `put`, and not used again.
        assert_eq!(unsafe { take_out(first) }, [1, 2]);
        assert_eq!(kept(), rest + 1);
        let second = put(3_u8);
        assert_eq!(first.addr(), second.addr());
        assert_eq!(kept(), rest);
        // SAFETY: 1. as above.
        assert_eq!(unsafe { take_out(second) }, 3);
    })
    .join()
    .unwrap();
}

#[repr(align(32))]
struct Aligned(u8);

#[test]
fn what_fits_no_block_is_in_a_box() {
    thread::spawn(|| {
        let (large, aligned, empty) = (put([7_u8; SIZE + 1]), put(Aligned(7)), put(()));
        assert!(aligned.is_aligned());
        // SAFETY: 1. each is from `put`, and not used again.
        unsafe {
            assert_eq!(take_out(large), [7; SIZE + 1]);
            assert_eq!(take_out(aligned).0, 7);
            take_out(empty);
        }
        assert_eq!(kept(), 0);
        assert!(fits::<[u8; SIZE]>() && !fits::<[u8; SIZE + 1]>() && !fits::<Aligned>());
    })
    .join()
    .unwrap();
}

/// Lets one thread allocate what another one frees, and checks that neither keeps more than two
/// magazines. Under Miri, a block that is lost is an error.
#[test]
fn threads_keep_few_blocks() {
    let count = if cfg!(miri) { 500 } else { 20_000 };
    let (sender, receiver) = mpsc::sync_channel::<AtomicPtr<usize>>(200);
    let consumer = thread::spawn(move || {
        let mut sum = 0;
        for block in receiver {
            // SAFETY: 1. it is from `put`, and sent once.
            sum += unsafe { take_out(block.into_inner()) };
            assert!(kept() <= 2 * MAGAZINE);
        }
        sum
    });
    for number in 0..count {
        sender.send(AtomicPtr::new(put(number))).unwrap();
        assert!(kept() <= 2 * MAGAZINE);
    }
    drop(sender);
    assert_eq!(consumer.join().unwrap(), (0..count).sum::<usize>());
}

fn full_magazine() -> Magazine {
    array::from_fn(|_| Some(allocate()))
}

/// Takes all magazines from a depot, and returns how many there were.
fn empty(depot: &Depot) -> usize {
    std::iter::from_fn(|| depot.take()).count()
}

/// Under Miri, a block that is lost is an error.
#[test]
fn a_depot_keeps_a_few_magazines() {
    let depot = Depot::new();
    for _ in 0..MOST_MAGAZINES + 1 {
        depot.give(full_magazine());
    }
    assert_eq!(empty(&depot), MOST_MAGAZINES);
    assert_eq!(empty(&depot), 0);
    depot.give(full_magazine());
    assert_eq!(empty(&depot), 1);
}

/// Under Miri, a block that is lost is an error.
#[test]
fn a_thread_does_not_wait_for_a_depot_that_is_in_use() {
    let depot = Depot::new();
    depot.give(full_magazine());
    let in_use = depot.0.lock().unwrap();
    assert!(depot.take().is_none());
    depot.give(full_magazine());
    drop(in_use);
    assert_eq!(empty(&depot), 1);
}

#[test]
fn a_thread_passes_what_it_does_not_need_to_the_depot() {
    thread::spawn(|| {
        let blocks: Vec<_> = (0..4 * MAGAZINE).map(put).collect();
        for (number, block) in blocks.into_iter().enumerate() {
            // SAFETY: 1. it is from `put`, and not used again.
            assert_eq!(unsafe { take_out(block) }, number);
        }
        let kept = kept();
        assert!(MAGAZINE < kept && kept <= 2 * MAGAZINE, "{kept} are kept");
    })
    .join()
    .unwrap();
}

/// A value that spawns and ends jobs when its thread's variables are dropped, perhaps after the
/// cache.
struct UsesBlocks(Rc<()>);

impl Drop for UsesBlocks {
    fn drop(&mut self) {
        let block = put(self.0.clone());
        // SAFETY: 1. it is from `put`, and not used again.
        drop(unsafe { take_out(block) });
    }
}

thread_local! {
    static BEFORE: UsesBlocks = UsesBlocks(Rc::new(()));
    static AFTER: UsesBlocks = UsesBlocks(Rc::new(()));
}

/// Under Miri, a block that is lost is an error.
#[test]
fn blocks_may_be_used_while_a_thread_ends() {
    thread::spawn(|| {
        BEFORE.with(|_| ());
        // SAFETY: 1. it is from `put`, and not used again.
        unsafe { take_out(put(1)) };
        AFTER.with(|_| ());
    })
    .join()
    .unwrap();
}
