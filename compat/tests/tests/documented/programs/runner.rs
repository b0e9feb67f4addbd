//! How a program is run, and its trace.

use std::{
    any::Any,
    fmt::Display,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex},
};

use rayon_core::{
    BroadcastContext, Scope, ScopeFifo, ThreadPool, ThreadPoolBuilder, Yield, broadcast,
    current_thread_has_pending_tasks, current_thread_index, in_place_scope, in_place_scope_fifo,
    join_context, scope, scope_fifo, spawn, spawn_broadcast, spawn_fifo, yield_now,
};

use super::author::{Form, InScope, Operation, Operations, Program, ScopeBody};

/// Runs a program on a pool of one worker. Returns what was done, line by line.
pub(super) fn trace_of(Program(operations): Program) -> Vec<String> {
    let trace = Arc::<Trace>::default();
    let of_handler = trace.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |panic| of_handler.note(format!("handler: {}", message(&*panic))))
        .build()
        .unwrap();
    let runner = Arc::new(Runner { pool, trace });
    runner.pool.install(|| {
        for (number, operation) in operations.iter().enumerate() {
            runner.run_caught(&number.to_string(), |path| runner.run(operation, path));
        }
        runner.trace.note("rest".to_owned());
        while yield_now() == Some(Yield::Executed) {}
    });
    mem::take(&mut *runner.trace.0.lock().unwrap())
}

/// The lines of a trace.
#[derive(Default)]
struct Trace(Mutex<Vec<String>>);

impl Trace {
    fn note(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

struct Runner {
    pool: ThreadPool,
    trace: Arc<Trace>,
}

impl Runner {
    /// Notes what happens at a place of the program.
    fn note(&self, path: &str, what: impl Display) {
        self.trace.note(format!("{path} {what}"));
    }

    /// Calls a closure for a place of the program, and notes a panic of it.
    fn run_caught(&self, path: &str, closure: impl FnOnce(&str)) {
        match catch_unwind(AssertUnwindSafe(|| closure(path))) {
            Ok(()) => self.note(path, "returned"),
            Err(panic) => self.note(path, message(&*panic)),
        }
    }

    fn run_all(self: &Arc<Self>, operations: &Operations, path: &str) {
        self.note(path, "begins");
        for (number, operation) in operations.iter().enumerate() {
            self.run(operation, &format!("{path}.{number}"));
        }
        self.note(path, "ends");
    }

    fn run(self: &Arc<Self>, operation: &Operation, path: &str) {
        match operation {
            Operation::Look => {
                let has_jobs = current_thread_has_pending_tasks();
                self.note(path, format!("{:?} {has_jobs:?}", current_thread_index()));
            }
            Operation::YieldNow => self.note(path, format!("{:?}", yield_now())),
            Operation::YieldLocal => self.note(path, format!("{:?}", self.pool.yield_local())),
            Operation::Install(inner) => self.pool.install(|| self.run_all(inner, path)),
            Operation::Join(first, second) => {
                let run = |half, name, is_migrated| {
                    self.note(path, format!("{name} {is_migrated}"));
                    self.run_all(half, &format!("{path}{name}"));
                };
                join_context(
                    |context| run(first, "a", context.migrated()),
                    |context| run(second, "b", context.migrated()),
                );
            }
            Operation::Scope(form, body) => self.run_scope(*form, body, path),
            Operation::Spawn(form, inner) => self.spawn(*form, inner.clone(), path.to_owned()),
            Operation::Broadcast(inner) => {
                let indices = broadcast(|context| {
                    self.run_all(inner, path);
                    context.index()
                });
                self.note(path, format!("{indices:?}"));
            }
            Operation::SpawnBroadcast(inner) => {
                let (this, inner, path) = (self.clone(), inner.clone(), path.to_owned());
                spawn_broadcast(move |_| this.run_all(&inner, &path));
            }
            Operation::Catch(inner) => self.run_caught(path, |path| self.run_all(inner, path)),
            // Without a call of the hook, which would print it.
            Operation::Panic => resume_unwind(Box::new(format!("panic of {path}"))),
        }
    }

    fn spawn(self: &Arc<Self>, form: Form, inner: Operations, path: String) {
        let this = self.clone();
        let job = move || this.run_all(&inner, &path);
        match (form.by_pool, form.is_fifo) {
            (false, false) => spawn(job),
            (false, true) => spawn_fifo(job),
            (true, false) => self.pool.spawn(job),
            (true, true) => self.pool.spawn_fifo(job),
        }
    }

    fn run_scope(self: &Arc<Self>, form: Form, body: &ScopeBody, path: &str) {
        let lifo = |scope: &Scope<'_>| self.run_in_scope(scope, body, path);
        let fifo = |scope: &ScopeFifo<'_>| self.run_in_scope(scope, body, path);
        match (form.is_fifo, form.is_in_place, form.by_pool) {
            (false, false, false) => scope(lifo),
            (false, false, true) => self.pool.scope(lifo),
            (false, true, false) => in_place_scope(lifo),
            (false, true, true) => self.pool.in_place_scope(lifo),
            (true, false, false) => scope_fifo(fifo),
            (true, false, true) => self.pool.scope_fifo(fifo),
            (true, true, false) => in_place_scope_fifo(fifo),
            (true, true, true) => self.pool.in_place_scope_fifo(fifo),
        }
    }

    fn run_in_scope<'scope, S: AnyScope<'scope>>(
        self: &Arc<Self>,
        scope: &S,
        body: &ScopeBody,
        path: &str,
    ) {
        self.note(path, "begins");
        for (number, step) in body.iter().enumerate() {
            let (this, path) = (self.clone(), format!("{path}.{number}"));
            match step {
                InScope::Spawn(body) => {
                    let body = body.clone();
                    scope.spawn(move |scope| this.run_in_scope(scope, &body, &path));
                }
                InScope::SpawnBroadcast(inner) => {
                    let inner = inner.clone();
                    scope.spawn_broadcast(move |_, _| this.run_all(&inner, &path));
                }
                InScope::Do(operation) => self.run(operation, &path),
            }
        }
        self.note(path, "ends");
    }
}

/// What both kinds of scopes can do.
trait AnyScope<'scope>: Sized {
    fn spawn(&self, body: impl FnOnce(&Self) + Send + 'scope);

    fn spawn_broadcast(&self, body: impl Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope);
}

impl<'scope> AnyScope<'scope> for Scope<'scope> {
    fn spawn(&self, body: impl FnOnce(&Self) + Send + 'scope) {
        self.spawn(body);
    }

    fn spawn_broadcast(&self, body: impl Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope) {
        self.spawn_broadcast(body);
    }
}

impl<'scope> AnyScope<'scope> for ScopeFifo<'scope> {
    fn spawn(&self, body: impl FnOnce(&Self) + Send + 'scope) {
        self.spawn_fifo(body);
    }

    fn spawn_broadcast(&self, body: impl Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope) {
        self.spawn_broadcast(body);
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map_or("?", String::as_str)
}
