//! What the programs work on: the same in every run.

/// Numbers that look random, by Marsaglia's xorshift generator ("Xorshift RNGs", 2003).
pub(crate) fn random_numbers(count: usize) -> Vec<u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Words of random lengths with single spaces between them, about this many bytes.
pub(crate) fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    for number in random_numbers(bytes / 4) {
        if text.len() >= bytes {
            break;
        }
        let length = 1 + number as usize % 11;
        let letter = char::from(b'a' + (number >> 8) as u8 % 26);
        text.extend(std::iter::repeat_n(letter, length));
        text.push(' ');
    }
    text
}
