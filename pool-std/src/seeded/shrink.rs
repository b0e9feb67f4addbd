//! The fewest switches with which a program still fails.

/// Omits switches as long as the program still fails without them.
///
/// `run` runs the program with the given switches. If the program fails, `run` returns the switches
/// that were made. `shrink` returns `None` if the program does not fail with all switches.
///
/// Source: A. Zeller and R. Hildebrandt, *Simplifying and isolating failure-inducing input* (2002),
/// without the tests of single subsets: most switches are not needed.
pub(super) fn shrink<S: Clone>(
    switches: Vec<S>,
    attempts: usize,
    run: &mut impl FnMut(Vec<S>) -> Option<Vec<S>>,
) -> Option<Vec<S>> {
    let mut fewest = run(switches)?;
    let mut left = attempts.saturating_sub(1);
    let mut size = fewest.len();
    while size > 0 {
        let mut begin = 0;
        while begin < fewest.len() {
            if left == 0 {
                return Some(fewest);
            }
            left -= 1;
            let end = (begin + size).min(fewest.len());
            let mut rest = fewest.clone();
            rest.drain(begin..end);
            match run(rest) {
                Some(made) if made.len() < fewest.len() => fewest = made,
                _ => begin = end,
            }
        }
        size = if size > 1 { size.div_ceil(2) } else { 0 };
    }
    Some(fewest)
}
