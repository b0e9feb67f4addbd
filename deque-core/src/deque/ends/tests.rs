use super::*;

const STEP: usize = Position::STEP;

/// How many positions are tried on each side of a bend.
const SPAN: isize = if cfg!(miri) { 3 } else { 200 };

/// Positions around those where words and positions wrap around or change their sign.
fn positions() -> impl Iterator<Item = Position> {
    let bends = [0, usize::MAX / 4, usize::MAX / 2, FENCED_OFFSET, usize::MAX];
    bends.into_iter().flat_map(|bend| {
        (-SPAN..SPAN).map(move |steps| {
            let word = (bend & !MODE).wrapping_add_signed(steps * STEP.cast_signed());
            Position::from_word(word)
        })
    })
}

const MODES: [usize; 5] = [BIASED, BIASED_BEYOND, FENCED, REVOKING, OPEN];

#[test]
fn a_word_holds_position_and_mode() {
    for position in positions() {
        for mode in MODES {
            let top = Top::new(position, mode);
            assert_eq!((top.position(), top.0 & MODE), (position, mode));
            assert_eq!(top.is_biased(), top.mode() == Mode::Biased);
            assert_eq!(top.fenced().position(), position);
            assert_eq!(top.fenced().mode(), Mode::Fenced);
        }
    }
}

#[test]
fn only_elements_beyond_the_word_are_exclusive() {
    // The element before the first one, which an owner asks for that finds none, and the farthest.
    let most = (isize::MAX.cast_unsigned() / size_of::<usize>() / STEP).cast_signed();
    let distances = (-1..SPAN).chain([most / 2, most]);
    for (position, distance) in positions().flat_map(|p| distances.clone().map(move |d| (p, d))) {
        let newest = position
            .into_word()
            .wrapping_add_signed(distance * STEP.cast_signed());
        for mode in MODES {
            let expected = match mode {
                BIASED => distance >= 0,
                BIASED_BEYOND => distance > 0,
                _ => false,
            };
            let top = Top::new(position, mode);
            let is_exclusive = top.is_owner_exclusive(Position::from_word(newest));
            assert_eq!(is_exclusive, expected, "{top:?} {distance}");
        }
    }
}

#[test]
fn a_claim_ends_the_encoding_biased_beyond() {
    for position in positions() {
        for mode in MODES {
            let after = Top::new(position, mode).advanced_by(3);
            assert_eq!(after.position(), position.plus(3));
            let expected = if mode == BIASED_BEYOND { BIASED } else { mode };
            assert_eq!(after.0 & MODE, expected);
        }
    }
}

/// Checks the numbers that the README draws.
#[test]
fn the_words_are_those_of_the_number_line() {
    let [oldest, newest] = [5, 7].map(Position::from_index);
    assert_eq!((oldest.into_word(), newest.into_word()), (40, 56));
    let words = MODES.map(|mode| Top::new(oldest, mode).0);
    let away = FENCED_OFFSET;
    assert_eq!(words, [40, 41, 42 + away, 43 + away, 46 + away]);
    assert_eq!(away, (1 << (usize::BITS - 1)) - 16);
    let differences = |newest: usize| words.map(|word| newest.wrapping_sub(word).cast_signed());
    assert_eq!(differences(56)[..2], [16, 15]);
    assert_eq!(differences(40)[..2], [0, -1]);
    assert_eq!(differences(32)[..2], [-8, -9]);
    for newest in [32, 40, 56] {
        assert!(
            differences(newest)[2..]
                .iter()
                .all(|&difference| difference < 0)
        );
    }
}
