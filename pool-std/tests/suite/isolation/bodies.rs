//! Bodies of scopes that run older jobs, before the scope waits in isolation.

use std::ops::Range;

use super::*;

/// How many jobs there are, before and after.
const NUMBERS: Range<usize> = if cfg!(miri) { 1..3 } else { 0..4 };

/// Runs a program in an isolated call: from this thread, and on the worker.
fn in_each_call(program: fn()) {
    for is_guest in [true, false] {
        assert_ends(&format!("as a guest: {is_guest}"), move || {
            let pool = pool_with_guests(1);
            match is_guest {
                true => pool.call(program),
                false => pool.install(|| isolate(program)),
            }
        });
    }
}

/// Runs older jobs of the call in the body of an inner scope, and then spawns in that scope. They
/// get the positions of the older ones.
fn run_older_jobs_in_the_body(num_before: usize, num_after: usize, run_older: fn()) {
    let jobs_run = AtomicUsize::new(0);
    pool_std::scope(|outer| {
        (0..num_before).for_each(|_| outer.spawn(|_| ()));
        pool_std::scope(|inner| {
            run_older();
            for _ in 0..num_after {
                inner.spawn(|_| _ = jobs_run.fetch_add(1, SeqCst));
            }
        });
        assert_eq!(jobs_run.load(SeqCst), num_after, "the scope has waited");
    });
}

#[test]
fn a_scope_finds_its_jobs_after_a_handle_was_joined_in_its_body() {
    fn join_a_handle() {
        pool_std::spawn_handle(|| ()).join().unwrap();
    }
    in_each_call(|| {
        for num_before in NUMBERS {
            for num_after in NUMBERS {
                run_older_jobs_in_the_body(num_before, num_after, join_a_handle);
            }
        }
    });
}

#[test]
fn a_scope_finds_its_jobs_after_yields_in_its_body() {
    fn yield_often() {
        while pool_std::yield_local() == Some(Yield::Executed) {}
        while pool_std::yield_now() == Some(Yield::Executed) {}
    }
    in_each_call(|| {
        for num_before in NUMBERS {
            for num_after in NUMBERS {
                run_older_jobs_in_the_body(num_before, num_after, yield_often);
            }
        }
    });
}

/// The jobs that the body has run were popped below the start of the scope. Its wait stops there.
#[test]
fn a_wait_leaves_older_jobs_alone_after_a_handle_was_joined() {
    let [is_held, ran_meanwhile] = [(); 2].map(|()| AtomicBool::new(false));
    pool_with_guests(1).install(|| {
        pool_std::scope(|foreign| {
            for _ in 0..2 {
                foreign.spawn(|_| _ = ran_meanwhile.fetch_or(is_held.load(SeqCst), SeqCst));
            }
            isolate(|| {
                pool_std::scope(|outer| {
                    (0..2).for_each(|_| outer.spawn(|_| ()));
                    pool_std::scope(|inner| {
                        pool_std::spawn_handle(|| ()).join().unwrap();
                        is_held.store(true, SeqCst);
                        thread::scope(|threads| _ = threads.spawn(|| inner.spawn(|_| ())));
                    });
                    is_held.store(false, SeqCst);
                });
            });
        });
    });
    assert!(!ran_meanwhile.into_inner());
}
