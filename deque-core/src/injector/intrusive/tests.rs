use super::*;

#[cfg(loom)]
mod loom;

#[cfg(not(loom))]
mod threads {
    use std::{boxed::Box, thread, vec::Vec};

    use super::*;
    use crate::testing::{MANY, Taken, with_thieves};

    fn nodes(count: usize) -> Vec<Node<usize>> {
        (0..count).map(Node::new).collect()
    }

    #[test]
    fn smoke() {
        let mut nodes = nodes(6);
        let (first, second) = nodes.split_at_mut(3);
        let queue = IntrusiveInjector::new();
        assert!(queue.is_empty());
        assert!(queue.steal().is_empty());
        first.iter_mut().for_each(|node| queue.push(node));
        assert_eq!(*queue.steal().success().unwrap().value(), 0);
        second.iter_mut().for_each(|node| queue.push(node));
        for expected in 1..6 {
            assert!(!queue.is_empty());
            assert_eq!(*queue.steal().success().unwrap().value(), expected);
        }
        assert!(queue.is_empty() && queue.steal().is_empty());
    }

    #[test]
    fn a_stolen_node_can_be_pushed_again() {
        let mut node = Node::new(0);
        let queue = IntrusiveInjector::new();
        queue.push(&mut node);
        for round in 0..3 {
            let node = queue.steal().success().unwrap();
            assert_eq!(*node.value(), round);
            *node.value_mut() += 1;
            queue.push(node);
        }
        assert_eq!(node.into_value(), 3);
    }

    #[test]
    fn spsc() {
        let mut nodes = nodes(MANY);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let queue = IntrusiveInjector::new();
        with_thieves(
            1,
            || queue.steal(),
            |node: &mut Node<usize>| {
                let expected = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                assert_eq!(*node.value(), expected);
            },
            || nodes.iter_mut().for_each(|node| queue.push(node)),
        );
    }

    /// Nodes are freed as soon as they are stolen: a late read of one is an error under Miri.
    #[test]
    fn mpmc() {
        const PRODUCERS: usize = 3;
        let taken = Taken::new(PRODUCERS * MANY);
        let queue = IntrusiveInjector::<usize>::new();
        let take = |node: NodePointer| {
            // SAFETY: it came from a box and was stolen once.
            taken.note(unsafe { Box::from_raw(node.0.as_ptr()) }.into_value());
        };
        with_thieves(
            3,
            || queue.steal_raw().map(NodePointer),
            take,
            || {
                thread::scope(|scope| {
                    for producer in 0..PRODUCERS {
                        let queue = &queue;
                        scope.spawn(move || {
                            for number in 0..MANY {
                                let node = Box::new(Node::new(producer * MANY + number));
                                // SAFETY: 1. and 2. no other thread has the node until it is
                                // stolen.
                                unsafe { queue.push_raw(NonNull::from(Box::leak(node))) };
                            }
                        });
                    }
                });
            },
        );
        taken.assert_all();
    }

    struct NodePointer(NonNull<Node<usize>>);
}
