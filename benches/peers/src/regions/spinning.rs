//! A peer whose workers spin while they wait for a region, so that one begins at once.

use protocol::Case;

#[cfg(feature = "fork-union")]
pub(super) use with_compiler::case;

#[cfg(not(feature = "fork-union"))]
pub(super) fn case(group: &'static str, threads: usize, size: u32) -> Case {
    let case = super::named::<Spinning>(group, threads, size, || 0.0);
    case.missing("no compiler for C++")
}

/// The peer, where it is not built.
#[cfg(not(feature = "fork-union"))]
struct Spinning;

#[cfg(not(feature = "fork-union"))]
impl crate::pools::Pool for Spinning {
    const SYSTEM: &str = "fork_union";

    fn new(_threads: usize) -> Self {
        Self
    }
}

#[cfg(feature = "fork-union")]
mod with_compiler {
    use std::{cell::RefCell, hint::black_box};

    use super::{
        super::{Regions, measure, named},
        Case,
    };
    use crate::{computation::compute_rounds, pools::Pool};

    struct Spinning(RefCell<fork_union::ThreadPool>);

    impl Pool for Spinning {
        const SYSTEM: &str = "fork_union";

        /// The thread that uses the pool is one of them.
        fn new(threads: usize) -> Self {
            let pool = fork_union::ThreadPool::try_spawn(threads);
            Self(RefCell::new(pool.expect("a small pool")))
        }
    }

    impl Regions for Spinning {
        fn region(&self, leaves: u32, rounds: u32) {
            let mut pool = self.0.borrow_mut();
            // It runs when the value is dropped.
            drop(pool.for_n_dynamic(leaves as usize, |_| {
                black_box(compute_rounds(rounds));
            }));
        }
    }

    /// Its threads spin as long as there are any, so each measurement has a pool of its own.
    pub(in super::super) fn case(group: &'static str, threads: usize, size: u32) -> Case {
        named::<Spinning>(group, threads, size, move || {
            measure(group, &Spinning::new(threads), size)
        })
    }
}
