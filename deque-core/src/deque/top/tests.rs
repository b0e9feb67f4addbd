use super::*;

/// How far around a place of interest.
const SPAN: isize = if cfg!(miri) { 3 } else { 200 };

/// Where words and positions wrap around, and where they change their sign.
fn positions() -> impl Iterator<Item = usize> {
    let bends = [0, usize::MAX / 4, usize::MAX / 2, AWAY, usize::MAX];
    bends.into_iter().flat_map(|bend| {
        let around = -SPAN..SPAN;
        around.map(move |steps| (bend & !MODE).wrapping_add_signed(steps * STEP.cast_signed()))
    })
}

const MODES: [usize; 4] = [BIASED, BIASED_BEYOND, FENCED, REVOKING];

#[test]
fn a_word_tells_position_and_mode() {
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
fn only_what_is_beyond_is_left_to_the_owner() {
    // The element before the first one, which an owner asks for that finds none, and the farthest.
    let most = (isize::MAX.cast_unsigned() / size_of::<usize>() / STEP).cast_signed();
    let distances = (-1..SPAN).chain([most / 2, most]);
    for (position, distance) in positions().flat_map(|p| distances.clone().map(move |d| (p, d))) {
        let newest = position.wrapping_add_signed(distance * STEP.cast_signed());
        for mode in MODES {
            let expected = match mode {
                BIASED => distance >= 0,
                BIASED_BEYOND => distance > 0,
                _ => false,
            };
            let top = Top::new(position, mode);
            assert_eq!(top.leaves_to_owner(newest), expected, "{top:?} {distance}");
        }
    }
}

#[test]
fn an_exchange_at_the_first_element_leaves_it_behind() {
    for position in positions() {
        for mode in MODES {
            let after = Top::new(position, mode).after(3);
            assert_eq!(after.position(), position.wrapping_add(3 * STEP));
            let expected = if mode == BIASED_BEYOND { BIASED } else { mode };
            assert_eq!(after.0 & MODE, expected);
        }
    }
}
