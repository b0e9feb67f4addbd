use super::*;

/// Cells without size take no memory, so a ring of them could grow until the distances within it
/// overflow.
#[test]
#[should_panic = "capacity overflow"]
fn a_ring_does_not_grow_beyond_its_positions() {
    let mut capacity = 0;
    for _ in 0..usize::BITS {
        capacity = Growable::<()>::capacity_after(capacity);
        let end = Position::from_index(0).plus(capacity);
        assert!(end.into_word().cast_signed() > 0);
    }
}
