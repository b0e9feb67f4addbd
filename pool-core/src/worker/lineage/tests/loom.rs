//! A lineage that changes while another thread reads it.

use std::{sync::Arc, vec::Vec};

use ::loom::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::super::*;
use crate::testing::model;

/// Models two changes. Needs the second look at the version, and the fences between the looks.
#[test]
fn a_lineage_is_read_whole() {
    model(3, || {
        let lineage = |number: usize| Lineage {
            theft: Some(Theft {
                victim: number,
                position: Position::from_word(4 * number),
            }),
            begin: Position::from_word(4 * number),
            isolation: Isolation::Subtree,
            isolated_from: Position::from_word(4 * number),
        };
        let published = Arc::new(PublishedLineage::new());
        let reader = {
            let published = published.clone();
            thread::spawn(move || published.read())
        };
        let lineages: Vec<_> = (1..=2).map(lineage).collect();
        let first = published.own();
        let isolated = Lineage {
            begin: Position::from_word(12),
            isolation: Isolation::Nothing,
            ..first
        };
        published.publish(isolated);
        lineages.iter().for_each(|&it| published.publish(it));
        // Without a theft, the start says nothing.
        let seen = reader.join().unwrap().filter(|seen| seen.theft.is_some());
        if let Some(seen) = seen {
            assert!(lineages.contains(&seen), "{seen:?}");
        }
    });
}

#[test]
fn a_job_that_was_pushed_before_an_isolated_call_is_not_isolated() {
    check_older_job(None);
}

#[test]
fn a_job_that_was_pushed_before_a_stolen_one_was_begun_is_not_isolated() {
    check_older_job(Some(Theft {
        victim: 1,
        position: Position::from_word(0),
    }));
}

/// Models a worker that is isolated for the second time, and a thief of a job that the worker has
/// pushed before that, or pushes after it.
fn check_older_job(theft: Option<Theft>) {
    model(3, move || {
        let published = Arc::new(PublishedLineage::new());
        let pushed = Arc::new(AtomicUsize::new(0));
        let publish = |isolation, from: usize| {
            published.publish(Lineage {
                isolation,
                isolated_from: Position::from_word(from),
                theft,
                begin: Position::from_word(from),
            });
        };
        publish(Isolation::Subtree, 8);
        publish(Isolation::Anything, 8);
        let thief = {
            let (published, pushed) = (published.clone(), pushed.clone());
            thread::spawn(move || {
                let newest = pushed.load(Ordering::Acquire);
                let is_isolated =
                    |position| published.isolation_at(Position::from_word(position)).1;
                assert!(newest < 16 || !is_isolated(16), "it is older");
                assert!(newest < 24 || is_isolated(24));
            })
        };
        pushed.store(16, Ordering::Release);
        publish(Isolation::Subtree, 24);
        pushed.store(24, Ordering::Release);
        thief.join().unwrap();
    });
}
