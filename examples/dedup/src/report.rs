//! What the program prints.

use std::path::Path;

use dedup::{Duplicates, Tree, Unreadable};
use humansize::{BINARY, format_size};

use crate::Pass;

/// The most unreadable files that are named.
const NAMED: usize = 10;

pub(crate) fn print(
    root: &Path,
    tree: &Tree,
    duplicates: &Duplicates,
    groups: usize,
    one: &Pass,
    all: &Pass,
) {
    println!("{}", root.display());
    println!("  files       {:>12}", tree.files.len());
    println!("  bytes       {:>12}", format_size(tree.bytes(), BINARY));
    println!(
        "  duplicates  {:>12}   in {} groups, {} redundant",
        duplicates.redundant_files(),
        duplicates.groups.len(),
        format_size(duplicates.redundant_bytes(), BINARY),
    );
    let unreadable: Vec<_> = tree
        .unreadable
        .iter()
        .chain(&duplicates.unreadable)
        .collect();
    println!("  unreadable  {:>12}", unreadable.len());
    print_unreadable(&unreadable);
    print_groups(duplicates, groups);
    print_times(one, all);
}

fn print_unreadable(unreadable: &[&Unreadable]) {
    for unreadable in unreadable.iter().take(NAMED) {
        println!("    {unreadable}");
    }
    if unreadable.len() > NAMED {
        println!("    and {} more", unreadable.len() - NAMED);
    }
}

fn print_groups(duplicates: &Duplicates, groups: usize) {
    for group in duplicates.groups.iter().take(groups) {
        println!(
            "\n  {} x {}, {}",
            group.paths.len(),
            format_size(group.size, BINARY),
            group.digest.to_hex().get(..16).unwrap_or_default(),
        );
        for path in group.paths.iter().take(3) {
            println!("    {}", path.display());
        }
        if group.paths.len() > 3 {
            println!("    and {} more", group.paths.len() - 3);
        }
    }
}

fn print_times(one: &Pass, all: &Pass) {
    println!("\n  time on 1 worker    {:>10.1?}", one.time);
    println!(
        "  time on {} workers   {:>10.1?}",
        all.workers.len(),
        all.time
    );
    println!(
        "  speed-up            {:>9.2}x",
        one.time.as_secs_f64() / all.time.as_secs_f64()
    );
    println!("\n  worker     active       idle     asleep");
    for (index, worker) in all.workers.iter().enumerate() {
        println!(
            "  {index:>6} {:>10.1?} {:>10.1?} {:>10.1?}",
            worker.active, worker.idle, worker.asleep
        );
    }
}
