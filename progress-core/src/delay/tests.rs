//! Which line a delay uses.

use super::{LINES, line_of};

const PAGE: usize = 4096;

/// The distances of neighboring stacks, in pages: a power of two, and up to two pages for a guard.
fn distances() -> impl Iterator<Item = usize> {
    (2..16).flat_map(|log| (0..=2).map(move |guard| (1 << log) + guard))
}

/// Reproduces a bug: threads with stacks of 2 MiB and a page for the guard, which is what Rust
/// starts on Linux, mostly shared a line with their neighbors.
#[test]
fn neighboring_stacks_use_different_lines() {
    if LINES < 7 {
        return few_lines();
    }
    for distance in distances() {
        for first in 0..1000 {
            let line = |stack: usize| line_of((first + stack * distance) * PAGE);
            let lines: u32 = (0..7).map(|stack| 1 << line(stack)).sum();
            assert_eq!(
                lines.count_ones(),
                7,
                "seven stacks that are {distance} pages apart"
            );
        }
    }
}

/// Of three neighbors, at least two use different lines.
fn few_lines() {
    for distance in distances() {
        for first in 0..1000 {
            let [a, b, c] = [0, 1, 2].map(|stack| line_of((first + stack * distance) * PAGE));
            assert!(a != b || b != c, "stacks that are {distance} pages apart");
        }
    }
}

#[test]
fn each_address_has_a_line() {
    assert!(
        [0, PAGE, usize::MAX / 2, usize::MAX]
            .iter()
            .all(|&address| line_of(address) < LINES)
    );
}
