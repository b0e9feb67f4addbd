//! Paths as text, for lists, reports and messages.

use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
};

/// Returns a path as text of one line, from which [`unescape`] makes the same path again.
///
/// Percent signs, control characters and bytes that are not UTF-8 become `%` and two hexadecimal
/// digits.
#[must_use]
pub fn escape(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '%' || character.is_control() {
                escape_bytes(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut text);
            } else {
                text.push(character);
            }
        }
        escape_bytes(chunk.invalid(), &mut text);
    }
    text
}

fn escape_bytes(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        write!(text, "%{byte:02X}").expect("writing to memory does not fail");
    }
}

/// Returns the path of a text that [`escape`] returned.
///
/// # Errors
/// If [`escape`] returns no such text, or if the path came from another system and this one has no
/// such paths.
pub fn unescape(text: &str) -> io::Result<PathBuf> {
    let invalid = || {
        let message = format!("`{text}` is no escaped path");
        io::Error::new(io::ErrorKind::InvalidData, message)
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit().zip(digit()).map(|(high, low)| 16 * high + low);
            let value = value.and_then(|value| u8::try_from(value).ok());
            bytes.push(value.ok_or_else(invalid)?);
        } else {
            bytes.push(byte);
        }
    }
    path_of(bytes).ok_or_else(invalid)
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have bytes that are no path"
)]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};
    Some(OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_from_one_line_of_text() {
        for path in ["", "/a/b c", "100%", "tab\tand\nline", "größer/文", "%41"] {
            let text = escape(Path::new(path));
            assert!(!text.contains(['\t', '\n']), "{text}");
            assert_eq!(unescape(&text).unwrap(), Path::new(path));
        }
        assert_eq!(escape(Path::new("a\n%")), "a%0A%25");
    }

    #[test]
    #[cfg(unix)]
    fn paths_that_are_not_text_come_back() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let path = Path::new(OsStr::from_bytes(b"a\xff\xfe/\xc3"));
        let text = escape(path);
        assert_eq!(text, "a%FF%FE/%C3");
        assert_eq!(unescape(&text).unwrap(), path);
    }

    #[test]
    fn text_with_a_wrong_escape_is_no_path() {
        for text in ["%", "a%4", "%4g", "%é"] {
            let error = unescape(text).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{text}");
        }
    }
}
