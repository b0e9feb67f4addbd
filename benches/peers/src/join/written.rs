//! Joins as they are written for each system.
//!
//! A program that reaches its system through a trait hands its closures to a function that hands
//! them on. What that costs depends on what the compiler inlines, and no program writes it so.
//! Hence these macros: `join!([move] context, left, right)` in the functions of a program becomes
//! what a user of the system writes. Without `move`, the closures borrow what they use.

/// Implements a program for all systems. `$functions` is a macro that defines the program's
/// functions, among them `run`, with the type of the context, the macro that joins, and its first
/// argument.
macro_rules! for_all_systems {
    ($program:ident, $functions:ident, $own:tt) => {
        crate::join::written::for_all_systems! { $program, $functions, $own,
            ours: pool_std::ThreadPool, join_ours;
            rayon: rayon_core::ThreadPool, join_rayon;
            chili: ::chili::ThreadPool, join_chili;
            sequential: crate::pools::Sequential, join_sequential;
        }
    };
    (
        $program:ident, $functions:ident, $own:tt,
        $($module:ident: $pool:ty, $join:ident;)*
    ) => {$(
        mod $module {
            use super::*;
            use crate::{fork_join::ForkJoin, join::{Written, written::$join}};

            $functions!(<$pool as ForkJoin>::Context<'_>, $join, $own);

            impl Written<$pool> for $program {
                fn measure(pool: &$pool) -> f64 {
                    $program::result_of(protocol::time(|| pool.run(|context| run(context))))
                }
            }
        }
    )*};
}

/// For systems that look for the worker themselves.
macro_rules! join_without_context {
    ($join:path, [$($own:tt)?] $context:ident, $first:expr, $second:expr) => {{
        let _ = &$context;
        $join(
            $($own)? || {
                let $context = &mut ();
                $first
            },
            $($own)? || {
                let $context = &mut ();
                $second
            },
        )
    }};
}

macro_rules! join_ours {
    ($($join:tt)*) => {
        crate::join::written::join_without_context!(pool_std::join, $($join)*)
    };
}

macro_rules! join_rayon {
    ($($join:tt)*) => {
        crate::join::written::join_without_context!(rayon_core::join, $($join)*)
    };
}

/// Of the two, it is the former that chili queues.
macro_rules! join_chili {
    ([$($own:tt)?] $context:ident, $first:expr, $second:expr) => {{
        let (second, first) =
            $context.join($($own)? |$context| $second, $($own)? |$context| $first);
        (first, second)
    }};
}

/// The compiler would make a loop of it, but it is calls that joins are compared with.
macro_rules! join_sequential {
    ([$($own:tt)?] $context:ident, $first:expr, $second:expr) => {{
        let first = $first;
        let second = std::hint::black_box($($own)? || {
            let $context = &mut ();
            $second
        })();
        (first, second)
    }};
}

pub(super) use {
    for_all_systems, join_chili, join_ours, join_rayon, join_sequential, join_without_context,
};
