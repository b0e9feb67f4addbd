//! A lineage that changes while another thread reads it.

use std::{sync::Arc, vec::Vec};

use ::loom::{model, thread};

use super::super::*;

/// Models two changes. For the second look at the version, and the fences between the looks.
#[test]
fn a_lineage_is_read_whole() {
    model(|| {
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
        lineages.iter().for_each(|&it| published.publish(it));
        if let Some(seen) = reader.join().unwrap() {
            assert!(seen == first || lineages.contains(&seen), "{seen:?}");
        }
    });
}
