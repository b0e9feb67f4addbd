#![doc = include_str!("../README.md")]

mod configuration;
pub mod error;
pub mod guests;
pub mod settings;
pub mod spawn;
