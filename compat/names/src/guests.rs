//! Whether a thread outside every pool runs closures itself, in the place of a worker that sleeps.
//!
//! Programs of rayon expect closures on threads of the pool, and get that by default.

use std::{env, ffi::OsString, sync::OnceLock};

use pool_std::{BuildError, CurrentPool};

/// The variable that sets the default.
const GUESTS: &str = "RAYON_CORE_GUESTS";

/// The values of the variable.
const CHOICES: [&str; 2] = ["0", "1"];

/// The current pool, with guests if its builder was told so or, if the builder was told nothing, if
/// the variable `RAYON_CORE_GUESTS` is 1.
pub const CURRENT_POOL: CurrentPool = CurrentPool::with_default_guests(are_default);

/// Returns what the environment says, which is no if it says nothing.
///
/// # Errors
/// [`BuildError::EnvironmentVariable`] if the value of the variable is neither 0 nor 1.
pub fn from_environment() -> Result<bool, BuildError> {
    choice(env::var_os(GUESTS))
}

/// Whether a thread outside a pool is a guest whose builder was told nothing. Reads the environment
/// once.
///
/// # Panics
/// If the value of the variable is neither 0 nor 1.
fn are_default() -> bool {
    static DEFAULT: OnceLock<bool> = OnceLock::new();
    *DEFAULT.get_or_init(|| from_environment().unwrap_or_else(|error| panic!("{error}")))
}

/// Returns what a value of the variable stands for. An empty value asks for nothing.
fn choice(value: Option<OsString>) -> Result<bool, BuildError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(false);
    };
    match CHOICES.iter().position(|&choice| value == *choice) {
        Some(choice) => Ok(choice == 1),
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

    fn chosen(value: &str) -> Result<bool, BuildError> {
        choice(Some(OsString::from(value)))
    }

    #[test]
    fn takes_0_and_1() {
        assert!(!choice(None).unwrap());
        assert!(!chosen("").unwrap(), "empty is unset");
        assert!(!chosen("0").unwrap());
        assert!(chosen("1").unwrap());
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
        let row = format!("| `{GUESTS}` | `0`, `1` | `0` |");
        assert_eq!(page.matches(&row).count(), 1);
    }
}
