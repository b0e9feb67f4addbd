//! A lineage that changes while another thread reads it.

use std::{sync::Arc, vec::Vec};

use ::loom::thread;

use super::super::*;
use crate::testing::model;

/// Models two changes. For the second look at the version, and the fences between the looks.
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
        // Without a theft, the begin says nothing.
        let seen = reader.join().unwrap().filter(|seen| seen.theft.is_some());
        if let Some(seen) = seen {
            assert!(lineages.contains(&seen), "{seen:?}");
        }
    });
}
