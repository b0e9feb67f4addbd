//! Pages of the book that the documentation refers to.
//!
//! - [`handles`]: jobs whose results are needed later.
//! - [`hangs`]: what a pool reports about a program that hangs.
//! - [`seeded`]: running programs under many reproducible schedules.
//! - [`waiting`]: what to call around a wait.

// A link on a page leads to another page of the book. Here the first definition of a name counts.

#[doc = "[tokio]: crate::block_on"]
#[doc = "[waiting]: crate::guide::waiting"]
#[doc = include_str!("../docs/handles.md")]
pub mod handles {}

#[doc = "[blocking]: crate::ThreadPoolBuilder::deadlock_handler"]
#[doc = "[waiting]: crate::guide::waiting"]
#[doc = "[rayon]: crate::current_state"]
#[doc = "[seeded]: crate::guide::seeded"]
#[doc = "[live]: https://docs.rs/pool-std/latest/pool_std/live/index.html"]
#[doc = include_str!("../docs/hangs.md")]
pub mod hangs {}

#[doc = "[isolate]: crate::isolate"]
#[doc = include_str!("../docs/seeded.md")]
pub mod seeded {}

#[doc = "[handles]: crate::guide::handles"]
#[doc = "[futures]: crate::guide::handles#from-async-code"]
#[doc = "[hangs]: crate::guide::hangs#a-lock-held-across-a-join"]
#[doc = "[pools]: crate::guide::hangs#two-pools-that-wait-for-each-other"]
#[doc = "[blocking]: crate::blocking()"]
#[doc = "[reading]: crate::progress"]
#[doc = "[elastic]: crate::block_in_place"]
#[doc = "[io]: https://docs.rs/pool-io"]
#[doc = include_str!("../docs/waiting.md")]
pub mod waiting {}
