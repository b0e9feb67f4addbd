//! Values that a parent reads without locks, in its children.

use std::sync::{
    LazyLock,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use super::pool;
use crate::support::{End, SetOnDrop, alone, end_of, fork, in_child};
use pool_std::{
    join,
    progress::{Progress, RcuCell},
};

/// Of the parent's global pool, in the children too.
static CELL: LazyLock<RcuCell<(usize, usize)>> =
    LazyLock::new(|| RcuCell::new(Progress::current(), (0, 0)));

/// Reads and replaces the value in each way, and returns whether all of them show whole values.
fn the_cell_works() -> bool {
    let is_whole = |value: &(usize, usize)| value.0 == value.1;
    let before = CELL.read();
    CELL.replace((1, 1));
    CELL.update(|value| (value.0 + 1, value.1 + 1));
    let in_jobs = join(|| CELL.with(is_whole), || is_whole(&CELL.read()));
    is_whole(&before) && in_jobs == (true, true) && CELL.with(|value| value.0 >= 1)
}

/// Workers of the parent read and replace at the fork, so that their guards stay in the child. No
/// thread waits for them; what is replaced may be kept for good.
#[test]
fn a_cell_of_the_parent_works_in_a_child() {
    alone(|| {
        assert!(the_cell_works());
        let (is_over, pool) = (AtomicBool::new(false), pool(2));
        let busy = || {
            while !is_over.load(SeqCst) {
                assert!(the_cell_works());
            }
        };
        pool.in_place_scope(|scope| {
            scope.spawn(|_| busy());
            pool_std::in_place_scope(|global| {
                let _end = SetOnDrop(&is_over);
                global.spawn(|_| busy());
                for _ in 0..50 {
                    in_child(the_cell_works);
                }
            });
        });
        assert!(the_cell_works());
    });
}

/// The thread that forks does so in a closure that reads, as a worker and beside the pool, and
/// leaves the closure in the child.
#[test]
fn a_child_leaves_a_closure_that_reads() {
    alone(|| {
        let (is_over, pool) = (AtomicBool::new(false), pool(2));
        let cell = RcuCell::new(pool.progress(), 7);
        let read = || {
            let (value, child) = cell.with(|value| (*value, fork()));
            let Some(child) = child else {
                let is_good = value == 7 && cell.with(|again| *again == 7);
                // SAFETY: it runs no handler of the parent.
                unsafe { libc::_exit(i32::from(!is_good)) }
            };
            assert_eq!(end_of(child), End::Exit(0));
        };
        pool.in_place_scope(|scope| {
            let _end = SetOnDrop(&is_over);
            scope.spawn(|_| {
                while !is_over.load(SeqCst) {
                    cell.replace(7);
                }
            });
            for _ in 0..20 {
                read();
                pool.install(read);
            }
        });
    });
}
