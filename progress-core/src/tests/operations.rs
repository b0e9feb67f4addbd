//! Operations that are left for later: how many run when, and on which thread.

use super::*;

#[test]
fn a_backlog_is_run_in_growing_portions() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    let all = if cfg!(miri) { 120 } else { 600 };
    for _ in 0..all {
        thread.schedule(counting(&tally));
    }
    assert_eq!(thread.pending(), all);
    assert_eq!(
        thread.run_reached(),
        0,
        "now the last ones have a value too"
    );
    let value = progress.later();
    thread.wait_for(value);
    assert_eq!(thread.run_reached(), 50 + all / 2);
    let left = all - (50 + all / 2);
    assert_eq!(thread.run_reached(), left.min(50 + left / 2));
    while thread.run_reached() > 0 {}
    assert_eq!(tally.load(SeqCst), all);
}

/// Running what is due makes no progress by itself: nothing would ever be due.
#[test]
fn a_thread_that_ticks_keeps_few_operations() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    for _ in 0..100 {
        thread.schedule(counting(&tally));
        assert_eq!(thread.run_reached(), 0, "{progress:?}");
    }
    let before = thread.pending();
    assert_eq!(before, 100);
    for _ in 0..100 {
        thread.schedule(counting(&tally));
        thread.activate().tick();
    }
    assert!(thread.pending() < 10, "{progress:?}");
}

/// Checks that a thread keeps only what it has scheduled since the last call but one. With smaller
/// portions it kept five times as much.
#[test]
fn a_thread_keeps_up_with_what_it_schedules() {
    let (rounds, all): (_, &[usize]) = if cfg!(miri) {
        (3, &[1, 56])
    } else {
        (20, &[1, 49, 256, 3000])
    };
    for &each in all {
        let progress = progress(1);
        let mut thread = progress.register().unwrap();
        let tally = StdArc::new(Tally::new(0));
        let mut active = thread.activate();
        for _ in 0..rounds {
            for _ in 0..each {
                active.schedule(counting(&tally));
            }
            active.tick();
            assert!(active.thread.pending() <= 2 * each, "{each}");
        }
    }
}

#[test]
fn operations_in_a_static() {
    static TALLY: Tally = Tally::new(0);
    fn count() {
        TALLY.fetch_add(1, SeqCst);
    }
    let operation: &'static mut Operation<fn()> = Box::leak(Box::new(Operation::new(count)));
    let pointer: *mut Operation<fn()> = operation;
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    // SAFETY: the only use of the pointer before it is freed below.
    thread.schedule(unsafe { &mut *pointer });
    assert_eq!(thread.wait(), 1);
    assert_eq!(TALLY.load(SeqCst), 1);
    // SAFETY: the operation has run, so the reference that was given away has ended.
    drop(unsafe { Box::from_raw(pointer) });
}

#[test]
fn operations_of_a_thread_that_has_gone_are_run_by_another() {
    let progress = progress(2);
    let tally = StdArc::new(Tally::new(0));
    let mut gone = progress.register().unwrap();
    let mut stays = progress.register().unwrap();
    for _ in 0..3 {
        gone.schedule(counting(&tally));
    }
    drop(gone);
    assert_eq!(stays.wait(), 3);
    assert_eq!(tally.load(SeqCst), 3);
}

#[test]
fn operations_of_the_last_thread_are_run_by_the_drop() {
    let progress = progress(2);
    let tally = StdArc::new(Tally::new(0));
    for _ in 0..2 {
        let mut thread = progress.register().unwrap();
        thread.schedule(counting(&tally));
        thread.defer({
            let tally = tally.clone();
            move || {
                tally.fetch_add(1, SeqCst);
            }
        });
    }
    drop(progress);
    assert_eq!(tally.load(SeqCst), 4);
}
