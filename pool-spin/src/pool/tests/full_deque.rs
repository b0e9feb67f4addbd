//! Closures that are spawned while the deque is full of the second halves of joins, which no other
//! core takes.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::*;

type Chip = TestCores<1, 4>;

const SPAWNS: u32 = 20;

/// The number of closures that have run, and the maximum number that ran inside one another.
struct Runs {
    count: AtomicU32,
    depth: AtomicU32,
    deepest: AtomicU32,
}

impl Runs {
    const fn new() -> Self {
        Self {
            count: AtomicU32::new(0),
            depth: AtomicU32::new(0),
            deepest: AtomicU32::new(0),
        }
    }

    /// Counts a closure, and spawns the next one.
    fn run(&self, spawn: impl FnOnce()) {
        let depth = self.depth.fetch_add(1, SeqCst) + 1;
        self.deepest.fetch_max(depth, SeqCst);
        if self.count.fetch_add(1, SeqCst) < SPAWNS {
            spawn();
        }
        self.depth.fetch_sub(1, SeqCst);
    }

    fn check(&self) {
        assert_eq!(self.count.load(SeqCst), SPAWNS + 1);
        assert_eq!(self.deepest.load(SeqCst), 1, "one runs within another");
    }
}

/// Runs a closure when the deque is full.
fn when_full(core: Worker<'_, Chip>, left: usize, run: &mut (dyn FnMut(Worker<'_, Chip>) + Send)) {
    if left == 0 {
        return run(core);
    }
    core.join(|core| when_full(core, left - 1, run), |_| ());
}

#[test]
fn a_closure_that_spawns_itself_does_not_nest() {
    static POOL: SpinPool<Chip> = pool(IdlePolicy::DEFAULT);
    static RUNS: Runs = Runs::new();
    fn again(core: Worker<'_, Chip>) {
        RUNS.run(|| assert!(core.try_spawn(again).is_ok()));
    }
    POOL.run_with(0, |core| {
        when_full(core, Chip::JOBS, &mut again);
        while core.yield_now() {}
    })
    .unwrap();
    RUNS.check();
}

#[test]
fn a_closure_of_a_scope_that_spawns_itself_does_not_nest() {
    static POOL: SpinPool<Chip> = pool(IdlePolicy::DEFAULT);
    fn again<'scope>(scope: &Scope<'scope, Chip>, runs: &'scope Runs) {
        runs.run(|| scope.spawn(|_, scope| again(scope, runs)));
    }
    for isolation in [Isolation::Anything, Isolation::Subtree] {
        let runs = Runs::new();
        let scope = |core: Worker<'_, Chip>| core.scope(|scope| again(scope, &runs));
        POOL.run_with(0, |core| {
            core.isolate(isolation, || {
                when_full(core, Chip::JOBS, &mut |core| scope(core));
            });
        })
        .unwrap();
        runs.check();
    }
}
