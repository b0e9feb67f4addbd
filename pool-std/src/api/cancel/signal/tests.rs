use super::*;

fn num_children(signal: &Signal) -> usize {
    lock(&signal.followers).children.len()
}

/// A server's token lives long, and has a child for each request.
#[test]
fn children_that_are_gone_take_no_memory() {
    let parent = Arc::new(Signal::default());
    let kept: Vec<_> = (0..20).map(|_| parent.child()).collect();
    for _ in 0..1_000 {
        drop(parent.child());
        assert!(num_children(&parent) <= 2 * (kept.len() + 1));
    }
    parent.set();
    assert!(kept.iter().all(|child| child.is_set()));
    assert_eq!(num_children(&parent), 0);
}

#[test]
fn futures_that_are_gone_take_no_memory() {
    let signal = Arc::new(Signal::default());
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..3 {
        let mut future = Cancelled::new(signal.clone());
        for _ in 0..3 {
            assert!(Pin::new(&mut future).poll(&mut context).is_pending());
        }
        assert_eq!(lock(&signal.followers).waiters.len(), 1);
    }
    assert!(lock(&signal.followers).waiters.is_empty());
}

#[test]
fn any_number_of_ancestors_is_freed() {
    let generations = if cfg!(miri) { 100 } else { 100_000 };
    let first = Arc::new(Signal::default());
    let last = (0..generations).fold(first.clone(), |parent, _| parent.child());
    first.set();
    assert!(last.is_set());
    drop(first);
    let oldest = Arc::downgrade(last.parent.as_ref().expect("it has one"));
    drop(last);
    assert!(oldest.upgrade().is_none());
}
