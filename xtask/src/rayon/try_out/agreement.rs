//! Whether two runs of a program agree.

/// How far the outputs of two programs agree, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Agreement {
    Same,
    /// The same lines in another order, as where threads print.
    SameLines,
    DifferentOutput,
    DifferentStatus,
}

impl Agreement {
    pub(super) fn of_outputs(original: &[u8], ours: &[u8]) -> Self {
        if original == ours {
            Self::Same
        } else if sorted(original) == sorted(ours) {
            Self::SameLines
        } else {
            Self::DifferentOutput
        }
    }

    /// Whether this is good enough. If `sort`, the order of lines does not count.
    pub(super) fn is_enough(self, sort: bool) -> bool {
        self == Self::Same || (sort && self == Self::SameLines)
    }

    pub(super) fn text(self, sort: bool) -> &'static str {
        match self {
            Self::Same => "the same output",
            Self::SameLines if sort => "the same lines",
            Self::SameLines => "the same lines in another order, which --sort lets pass",
            Self::DifferentOutput => "the output differs",
            Self::DifferentStatus => "the exit status differs",
        }
    }
}

fn sorted(output: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = output.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_order_of_lines_is_not_another_output() {
        let agreement = Agreement::of_outputs(b"a\nb\nc\n", b"c\na\nb\n");
        assert_eq!(agreement, Agreement::SameLines);
        assert!(agreement.is_enough(true) && !agreement.is_enough(false));
        assert!(agreement.text(false).contains("in another order"));
        assert_eq!(agreement.text(true), "the same lines");
    }

    #[test]
    fn other_lines_are_another_output_in_any_order() {
        for ours in [&b"a\nb"[..], b"a\nb\nb\n", b"a\nc\n", b""] {
            let agreement = Agreement::of_outputs(b"a\nb\n", ours);
            assert_eq!(agreement, Agreement::DifferentOutput, "{ours:?}");
            assert!(!agreement.is_enough(true));
        }
        let same = Agreement::of_outputs(b"a\nb\n", b"a\nb\n");
        assert_eq!(same, Agreement::Same);
        assert!(same.is_enough(false));
    }

    #[test]
    fn the_worst_run_counts() {
        let runs = [Agreement::SameLines, Agreement::Same];
        assert_eq!(runs.into_iter().max(), Some(Agreement::SameLines));
        let runs = [Agreement::DifferentStatus, Agreement::DifferentOutput];
        assert_eq!(runs.into_iter().max(), Some(Agreement::DifferentStatus));
        assert!(!Agreement::DifferentStatus.is_enough(true));
    }
}
