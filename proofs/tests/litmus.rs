//! All programs below `litmus`: each ends as it says, and needs each of its guards.

use std::{fs, path::Path};

use proofs::{
    litmus::{Expectation, Litmus},
    memory::check,
};

/// Checks the programs of a directory, of which there are so many at least.
fn check_all(directory: &str, at_least: usize) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("litmus")
        .join(directory);
    let mut files: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= at_least, "{} files", files.len());
    let mut failures = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let litmus: Litmus = text
            .parse()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let allows = |it: &Expectation| {
            use Expectation::{Allow, AllowRaces, AllowWaits};
            matches!(it, Allow(_) | AllowRaces | AllowWaits)
        };
        assert!(
            !litmus.guards.is_empty() || litmus.expectations.iter().any(allows),
            "{name}: a search that finds nothing would pass"
        );
        let report = check(&litmus).unwrap();
        assert!(report.executions > 0, "{name}: there is no execution");
        for (number, verdict) in report.verdicts.iter().enumerate() {
            if !verdict.is_met {
                let witness = verdict.witness.as_deref().unwrap_or("no such execution");
                failures.push(format!(
                    "{name}: expectation {number} is not met\n{witness}"
                ));
            }
        }
        for guard in 0..litmus.guards.len() {
            let weaker = check(&litmus.without_guard(guard)).unwrap();
            if weaker.is_as_expected() {
                let place = litmus.guards[guard];
                failures.push(format!(
                    "{name}: nothing is lost without the guard at {place:?}"
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Tests of the literature, with their verdicts.
#[test]
fn known_programs_end_as_the_literature_says() {
    check_all("known", 69);
}

/// The handshakes of this workspace.
#[test]
fn our_programs_end_as_they_should() {
    check_all("ours", 24);
}

/// Handshakes that others have reported.
#[test]
fn programs_of_others_end_as_their_pages_say() {
    check_all("others", 21);
}

/// Reproduces a bug: a misspelled location made an `await` wait without end, so that nothing that
/// was forbidden was found.
#[test]
fn a_program_without_an_execution_is_not_as_expected() {
    let program = |awaited: &str| -> Litmus {
        let text = format!(
            "thread\nstore flag 1 release\n\
             thread\nawait {awaited} 1 acquire\nb = load flag relaxed\nforbid b=0"
        );
        text.parse().unwrap()
    };
    assert!(check(&program("flag")).unwrap().is_as_expected());
    let report = check(&program("flg")).unwrap();
    assert_eq!(report.executions, 0);
    assert!(!report.is_as_expected());
}

/// Reproduces a bug: the search panicked. Atomics wrap around.
#[test]
fn sums_wrap_around() {
    let text = "init x=9223372036854775807\n\
        thread\n\
        a = add x 1 relaxed\n\
        store y a+1 relaxed\n\
        allow [x]=-9223372036854775808 [y]=-9223372036854775808";
    let program: Litmus = text.parse().unwrap();
    assert!(check(&program).unwrap().is_as_expected());
}

/// Reproduces a bug: what a program with a data race forbids was as expected, though such a program
/// is undefined.
#[test]
fn a_program_with_a_race_forbids_nothing() {
    let program = |order: &str| -> Litmus {
        let text = format!(
            "thread\nstore x 1 {order}\n\
             thread\na = load x {order}\nforbid a=2"
        );
        text.parse().unwrap()
    };
    let report = check(&program("relaxed")).unwrap();
    assert!(report.is_as_expected() && report.race.is_none());
    let report = check(&program("plain")).unwrap();
    assert!(!report.is_as_expected());
    assert_eq!(report.verdicts[0].witness, None);
    assert!(report.race.unwrap().contains("(plain)"));
}

/// Reproduces a bug: each update was tried with each value that the location may ever have, so that
/// seven of one thread took seconds and gigabytes, and eight of three threads did not end.
#[test]
fn updates_have_their_values_from_writes_that_are_there() {
    let program = |updates: &[usize]| -> Litmus {
        let mut text = String::new();
        for (thread, updates) in updates.iter().enumerate() {
            text += "thread\n";
            for update in 0..*updates {
                text += &format!("a{thread}{update} = add x 1 relaxed\n");
            }
        }
        let sum: usize = updates.iter().sum();
        text += &format!("forbid [x]!={sum}\nallow [x]={sum}");
        text.parse().unwrap()
    };
    for (updates, orders) in [(&[7][..], 1), (&[3, 3, 2], 560)] {
        let report = check(&program(updates)).unwrap();
        assert!(report.is_as_expected());
        assert_eq!((report.candidates, report.executions), (orders, orders));
    }
}

/// Reproduces a bug: a thread that waits without end kept others at their waits, although these
/// ended. So a race behind them was not found.
#[test]
fn a_thread_that_waits_without_end_keeps_no_other_one() {
    let text = "thread\nstore x 1 plain\nawait never 1 relaxed\n\
        thread\nawait open 0 relaxed\nstore x 2 plain\nallow race";
    let program: Litmus = text.parse().unwrap();
    let report = check(&program).unwrap();
    assert_eq!(report.executions, 0);
    assert!(report.race.is_some());
}
