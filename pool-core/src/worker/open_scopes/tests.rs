use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

const BEGIN: Position = Position::from_word(0);

/// Counts how often a scope is looked at.
fn looks(scopes: &OpenScopes, num_scopes: usize, counts: [&AtomicUsize; 2]) -> [usize; 2] {
    assert!(scopes.find_job(num_scopes, 1).is_none());
    counts.map(|count| count.swap(0, Relaxed))
}

#[test]
fn the_innermost_scopes_are_looked_at() {
    let (outer, inner) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = [&outer, &inner];
    let scopes = OpenScopes::new();
    let look_at = |count: &AtomicUsize| {
        count.fetch_add(1, Relaxed);
        None
    };
    let (of_outer, of_inner) = (|| look_at(&outer), || look_at(&inner));
    scopes.while_open(&of_outer, BEGIN, 1, || {
        assert_eq!(looks(&scopes, 1, counts), [1, 0]);
        let panics = || {
            scopes.while_open(&of_inner, BEGIN, 1, || {
                assert_eq!(looks(&scopes, 0, counts), [0, 0]);
                assert_eq!(looks(&scopes, 1, counts), [0, 1]);
                assert_eq!(looks(&scopes, usize::MAX, counts), [1, 1]);
                assert!(scopes.find_job(usize::MAX, 2).is_none());
                assert_eq!(looks(&scopes, 0, counts), [0, 0], "they are of a job below");
                let hidden = scopes.hide();
                assert_eq!(looks(&scopes, usize::MAX, counts), [0, 0]);
                drop(hidden);
                assert_eq!(looks(&scopes, 2, counts), [1, 1]);
                panic!("as it should");
            });
        };
        catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(looks(&scopes, usize::MAX, counts), [1, 0]);
    });
    assert_eq!(looks(&scopes, usize::MAX, counts), [0, 0]);
}

/// A body may pop jobs that are older than its scope. Later ones get their positions.
#[test]
fn scopes_begin_where_the_deque_has_ended_meanwhile() {
    let [first, second, third] = [1, 2, 3].map(|at| Position::from_word(8 * at));
    let scopes = OpenScopes::new();
    assert_eq!(scopes.begin_of_innermost(), None);
    scopes.while_open(&|| None, second, 1, || {
        scopes.while_open(&|| None, third, 1, || {
            scopes.lower_begins(third);
            assert_eq!(scopes.begin_of_innermost(), Some(third));
            scopes.lower_begins(first);
            assert_eq!(scopes.begin_of_innermost(), Some(first));
        });
        assert_eq!(
            scopes.begin_of_innermost(),
            Some(first),
            "the outer scope, too"
        );
    });
}

/// A scope that was created first may be completed in the body of a later one.
#[test]
fn an_outer_scope_that_begins_later_is_lowered_too() {
    let [first, second, third] = [1, 2, 3].map(|at| Position::from_word(8 * at));
    let scopes = OpenScopes::new();
    scopes.while_open(&|| None, third, 1, || {
        scopes.while_open(&|| None, first, 1, || {
            scopes.lower_begins(second);
            assert_eq!(scopes.begin_of_innermost(), Some(first));
        });
        assert_eq!(scopes.begin_of_innermost(), Some(second));
    });
}
