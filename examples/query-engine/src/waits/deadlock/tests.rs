use super::*;

type Key = &'static str;

/// A worker that waits for `awaited` while it computes the last of some queries, each of which
/// needs the next.
fn need(needed_by: &[Key], awaited: Key) -> Need<Key> {
    let needed_by = needed_by
        .iter()
        .fold(None, |parent, key| Some(Job::new(*key, parent)));
    Need { awaited, needed_by }
}

fn find(needs: &[Need<Key>]) -> Option<(usize, Deadlock<Key>)> {
    find_deadlock(&needs.iter().collect::<Vec<_>>())
}

#[track_caller]
fn assert_cycle(needs: &[Need<Key>], path: &[Key]) -> usize {
    let (index, deadlock) = find(needs).unwrap();
    let error = CycleError::new(Cycle::new(path.to_vec()));
    assert_eq!(deadlock, Deadlock::Cycle(error));
    // The wait that is ended is a step of the cycle.
    let waits = needs[index].needed_by.as_ref().unwrap();
    let from = waits.ancestry().next().unwrap();
    let position = path.iter().position(|key| key == from).unwrap();
    assert_eq!(needs[index].awaited, path[(position + 1) % path.len()]);
    index
}

#[test]
fn without_waits_there_is_nothing_to_resolve() {
    assert_eq!(find(&[]), None);
}

#[test]
fn two_queries_need_each_other() {
    assert_cycle(&[need(&["a"], "b"), need(&["b"], "a")], &["a", "b"]);
}

#[test]
fn a_cycle_passes_through_queries_that_do_not_wait() {
    let needs = [
        need(&["root", "a", "b"], "c"),
        need(&["root", "c", "d", "e"], "a"),
    ];
    assert_cycle(&needs, &["a", "b", "c", "d", "e"]);
}

#[test]
fn waits_that_lead_to_a_cycle_are_not_on_it() {
    let needs = [
        need(&["x"], "a"),
        need(&["a"], "b"),
        need(&["y"], "x"),
        need(&["b", "c"], "a"),
    ];
    let index = assert_cycle(&needs, &["a", "b", "c"]);
    assert!(index == 1 || index == 3);
}

#[test]
fn a_cycle_is_found_beside_a_false_dependency() {
    let needs = [
        need(&["x"], "a"),
        need(&["a", "y"], "z"),
        need(&["a"], "b"),
        need(&["b"], "a"),
    ];
    assert_cycle(&needs, &["a", "b"]);
}

#[test]
fn a_query_waits_for_itself_on_another_worker() {
    // Two sides of a join: one has begun `b`, the other waits for it.
    let needs = [need(&["a"], "b"), need(&["a", "b"], "a")];
    assert_cycle(&needs, &["a", "b"]);
}

#[test]
fn a_round_of_waits_that_passes_a_query_twice_is_cut_to_a_cycle() {
    // From b down to x, from c down to y, both through m: the round is b m x c m y.
    let needs = [need(&["b", "m", "x"], "c"), need(&["c", "m", "y"], "b")];
    let (_, deadlock) = find(&needs).unwrap();
    let Deadlock::Cycle(error) = deadlock else {
        panic!("{deadlock:?}")
    };
    assert!(
        [&["c", "m", "x"], &["b", "m", "y"]].contains(&error.cycle().path().try_into().unwrap()),
        "{error:?}"
    );
}

#[test]
fn a_query_that_no_wait_holds_up_is_a_false_dependency() {
    // One worker has begun `a` and runs `c` above it; the other has begun `b` and runs `d`.
    let needs = [need(&["c"], "b"), need(&["d"], "a")];
    assert_eq!(find(&needs), Some((0, Deadlock::FalseDependency)));
}

#[test]
fn of_false_dependencies_the_deepest_is_ended() {
    // `c` waits for `b`, which waits for `a`, which no wait holds up.
    let needs = [need(&["c"], "b"), need(&["b"], "a"), need(&["d"], "c")];
    assert_eq!(find(&needs), Some((1, Deadlock::FalseDependency)));
}

#[test]
fn the_user_of_the_engine_needs_a_query() {
    assert_eq!(
        find(&[need(&[], "a")]),
        Some((0, Deadlock::FalseDependency))
    );
    assert_cycle(
        &[need(&[], "a"), need(&["a"], "b"), need(&["b"], "a")],
        &["a", "b"],
    );
}
