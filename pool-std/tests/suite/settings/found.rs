//! Programs that random tests have found.

use std::sync::Arc;

use pool_std::{
    Isolation::{Anything, Nothing},
    ThreadPoolBuilder,
};

use super::{
    Counts, Finish, caught,
    program::{
        Call::{
            BlockInPlace, BlockOn, Broadcast, Catch, DroppedHandle, Future, FutureOfHandle, Guest,
            HandlesLeave, Install, Isolate, Keep, Read, ScopeChain, ScopeWithBody, SetActive,
            SpawnedByAnother, Yield,
        },
        End, Leaf, Program, Reading,
    },
    within_limit, work,
};

/// Reproduces a bug: a worker that reads cannot run an operation that is due. It did not sleep
/// while there was one, and in a seeded pool it came to no point where another worker could run it.
/// A random program found it.
#[test]
fn a_worker_that_reads_lets_others_run_what_is_due() {
    let nothing = Program::new;
    let yields = || vec![Yield];
    let guarded = vec![
        Guest(nothing()),
        Broadcast(yields()),
        BlockInPlace(vec![
            BlockOn(yields(), nothing()),
            Future(1, nothing()),
            FutureOfHandle(yields()),
            SpawnedByAnother(vec![nothing(), yields(), yields(), nothing()], true),
            Catch(nothing()),
        ]),
        Future(2, nothing()),
        Guest(nothing()),
    ];
    let read = vec![
        Future(3, nothing()),
        FutureOfHandle(yields()),
        Future(0, yields()),
        BlockOn(yields(), nothing()),
        DroppedHandle(yields()),
    ];
    let read_last = vec![
        SpawnedByAnother(vec![nothing(), nothing(), yields(), nothing()], true),
        ScopeChain(vec![nothing(), nothing(), yields()]),
    ];
    let installed = vec![
        Read(Reading::Closure, read_last),
        DroppedHandle(nothing()),
        Isolate(Anything, yields()),
        HandlesLeave(Vec::new(), Nothing, End::Drop),
        ScopeWithBody(1, nothing(), vec![nothing(), yields(), nothing()], true),
    ];
    let program = vec![
        Future(0, vec![Guest(vec![SetActive(0), Keep(Leaf::Nothing)])]),
        Read(Reading::Guard, guarded),
        Read(Reading::Closure, read),
        Install(installed),
        Yield,
    ];
    within_limit("the program".to_owned(), move |show| {
        let builder = ThreadPoolBuilder::new().num_threads(3).breadth_first();
        let builder = builder
            .seeded(12_543_114_554_986_324_448)
            .panic_handler(caught);
        let pool = Arc::new(builder.build().unwrap());
        show(&pool);
        let counts = Counts::new(Anything, false);
        work(&pool, &[vec![Install(program)]], Finish::Shutdown, &counts);
    });
}
