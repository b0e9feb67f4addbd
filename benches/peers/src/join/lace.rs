//! A peer in C: split deques, whose owner pays for nothing until a thief asks for tasks.
//!
//! It is written anew from the paper of T. van Dijk and J. C. van de Pol, "Lace: non-blocking split
//! deque for work-stealing" (2014), in `benches/peers/lace`. It promises less than a pool: its
//! threads spin while a program runs, and a long task keeps its private ones from thieves.

use protocol::Case;

use super::Program;

/// The case of the program of this number in `programs.c`, which gives this result.
pub(super) fn case<R: Program>(threads: usize, number: u32, result: u64) -> Case {
    let run = move || measure::<R>(threads, number, result);
    let case = Case::new("join", R::NAME, threads, "lace", R::UNIT, run);
    if cfg!(feature = "lace") {
        case
    } else {
        case.missing("no compiler for C")
    }
}

#[cfg(feature = "lace")]
fn measure<R: Program>(threads: usize, number: u32, result: u64) -> f64 {
    use std::time::Duration;

    unsafe extern "C" {
        fn lace_run(threads: u32, program: u32, seconds: *mut f64) -> u64;
    }

    let threads = u32::try_from(threads).expect("a small number");
    let mut seconds = 0.0;
    // SAFETY: the function is defined with this type, and `case` is given numbers of programs. It
    // writes to `seconds`, and its threads have ended when it returns.
    assert_eq!(
        unsafe { lace_run(threads, number, &raw mut seconds) },
        result
    );
    R::result_of(Duration::from_secs_f64(seconds))
}

#[cfg(not(feature = "lace"))]
fn measure<R: Program>(_threads: usize, _number: u32, _result: u64) -> f64 {
    unreachable!("no caller asks for what is missing")
}
