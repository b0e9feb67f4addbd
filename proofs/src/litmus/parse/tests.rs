use super::*;

fn error(text: &str) -> String {
    text.parse::<Litmus>().unwrap_err().to_string()
}

#[test]
fn reads_every_statement() {
    let text = "
        name all of them, as in #7
        init x=1 # a comment
        thread
        a = load x acquire
        if a!=1
        store y a+2 release
        else
        b = cas y 0 5 acqrel relaxed
        end
        fence seqcst
        thread
        await y !0 relaxed
        c = add x 1 relaxed
        d = swap y c seqcst
        needed process_fence
        allow a=1 [x]=2
        forbid race";
    let litmus: Litmus = text.parse().unwrap();
    assert_eq!(litmus.name, "all of them, as in #7");
    assert_eq!(litmus.initial, [1, 0]);
    assert_eq!(litmus.registers, ["a", "b", "c", "d"]);
    assert_eq!(litmus.threads.map_sizes(), [3, 4]);
    assert_eq!(litmus.expectations.len(), 2);
    assert_eq!(litmus.guards, [(1, 3)]);
    assert_eq!(litmus.without_guard(0).threads.map_sizes(), [3, 3]);
}

trait Sizes {
    fn map_sizes(&self) -> Vec<usize>;
}

impl Sizes for Vec<Vec<Statement>> {
    fn map_sizes(&self) -> Vec<usize> {
        self.iter().map(Vec::len).collect()
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    assert_eq!(
        error("store x 1 relaxed"),
        "line 1: a statement before the first `thread`"
    );
    assert_eq!(
        error("thread\nstore x 1 acquire"),
        "line 2: a store cannot be acquire"
    );
    assert_eq!(
        error("thread\nfence relaxed"),
        "line 2: a fence cannot be relaxed"
    );
    assert_eq!(
        error("thread\nstore x one relaxed"),
        "line 2: no register `one` was written before"
    );
    assert_eq!(error("thread\njump"), "line 2: no statement: `jump`");
    assert_eq!(error("thread\nend"), "line 2: `end` without `if`");
    assert_eq!(
        error("thread\na = load x relaxed\nif a=0\nallow a=1"),
        "line 4: an `if` has no `end`"
    );
    assert_eq!(
        error("thread\nstore x 1 relaxed"),
        "line 2: nothing is expected"
    );
    assert_eq!(error("thread\nallow [y]=1"), "line 2: no location `y`");
    let other = "thread\na = load x relaxed\nthread\nstore y a relaxed";
    assert_eq!(
        error(other),
        "line 4: the register `a` is that of another thread"
    );
}

/// Reproduces a bug: an exchange that failed was a read that is not atomic.
#[test]
fn a_failed_exchange_is_atomic() {
    assert_eq!(
        error("thread\na = cas x 0 1 acqrel plain\nallow a=0"),
        "line 2: an update is atomic"
    );
}

/// Reproduces a bug: the message said that an `if` had no `end`.
#[test]
fn what_is_needed_is_outside_of_conditions() {
    assert_eq!(
        error("thread\na = load x relaxed\nif a=1\nneeded fence seqcst\nend\nallow a=0"),
        "line 4: `needed` is inside of an `if`"
    );
}

/// Reproduces a bug: only the ordering of a success was left out, so that nothing was lost.
#[test]
fn an_exchange_that_is_needed_loses_both_orderings() {
    let text = "thread\nneeded a = cas x 0 1 acqrel acquire\nallow a=0";
    let weaker = text.parse::<Litmus>().unwrap().without_guard(0);
    let relaxed = "thread\na = cas x 0 1 relaxed relaxed\nallow a=0";
    let relaxed: Litmus = relaxed.parse().unwrap();
    assert_eq!(weaker.threads, relaxed.threads);
}
