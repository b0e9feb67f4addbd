//! `proofs/mutants.toml`: which test fails without each place, or why none does.

use std::{collections::BTreeMap, fmt, fs, path::Path};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::site::Site;

const FILE: &str = "proofs/mutants.toml";

const HEAD: &str = "\
# What fails without each ordering and each fence of the core crates: the kind of the test, and its
# name. Or a program below `proofs/litmus/ours`, in which a statement that is marked stands for the
# place. Or why the place is spare, if nothing fails without it. `cargo xtask mutants` leaves each
# of them out, and runs the test; `cargo xtask mutants --search` finds tests for places without a
# row.
";

/// What a search writes of a place for which it has found no test.
pub(super) const NO_ARGUMENT: &str = "TODO: no test of the crate fails, and there is no argument";

/// What happens without a place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    /// This test fails: its kind, and its name.
    Caught(String),
    /// No test fails, for this reason.
    Spare(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(by) => write!(f, "caught by {by}"),
            Self::Spare(why) => write!(f, "not caught: {why}"),
        }
    }
}

/// The rows by the names of the places.
#[derive(Debug, Clone, Default)]
pub(super) struct Table(BTreeMap<String, Verdict>);

impl Table {
    pub(super) fn read(root: &Path) -> Result<Self> {
        match fs::read_to_string(root.join(FILE)) {
            Ok(text) => Self::parse(&text).with_context(|| FILE.to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| FILE.to_owned()),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        Ok(Self(toml::from_str(text)?))
    }

    pub(super) fn row(&self, name: &str) -> Option<&Verdict> {
        self.0.get(name)
    }

    /// Returns how many rows of each crate have each kind, and how many there are.
    pub(super) fn counts(&self) -> Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for (name, verdict) in &self.0 {
            let package = name.split('/').next().context("a path")?;
            let kind = match verdict {
                Verdict::Caught(by) => by.split(':').next().context("a kind of test")?,
                Verdict::Spare(_) => "spare",
            };
            for kind in [kind, "all"] {
                *counts.entry(format!("{package}.{kind}")).or_default() += 1;
            }
        }
        Ok(counts)
    }

    pub(super) fn add(&mut self, name: String, verdict: Verdict) {
        self.0.insert(name, verdict);
    }

    pub(super) fn write(&self, root: &Path) -> Result<()> {
        let file = root.join(FILE);
        fs::write(&file, self.to_string()).with_context(|| FILE.to_owned())
    }

    /// Checks that there is a row for each place, and a place for each row.
    pub(super) fn check(&self, sites: &[Site]) -> Result<()> {
        let has_no_row = |site: &&Site| self.row(&site.name).is_none();
        let missing = sites.iter().filter(has_no_row).map(|site| &*site.name);
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            bail!(
                "{FILE} does not say what fails without\n  {}\n(`cargo xtask mutants --search` finds out)",
                missing.join("\n  ")
            );
        }
        let is_gone = |name: &&String| sites.iter().all(|site| site.name != **name);
        let gone: Vec<_> = self.0.keys().filter(is_gone).map(|name| &**name).collect();
        if !gone.is_empty() {
            bail!("{FILE} names places that are gone\n  {}", gone.join("\n  "));
        }
        let is_open = |(_, verdict): &(_, &Verdict)| match verdict {
            Verdict::Spare(why) => why.starts_with(NO_ARGUMENT),
            Verdict::Caught(_) => false,
        };
        let open = self.0.iter().filter(is_open).map(|(name, _)| &**name);
        let open: Vec<_> = open.collect();
        if !open.is_empty() {
            bail!(
                "{FILE} does not say why these are spare\n  {}",
                open.join("\n  ")
            );
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        for (name, verdict) in &self.0 {
            let (key, text) = match verdict {
                Verdict::Caught(by) => ("caught", by),
                Verdict::Spare(why) => ("spare", why),
            };
            write!(
                f,
                "\n[\"{name}\"]\n{key} = {}\n",
                toml::Value::from(text.as_str())
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_a_test_needs_an_argument() {
        let sites = Site::all_of(
            "core",
            "a.rs",
            "fn set() {\n    fence(Ordering::SeqCst);\n}\n",
        );
        let check = |why: &str| {
            let mut table = Table::default();
            table.add(sites[0].name.clone(), Verdict::Spare(why.to_owned()));
            table.check(&sites)
        };
        assert!(check("a fence follows it").is_ok());
        assert!(check(NO_ARGUMENT).is_err());
    }

    #[test]
    fn counts_the_rows_of_each_crate() {
        let mut table = Table::default();
        table.add(
            "a/b.rs, c".to_owned(),
            Verdict::Caught("loom: d".to_owned()),
        );
        table.add("a/b.rs, e".to_owned(), Verdict::Spare("f".to_owned()));
        table.add(
            "g/h.rs, i".to_owned(),
            Verdict::Caught("miri: j".to_owned()),
        );
        let counts = table.counts().unwrap();
        let expected = [
            ("a.all", 2),
            ("a.loom", 1),
            ("a.spare", 1),
            ("g.all", 1),
            ("g.miri", 1),
        ];
        assert_eq!(
            counts,
            expected
                .map(|(name, count)| (name.to_owned(), count))
                .into()
        );
    }

    #[test]
    fn reads_what_it_writes() {
        let mut table = Table::default();
        let caught = Verdict::Caught("loom: a::b".to_owned());
        table.add("a.rs, set, no fence".to_owned(), caught.clone());
        let spare = Verdict::Spare("it is \"said\" elsewhere".to_owned());
        table.add("a.rs, get, Acquire to Relaxed (2)".to_owned(), spare);
        let again = Table::parse(&table.to_string()).unwrap();
        assert_eq!(again.0, table.0);
        assert_eq!(again.row("a.rs, set, no fence"), Some(&caught));
    }
}
