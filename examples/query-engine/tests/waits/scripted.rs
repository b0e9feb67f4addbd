//! Queries whose steps a test forces.

use std::{
    collections::BTreeSet,
    sync::{Condvar, Mutex, PoisonError},
    thread,
};

use pool_std::ThreadPoolBuilder;
use query_engine::{Answer, Context, Engine, Rules};

pub(crate) type Key = &'static str;
type Script = dyn Fn(Key, &Events, &mut Context<'_, Scripted>) -> Answer<Scripted> + Send + Sync;

/// Queries that do what a test says.
pub(crate) struct Scripted {
    pub(crate) events: Events,
    script: Box<Script>,
}

impl Rules for Scripted {
    type Input = Key;
    type InputValue = ();
    type Key = Key;
    type Value = u32;

    fn compute(&self, key: &Key, context: &mut Context<'_, Self>) -> Answer<Self> {
        (self.script)(key, &self.events, context)
    }
}

/// What has happened so far. A worker that waits here counts as active.
#[derive(Default)]
pub(crate) struct Events {
    happened: Mutex<BTreeSet<String>>,
    changed: Condvar,
}

impl Events {
    pub(crate) fn tell(&self, event: impl Into<String>) {
        let mut happened = self.happened.lock().unwrap_or_else(PoisonError::into_inner);
        happened.insert(event.into());
        self.changed.notify_all();
    }

    pub(crate) fn wait(&self, event: impl AsRef<str>) {
        let happened = self.happened.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self
            .changed
            .wait_while(happened, |happened| !happened.contains(event.as_ref()));
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }
}

pub(crate) fn engine(
    workers: usize,
    script: impl Fn(Key, &Events, &mut Context<'_, Scripted>) -> Answer<Scripted>
    + Send
    + Sync
    + 'static,
) -> Engine<Scripted> {
    engine_with_pool(ThreadPoolBuilder::new().num_threads(workers), script)
}

/// Returns an engine with the pool of a builder.
pub(crate) fn engine_with_pool(
    builder: ThreadPoolBuilder,
    script: impl Fn(Key, &Events, &mut Context<'_, Scripted>) -> Answer<Scripted>
    + Send
    + Sync
    + 'static,
) -> Engine<Scripted> {
    let rules = Scripted {
        events: Events::default(),
        script: Box::new(script),
    };
    Engine::with_pool(rules, builder).unwrap()
}

/// Waits until this number of workers have waited for queries.
pub(crate) fn wait_for_waits(engine: &Engine<Scripted>, waits: u64) {
    while engine.statistics().waited < waits {
        thread::yield_now();
    }
}
