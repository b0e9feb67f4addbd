//! The parts of a pool's memory.

/// A part of a pool's memory, by which lines are named, and which can be free of charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// What all workers share of the sleep protocol: its counters, or its word.
    Counters,
    /// What the sleep protocol has for each worker.
    Slots,
    /// The ends of the queue of jobs from outside, without its blocks of jobs.
    Injector,
    /// The deques, and what else each worker shares with others.
    Workers,
    /// The progress of all threads.
    Progress,
    /// The progress of each worker.
    Participants,
    /// What is left of the pool.
    Registry,
}

impl Part {
    /// Returns the name that a line of this part has in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Counters => "the protocol's counters",
            Self::Slots => "slot",
            Self::Injector => "the injector",
            Self::Workers => "worker",
            Self::Progress => "the progress",
            Self::Participants => "progress of worker",
            Self::Registry => "the registry",
        }
    }
}

/// A set of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts(u8);

impl Parts {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Whether a part is one of them.
    #[must_use]
    pub const fn contain(self, part: Part) -> bool {
        self.0 & (1 << part as u8) != 0
    }
}

impl FromIterator<Part> for Parts {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        Self(parts.into_iter().fold(0, |set, part| set | 1 << part as u8))
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_set_contains_what_it_was_made_of() {
        let parts = Parts::from_iter([Part::Slots, Part::Registry]);
        let contained = Part::value_variants()
            .iter()
            .filter(|&&part| parts.contain(part));
        assert_eq!(
            contained.collect::<Vec<_>>(),
            [&Part::Slots, &Part::Registry]
        );
        assert!(!Parts::NONE.contain(Part::Counters));
    }
}
