//! Senders and the worker that receives, on a channel that may be full. A token that is lost, or
//! comes before its hint, is a deadlock, which loom reports.

use ::loom::{
    model::Builder,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};
use std::vec::Vec;

use super::*;
use crate::testing::TestParker;

/// What a model begins with.
#[derive(Clone, Copy)]
struct Start {
    /// How many hints the channel has carried before.
    carried: u32,
    /// How many hints it holds, of which no token tells.
    held: u16,
    senders: u16,
}

/// Models senders of one hint each, while the worker parks and takes out what there is. Each hint
/// that was accepted arrives once, those that were held in their order before the others.
fn check<const N: usize>(start: Start) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 10_000;
    builder.check(move || {
        let Start {
            carried,
            held,
            senders,
        } = start;
        let channel = Arc::new(ArrayChannel::<_, N>::after(carried, TestParker::new()));
        let refused = Arc::new(AtomicUsize::new(0));
        let mut expected: Vec<_> = (0..held).map(Hint::Worker).collect();
        for &hint in &expected {
            channel.push(hint).unwrap();
        }
        let threads: Vec<_> = (held..held + senders)
            .map(|number| {
                let (channel, refused) = (channel.clone(), refused.clone());
                thread::spawn(move || {
                    let sent = channel.send(Hint::Worker(number));
                    if sent.is_err() {
                        refused.fetch_add(1, Ordering::Relaxed);
                        // As a notifier does.
                        channel.parker().unpark();
                    }
                    sent
                })
            })
            .collect();
        let all = usize::from(held + senders);
        let mut received = Vec::new();
        while received.len() + refused.load(Ordering::Relaxed) < all {
            channel.parker().park();
            received.extend(core::iter::from_fn(|| channel.receive()));
        }
        assert!(received.starts_with(&expected));
        for (number, thread) in (held..).zip(threads) {
            match thread.join().unwrap() {
                Ok(()) => expected.push(Hint::Worker(number)),
                Err(ChannelFull) => assert!(all > N, "there is room for all"),
            }
        }
        assert_eq!(channel.receive(), None);
        received.sort_by_key(|hint| hint.to_raw());
        assert_eq!(received, expected);
        // Every cell is empty, and can be filled again.
        for _ in 0..N {
            channel.push(Hint::Injector).unwrap();
        }
        assert_eq!(channel.push(Hint::Injector), Err(ChannelFull));
    });
}

const EMPTY_CHANNEL: Start = Start {
    carried: 0,
    held: 0,
    senders: 2,
};

#[test]
fn two_senders_share_two_cells() {
    check::<2>(EMPTY_CHANNEL);
}

#[test]
fn two_senders_compete_for_the_only_cell() {
    check::<1>(EMPTY_CHANNEL);
}

#[test]
fn two_senders_compete_for_the_cell_that_is_left() {
    check::<2>(Start {
        held: 1,
        ..EMPTY_CHANNEL
    });
}

/// The sender comes before the worker has emptied the cell, and is refused, or in the middle, or
/// after it.
#[test]
fn a_full_channel_refuses_or_takes_what_is_sent_while_it_is_emptied() {
    check::<1>(Start {
        held: 1,
        senders: 1,
        ..EMPTY_CHANNEL
    });
}

/// The number of the first hint is the greatest one.
#[test]
fn the_numbers_wrap_around_between_two_senders() {
    check::<2>(Start {
        carried: u32::MAX,
        ..EMPTY_CHANNEL
    });
}
