//! Programs of calls of a pool, which call each other.

use pool_std::Isolation;
use proptest::prelude::*;

use super::ISOLATIONS;

/// One call, and what is called in it.
#[derive(Debug, Clone)]
pub(super) enum Call {
    Join(Program, Program),
    Scope(Vec<Program>),
    ScopeFifo(Vec<Program>),
    InPlaceScope(Vec<Program>),
    /// Each job spawns the next one in the scope, and then runs its program.
    ScopeChain(Vec<Program>),
    Spawn(Spawn, Program),
    /// The handles are joined, in this order or backwards.
    Handles(Vec<Program>, bool),
    DroppedHandle(Program),
    /// Handles of a scope.
    ScopedHandles(Vec<Program>),
    /// Another thread spawns them in a scope. Their handles are joined there, or not at all.
    SpawnedByAnother(Vec<Program>, bool),
    /// So many jobs of a scope, a body that runs a program, and jobs of the scope again. The
    /// handles of the first ones are joined by jobs of a scope in the body, or not at all. They
    /// call nothing, so that no such job is run on top of the one that it waits for.
    ScopeWithBody(u8, Program, Vec<Program>, bool),
    /// Jobs of a scope spawn these, whose handles leave the scope and end here, in such isolation.
    HandlesLeave(Vec<Program>, Isolation, End),
    /// Spawns something that calls nothing. Its handle ends in any later job, or after the pool.
    Keep(Leaf),
    /// Ends the handle that was kept last.
    EndKept(End),
    /// Does not begin, or is waited for.
    Cancelled(Program),
    /// A future that waits so often, is woken at once, and then runs a program.
    Future(u8, Program),
    /// A future that spawns a job, and awaits its handle.
    FutureOfHandle(Program),
    /// Blocks on a future that runs a program, and then spawns one and awaits its handle.
    BlockOn(Program, Program),
    /// As a guest, from outside.
    Guest(Program),
    Broadcast(Program),
    Install(Program),
    Isolate(Isolation, Program),
    BlockInPlace(Program),
    /// Reads what others free, in a closure or under a guard, and runs a program meanwhile.
    Read(Reading, Program),
    /// What it calls may panic.
    Catch(Program),
    Panic,
    Yield,
    YieldLocal,
    /// Of the workers, this one or a lower one is the last that is active.
    SetActive(usize),
}

pub(super) type Program = Vec<Call>;

/// How a job is spawned for which no caller waits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spawn {
    Lifo,
    Fifo,
    Urgent,
    Background,
}

/// How a thread reads what others free.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    Closure,
    Guard,
}

/// What becomes of a handle.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Join,
    Drop,
    /// It is joined, whether the job was aborted or not.
    Abort,
    /// The first wait has a limit of time.
    Wait,
    BlockOn,
    /// Another future awaits it, and is joined.
    Await,
}

/// What a job does whose handle any job may join, also one on top of it. It must not wait.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leaf {
    Nothing,
    Panics,
    Spawns,
    /// A future that waits so often, and is woken at once.
    Future(u8),
}

pub(super) fn program() -> impl Strategy<Value = Program> {
    use prop::{collection::vec, sample::select};

    let ends = [
        End::Join,
        End::Drop,
        End::Abort,
        End::Wait,
        End::BlockOn,
        End::Await,
    ];
    let leaves = [
        Leaf::Nothing,
        Leaf::Panics,
        Leaf::Spawns,
        Leaf::Future(0),
        Leaf::Future(2),
    ];
    let leaf = prop_oneof![Just(Vec::new()), Just(vec![Call::Yield])];
    leaf.prop_recursive(5, 200, 6, move |inner| {
        let some = || vec(inner.clone(), 0..5);
        let one = || inner.clone();
        let spawns = [Spawn::Lifo, Spawn::Fifo, Spawn::Urgent, Spawn::Background];
        let readings = [Reading::Closure, Reading::Guard];
        let isolation = || select(ISOLATIONS.to_vec());
        let end = || select(ends.to_vec());
        let jobs = prop_oneof![
            3 => (one(), one()).prop_map(|(a, b)| Call::Join(a, b)),
            2 => some().prop_map(Call::Scope),
            1 => some().prop_map(Call::ScopeFifo),
            1 => some().prop_map(Call::InPlaceScope),
            1 => some().prop_map(Call::ScopeChain),
            3 => (select(spawns.to_vec()), one()).prop_map(|(how, it)| Call::Spawn(how, it)),
            1 => one().prop_map(Call::Broadcast),
        ];
        let handles = prop_oneof![
            2 => (some(), any::<bool>()).prop_map(|(jobs, order)| Call::Handles(jobs, order)),
            1 => one().prop_map(Call::DroppedHandle),
            1 => some().prop_map(Call::ScopedHandles),
            1 => (some(), any::<bool>()).prop_map(|(it, joins)| Call::SpawnedByAnother(it, joins)),
            3 => (0..4_u8, one(), some(), any::<bool>())
                .prop_map(|(first, body, last, it)| Call::ScopeWithBody(first, body, last, it)),
            3 => (some(), isolation(), end())
                .prop_map(|(jobs, how, end)| Call::HandlesLeave(jobs, how, end)),
            2 => select(leaves.to_vec()).prop_map(Call::Keep),
            2 => end().prop_map(Call::EndKept),
            1 => one().prop_map(Call::Cancelled),
        ];
        let futures = prop_oneof![
            2 => (0..4_u8, one()).prop_map(|(waits, it)| Call::Future(waits, it)),
            1 => one().prop_map(Call::FutureOfHandle),
            2 => (one(), one()).prop_map(|(first, then)| Call::BlockOn(first, then)),
        ];
        let places = prop_oneof![
            2 => one().prop_map(Call::Guest),
            1 => one().prop_map(Call::Install),
            2 => (isolation(), one()).prop_map(|(how, it)| Call::Isolate(how, it)),
            1 => one().prop_map(Call::BlockInPlace),
            2 => (select(readings.to_vec()), one()).prop_map(|(how, it)| Call::Read(how, it)),
            2 => one().prop_map(Call::Catch),
        ];
        let rest = prop_oneof![
            1 => Just(Call::Panic),
            2 => Just(Call::Yield),
            1 => Just(Call::YieldLocal),
            1 => (0..4_usize).prop_map(Call::SetActive),
        ];
        vec(
            prop_oneof![12 => jobs, 16 => handles, 5 => futures, 10 => places, 5 => rest],
            1..6,
        )
    })
}
