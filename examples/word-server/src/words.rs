//! Counting words in parallel.

/// Texts that are shorter are counted by one worker.
const SHORT: usize = 16 << 10;

/// Counts the words of a text, as [`split_whitespace`](str::split_whitespace) finds them.
#[must_use]
pub fn count(text: &str) -> u64 {
    match halves(text) {
        Some((left, right)) => {
            let (left, right) = pool_std::join(|| count(left), || count(right));
            left + right
        }
        None => text.split_whitespace().count() as u64,
    }
}

/// Divides a long text at the white space that comes after its middle.
fn halves(text: &str) -> Option<(&str, &str)> {
    if text.len() < SHORT {
        return None;
    }
    let mut boundaries = (text.len() / 2)..=text.len();
    let middle = boundaries.find(|&place| text.is_char_boundary(place))?;
    let space = text[middle..].find(char::is_whitespace)?;
    // A text whose second half is one word would not get shorter.
    Some(text.split_at(middle + space)).filter(|(left, _)| left.len() < text.len())
}
