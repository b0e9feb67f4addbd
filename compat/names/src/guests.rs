//! Whether a thread outside every pool runs closures itself, in the place of a worker that sleeps.

use std::{
    env,
    ffi::OsString,
    sync::atomic::{AtomicU8, Ordering},
};

use pool_std::{BuildError, CurrentPool};

/// The variable that sets the default.
const GUESTS: &str = "RAYON_CORE_GUESTS";

/// The values of the variable.
const CHOICES: [&str; 2] = ["0", "1"];

/// The current pool of a drop-in that has guests, unless the builder of the pool was told
/// otherwise or, if it was told nothing, the variable `RAYON_CORE_GUESTS` is 0.
pub const WITH_GUESTS: CurrentPool =
    CurrentPool::with_default_guests(|| chosen_once().unwrap_or(true));

/// The current pool of a drop-in that has no guests, unless the builder of the pool was told
/// otherwise or, if it was told nothing, the variable `RAYON_CORE_GUESTS` is 1.
pub const WITHOUT_GUESTS: CurrentPool =
    CurrentPool::with_default_guests(|| chosen_once().unwrap_or(false));

/// Returns what the environment says, if it says anything.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value of the variable is neither 0 nor 1.
pub fn from_environment() -> Result<Option<bool>, BuildError> {
    choice(env::var_os(GUESTS))
}

/// Returns what the environment says, if it says anything. Reads it once.
///
/// # Panics
/// If the value of the variable is neither 0 nor 1.
fn chosen_once() -> Option<bool> {
    const UNREAD: u8 = 0;
    const NONE: u8 = 1;
    const OFF: u8 = 2;
    const ON: u8 = 3;

    // Not a value for which other threads wait while one reads the environment: in a child of a
    // process that forks meanwhile, they would wait forever.
    static CHOSEN: AtomicU8 = AtomicU8::new(UNREAD);

    // Ordering: Relaxed, here and below; nothing else depends on it.
    match CHOSEN.load(Ordering::Relaxed) {
        UNREAD => {
            let chosen = from_environment().unwrap_or_else(|error| panic!("{error}"));
            let state = chosen.map_or(NONE, |is_on| if is_on { ON } else { OFF });
            CHOSEN.store(state, Ordering::Relaxed);
            chosen
        }
        NONE => None,
        state => Some(state == ON),
    }
}

/// Returns what a value of the variable stands for. An empty value asks for nothing.
fn choice(value: Option<OsString>) -> Result<Option<bool>, BuildError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    match CHOICES.iter().position(|&choice| value == *choice) {
        Some(choice) => Ok(Some(choice == 1)),
        None => Err(BuildError::EnvironmentVariable {
            variable: GUESTS,
            value,
            choices: CHOICES.to_vec(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(value: &str) -> Result<Option<bool>, BuildError> {
        choice(Some(OsString::from(value)))
    }

    #[test]
    fn takes_0_and_1() {
        assert_eq!(choice(None).unwrap(), None);
        assert_eq!(chosen("").unwrap(), None, "empty is unset");
        assert_eq!(chosen("0").unwrap(), Some(false));
        assert_eq!(chosen("1").unwrap(), Some(true));
    }

    #[test]
    fn any_other_value_is_an_error_that_names_the_choices() {
        for bad in ["2", "01", " 1", "yes", "true"] {
            let text = format!(
                "the environment variable RAYON_CORE_GUESTS is `{bad}`, but must be 0 or 1"
            );
            assert_eq!(chosen(bad).unwrap_err().to_string(), text);
        }
    }

    // pool-std checks the other rows.
    #[test]
    fn the_page_of_the_book_has_the_variable_and_its_choices() {
        let page = include_str!("../../../docs/src/environment.md");
        let row = format!("| `{GUESTS}` | `0`, `1` | `1` |");
        assert_eq!(page.matches(&row).count(), 1);
    }
}
