//! The channel is a queue that refuses what has no room.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::testing::scripted::Scripted;

fn agrees_with_a_queue<const N: usize>(carried: u32, operations: &[Option<u16>]) {
    let channel = ArrayChannel::<_, N>::after(carried, Scripted);
    let mut model = VecDeque::new();
    for operation in operations {
        match operation.map(Hint::Worker) {
            None => assert_eq!(channel.receive(), model.pop_front()),
            Some(_) if model.len() == N => {
                assert_eq!(channel.send(Hint::Unknown), Err(ChannelFull));
            }
            Some(hint) => {
                assert_eq!(channel.send(hint), Ok(()));
                model.push_back(hint);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// New, and where the numbers of hints wrap around.
    #[test]
    fn any_sequence_agrees_with_a_queue(
        operations in prop::collection::vec(prop::option::of(0_u16..9), 0..80)
    ) {
        for carried in [0, u32::MAX - 5] {
            agrees_with_a_queue::<1>(carried, &operations);
            agrees_with_a_queue::<4>(carried, &operations);
        }
    }
}
