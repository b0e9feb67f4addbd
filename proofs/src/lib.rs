#![doc = include_str!("../README.md")]

pub mod litmus;
pub mod memory;
