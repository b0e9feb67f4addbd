#![doc = include_str!("../README.md")]

pub mod error;
pub mod guests;
pub mod settings;
pub mod spawn;
