//! Chooses which worker continues: with the generator, or by the switches that a schedule lists.

use super::Schedule;

/// Makes the choices of one run.
pub(super) struct Choices {
    schedule: Schedule,
    random: SplitMix64,
    /// The number of choices so far.
    made: u64,
    /// The number of the schedule's switches that are done.
    switches_done: usize,
    /// The switches of this run, if they are recorded.
    record: Option<Vec<(u64, usize)>>,
}

impl Choices {
    pub(super) fn new(schedule: Schedule, is_recorded: bool) -> Self {
        Self {
            random: SplitMix64(schedule.seed()),
            schedule,
            made: 0,
            switches_done: 0,
            record: is_recorded.then(Vec::new),
        }
    }

    /// Returns the number of choices so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Returns the switches so far, if they are recorded.
    pub(super) fn record(&self) -> &[(u64, usize)] {
        self.record.as_deref().unwrap_or_default()
    }

    /// Returns a number that depends only on the seed and on `member`.
    pub(super) fn seed_of(&self, member: usize) -> u64 {
        SplitMix64(self.schedule.seed() ^ (member as u64).rotate_left(32)).next()
    }

    /// Chooses one of the members that can continue. `ready` lists their numbers in ascending
    /// order; `running` is the member that has just run.
    pub(super) fn choose(&mut self, ready: &[usize], running: Option<usize>) -> usize {
        self.made += 1;
        let can_go_on = running.filter(|member| ready.contains(member));
        let usual = can_go_on.unwrap_or(ready[0]);
        let chosen = match self.schedule.switches() {
            None => ready[self.random.below(ready.len())],
            Some(switches) => {
                let next = switches.get(self.switches_done).copied();
                let due = next.filter(|&(choice, _)| choice == self.made);
                self.switches_done += usize::from(due.is_some());
                // The member may not be ready if the program has changed.
                due.map(|(_, member)| member)
                    .filter(|member| ready.contains(member))
                    .unwrap_or(usual)
            }
        };
        if chosen != usual
            && let Some(record) = &mut self.record
        {
            record.push((self.made, chosen));
        }
        chosen
    }
}

/// Source: G. Steele, D. Lea and C. Flood, *Fast splittable pseudorandom number generators* (2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which is small and not zero. The same on every target.
    fn below(&mut self, end: usize) -> usize {
        let high = self.next() >> 32;
        ((high * end as u64) >> 32) as usize
    }
}
