//! `cargo xtask mutants`: each ordering and each fence of a core crate is left out, one at a time,
//! and a named test must fail, which passes while nothing is left out.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mutants/site.rs` | finds the places in the sources |
//! | `mutants/table.rs` | what `proofs/mutants.toml` says of each |
//! | `mutants/copy.rs` | a copy of the workspace in which one of them is changed |

mod copy;
mod site;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    command::{Step, TestRun},
    lanes, litmus, root, rustup,
    speaker::say,
};
use copy::Copy;
use site::Site;
use table::{Table, Verdict};

/// The crates whose orderings and fences are in the table.
const CRATES: [&str; 4] = ["sleep-core", "progress-core", "deque-core", "pool-core"];

/// After so long, a test that has not ended counts as failed: models of a changed program may grow
/// without end.
const LIMIT: Duration = Duration::from_secs(400);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only the places whose names contain this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// For places without a row, find a test that fails, and write the rows
    #[arg(long)]
    search: bool,
}

/// Leaves each of them out, and runs the tests that must fail.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = root();
    let sites = sites(&root)?;
    let table = Table::read(&root)?;
    if !arguments.search {
        table.check(&sites)?;
    }
    let is_chosen = |site: &&Site| {
        let only = arguments.only.as_ref();
        only.is_none_or(|text| site.name.contains(text))
            && match table.row(&site.name) {
                Some(verdict) => !arguments.search && matches!(verdict, Verdict::Caught(_)),
                None => arguments.search,
            }
    };
    let chosen: Vec<_> = sites.iter().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "there is nothing to do");
    let copy = prepare(&root)?;
    check_unchanged(&copy, &table, &chosen)?;
    let mut found = table.clone();
    let mut escaped = Vec::new();
    for (number, site) in (1..).zip(&chosen) {
        let start = Instant::now();
        let verdict = match table.row(&site.name) {
            Some(verdict) => check_one(&copy, site, verdict)?,
            None => search_one(&copy, site)?,
        };
        let seconds = start.elapsed().as_secs();
        let count = chosen.len();
        println!("[{number}/{count}] {}: {verdict}, {seconds} s", site.name);
        if let Verdict::Spare(_) = verdict {
            escaped.push(site.name.clone());
        }
        if arguments.search {
            found.add(site.name.clone(), verdict);
            // After each, because a search takes an hour.
            found.write(&root)?;
        }
    }
    if escaped.is_empty() {
        println!("each of {} is caught", chosen.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("no test fails without:\n  {}", escaped.join("\n  "));
    Ok(ExitCode::FAILURE)
}

/// Leaves each place out, as `cargo xtask mutants` does. Returns how many are caught.
pub(crate) fn lane(_quick: bool) -> Result<u64> {
    let root = root();
    let sites = sites(&root)?;
    let table = Table::read(&root)?;
    table.check(&sites)?;
    let copy = prepare(&root)?;
    check_unchanged(&copy, &table, &sites.iter().collect::<Vec<_>>())?;
    let mut caught = 0;
    for site in &sites {
        let named = table.row(&site.name).context("it was checked")?;
        if let Verdict::Caught(_) = named {
            let verdict = check_one(&copy, site, named)?;
            say!("{}: {verdict}", site.name);
            ensure!(
                matches!(verdict, Verdict::Caught(_)),
                "{}: {verdict}",
                site.name
            );
            caught += 1;
        }
    }
    Ok(caught)
}

/// Makes a copy, and sees to it that each rung can be run there.
fn prepare(root: &Path) -> Result<Copy> {
    rustup::need_nightly(&["miri", "rust-src"])?;
    Copy::new(root)
}

/// Checks that the table has a row for each place, and an argument for each that is spare. Returns
/// how many places there are.
pub(crate) fn check_table(root: &Path) -> Result<u64> {
    let sites = sites(root)?;
    Table::read(root)?.check(&sites)?;
    Ok(sites.len() as u64)
}

/// Returns how many places of each crate each kind of test catches, how many are spare, and how
/// many there are: the crate's name, a point, and `loom`, `unit`, `miri`, `litmus`, `spare` or
/// `all`.
pub(crate) fn counts(root: &Path) -> Result<BTreeMap<String, u64>> {
    Table::read(root)?.counts()
}

fn sites(root: &Path) -> Result<Vec<Site>> {
    let mut sites = Vec::new();
    for name in CRATES {
        sites.extend(Site::all_in(root, name)?);
    }
    Ok(sites)
}

/// Runs the tests that the table names for these places, while nothing is left out. One that fails
/// all the same would count as one that catches.
fn check_unchanged(copy: &Copy, table: &Table, sites: &[&Site]) -> Result<()> {
    let mut named = BTreeMap::<_, BTreeSet<_>>::new();
    for site in sites {
        let Some(Verdict::Caught(caught)) = table.row(&site.name) else {
            continue;
        };
        let (rung, test) = rung_and_test(caught)?;
        if rung != PROGRAM {
            let tests = named.entry((rung, &*site.package)).or_default();
            tests.insert(test);
        }
    }
    for ((rung, package), tests) in named {
        let count = tests.len();
        let limit = LIMIT * u32::try_from(count)?;
        let filters: Vec<_> = tests.into_iter().chain(["--exact"]).collect();
        match Rung::named(rung)?.tests(copy, package, &filters, limit)? {
            TestRun::Passed(passed) if passed == count as u64 => {}
            TestRun::Passed(passed) => {
                bail!("{package}: of {count} tests that the table names, {passed} are there")
            }
            TestRun::Failed(test) => bail!("{package}: `{test}` fails while nothing is left out"),
            TestRun::TimedOut => bail!("{package}: a test does not end while nothing is left out"),
        }
        say!("{package}: the tests by {rung} pass while nothing is left out: {count}");
    }
    Ok(())
}

/// Returns what the table names as what catches.
fn rung_and_test(caught: &str) -> Result<(&str, &str)> {
    let parts = caught.split_once(": ");
    parts.with_context(|| format!("`{caught}` is not a rung and a test"))
}

/// Runs the test that the table names.
fn check_one(copy: &Copy, site: &Site, verdict: &Verdict) -> Result<Verdict> {
    let Verdict::Caught(caught) = verdict else {
        bail!("{} is said to be spare", site.name);
    };
    let (rung, test) = rung_and_test(caught)?;
    if rung == PROGRAM {
        let needs_all = litmus::needs_all_guards(&program_file(test))?;
        return Ok(match needs_all {
            true => verdict.clone(),
            false => Verdict::Spare(format!("{caught} loses nothing without one of its guards")),
        });
    }
    let rung = Rung::named(rung)?;
    copy.with(site, || {
        let run = rung.tests(copy, &site.package, &[test, "--exact"], LIMIT);
        let run = run.with_context(|| site.name.clone())?;
        Ok(match run {
            TestRun::Passed(0) => bail!("there is no test `{test}`"),
            TestRun::Passed(_) => Verdict::Spare(format!("{caught} passes")),
            TestRun::Failed(_) | TestRun::TimedOut => Verdict::Caught(caught.clone()),
        })
    })
}

/// Runs tests until one fails: first the models of the module in which the place is, and
/// those of the modules around it.
fn search_one(copy: &Copy, site: &Site) -> Result<Verdict> {
    let modules = site.modules();
    let models = modules.iter().map(|module| (Rung::Loom, Some(&**module)));
    let others = [Rung::Unit, Rung::Miri, Rung::Loom].map(|rung| (rung, None));
    let runs: Vec<_> = models.chain(others).collect();
    copy.with(site, || {
        for &(rung, filter) in &runs {
            match rung.tests(copy, &site.package, filter.as_slice(), LIMIT)? {
                TestRun::Passed(_) => {}
                TestRun::Failed(test) => {
                    return Ok(Verdict::Caught(format!("{}: {test}", rung.name())));
                }
                TestRun::TimedOut => {
                    return Ok(Verdict::Caught(format!(
                        "{}: some test does not end",
                        rung.name()
                    )));
                }
            }
        }
        Ok(Verdict::Spare(table::NO_ARGUMENT.to_owned()))
    })
}

/// What a row has instead of a kind of test, where a program for the checker of memory shows what
/// a place is needed for. The program marks the statement that stands for the place.
const PROGRAM: &str = "litmus";

fn program_file(name: &str) -> PathBuf {
    root().join(format!("proofs/litmus/ours/{name}.litmus"))
}

/// A kind of test.
#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq)]
enum Rung {
    Unit,
    Loom,
    /// Reports a race on plain memory, which a model sees only in its own cells.
    Miri,
}

impl Rung {
    fn named(name: &str) -> Result<Self> {
        [Self::Unit, Self::Loom, Self::Miri]
            .into_iter()
            .find(|rung| rung.name() == name)
            .with_context(|| format!("no rung `{name}`"))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Loom => "loom",
            Self::Miri => "miri",
        }
    }

    /// Runs tests of a crate.
    fn tests(
        self,
        copy: &Copy,
        package: &str,
        filter: &[&str],
        limit: Duration,
    ) -> Result<TestRun> {
        let step = |arguments: &[&str]| {
            let arguments = [&["test", "--lib", "--package", package], arguments].concat();
            let step = match self {
                Self::Unit => Step::cargo(&arguments),
                Self::Loom => lanes::models(Step::cargo(&arguments)),
                Self::Miri => Step::cargo(&[&["+nightly", "miri"], &*arguments].concat())
                    .env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks"),
            };
            step.directory(copy.path())
                .env("CARGO_TARGET_DIR", copy.target(self.name()))
        };
        // One that cannot be built proves nothing.
        let builds = step(&["--no-run", "--quiet"]);
        ensure!(builds.succeeds(), "{package} cannot be built");
        step(&[]).args(["--"]).args(filter).first_failure(limit)
    }
}
