//! Random programs, whose jobs the only worker of a pool runs in the original's order.
//!
//! A [program](author) is made from its number. Its [trace](runner) says which operation begins and
//! ends when, and what the calls return. The file `programs/traces.txt` has a checksum for each
//! program, from rayon-core 1.13. This test runs on the originals as well, so the file cannot be
//! out of date. `WRITE_TRACES=1 cargo xtask test-all --only rayon` writes it anew, from them.

mod author;
mod runner;

use std::{env, fs, path::Path};

use author::Program;
use runner::trace_of;

const PROGRAMS: u64 = 1_000;
const TRACES: &str = include_str!("programs/traces.txt");

#[test]
fn the_only_worker_runs_jobs_in_the_order_of_the_original() {
    let sums = |number| checksum(&trace_of(Program::with_number(number)));
    if env::var_os("WRITE_TRACES").is_some() {
        let lines = (0..PROGRAMS).map(|number| format!("{:016x}\n", sums(number)));
        let file = Path::new(file!()).with_file_name("programs/traces.txt");
        fs::write(file, lines.collect::<String>()).unwrap();
        return;
    }
    assert_eq!(TRACES.lines().count() as u64, PROGRAMS);
    for (number, line) in (0..).zip(TRACES.lines()) {
        let sum = u64::from_str_radix(line, 16).unwrap();
        if sums(number) != sum {
            let program = Program::with_number(number);
            let shown = format!("{program:#?}");
            let trace = trace_of(program).join("\n");
            panic!("program {number} has another trace than on the original:\n{shown}\n{trace}");
        }
    }
}

/// Returns the checksum of Fowler, Noll and Vo (FNV-1a), which is the same everywhere.
fn checksum(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
