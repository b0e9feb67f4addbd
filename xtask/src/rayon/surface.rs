//! The public items of each drop-in and of its original, as rustdoc shows them: names,
//! signatures, bounds, trait implementations, automatic ones included.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::LazyLock,
};

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;

use super::{DropIn, suite::build_directory};
use crate::{command::Step, published, root, target};

/// By the name of rustdoc's page, what it declares.
type Surface = BTreeMap<String, BTreeSet<String>>;

/// More than the original has, each for a reason that no program can mind.
const MORE: [&str; 12] = [
    // Can also be called where a constant is needed.
    "pub const fn max_num_threads()->usize",
    // A thread that was asked for and is never started still counts as stopped.
    "impl Drop for ThreadBuilder",
    "fn drop(&mut self)",
    // It has nothing in it that only one thread may look at.
    "impl Sync for ThreadBuilder",
    "impl Freeze for ThreadBuilder",
    // Only for pools with spare threads, which the drop-ins do not build.
    "pub fn is_spare(&self)->bool",
    // For a `build_scoped` whose build fails. Only a trait of the program's own with a method of
    // this name would notice.
    "pub fn pool(&self)->PoolHandle",
    // Jobs that are known together. Only a trait of the program's own with a method of this name
    // would notice.
    "pub fn spawn_many<T0>(&self,_:T0)where T0:IntoIterator,<T0 as IntoIterator>::Item:FnOnce(&Scope<'scope>)+Send+'scope,",
    // A setting that the original does not have.
    "pub fn guests(self,_:bool)->Self",
    // Names of what changes, which is elsewhere.
    "impl Freeze for Registry",
    "impl Freeze for Scope<'_>",
    "impl Freeze for ScopeFifo<'_>",
];

/// What stands in the original instead of the above.
const INSTEAD: [&str; 6] = [
    "pub fn max_num_threads()->usize",
    "impl!Sync for ThreadBuilder",
    "impl!Freeze for ThreadBuilder",
    "impl!Freeze for Registry",
    "impl!Freeze for Scope<'_>",
    "impl!Freeze for ScopeFifo<'_>",
];

/// Compares the two; returns how many declarations there are.
pub(super) fn compare(drop_in: &DropIn) -> Result<u64> {
    let build = build_directory();
    let doc = |manifest: &Path| {
        // `cargo doc` leaves out a library whose name another one has.
        Step::cargo(&["rustdoc", "--lib", "--package", drop_in.package])
            .args(["--manifest-path".as_ref(), manifest.as_os_str()])
            .env("CARGO_TARGET_DIR", &build)
            .run()?;
        read(&build.join("doc/rayon_core"))
    };
    let scratch = target::directory("rayon/surface").join(drop_in.package);
    published::write_package(&scratch, &drop_in.dependency_on_original())?;
    let original = doc(&scratch.join("Cargo.toml"))?;
    let ours = doc(&root().join("Cargo.toml"))?;
    let count: usize = original.values().map(BTreeSet::len).sum();
    ensure!(
        count > 150,
        "rustdoc's pages are not as they were: only {count} declarations"
    );

    let differences = differences(&original, &ours);
    if !differences.is_empty() {
        bail!(
            "the public items are not those of {}:\n{}",
            drop_in.package,
            differences.join("\n")
        );
    }
    Ok(count as u64)
}

/// Reads all pages, and removes them: the other crate's have the same names.
fn read(directory: &Path) -> Result<Surface> {
    let mut surface = Surface::new();
    read_module(directory, "", &mut surface)?;
    fs::remove_dir_all(directory)?;
    Ok(surface)
}

/// Adds the pages of a module and of the modules in it. Their names begin with `path`.
fn read_module(directory: &Path, path: &str, surface: &mut Surface) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_item = name.ends_with(".html") && !["index.html", "all.html"].contains(&&*name);
        if entry.file_type()?.is_dir() {
            read_module(&entry.path(), &format!("{path}{name}/"), surface)?;
        } else if is_item {
            let page = fs::read_to_string(entry.path())?;
            surface.insert(format!("{path}{name}"), declarations(&page));
        }
    }
    Ok(())
}

fn differences(original: &Surface, ours: &Surface) -> Vec<String> {
    let nothing = BTreeSet::new();
    let pages: BTreeSet<_> = original.keys().chain(ours.keys()).collect();
    let mut differences = Vec::new();
    for page in pages {
        let original = original.get(page).unwrap_or(&nothing);
        let ours = ours.get(page).unwrap_or(&nothing);
        let missing = original
            .difference(ours)
            .filter(|line| !INSTEAD.contains(&&***line) && !is_of_unwinding(line, "!"));
        differences.extend(missing.map(|line| format!("{page}: missing: {line}")));
        let more = ours
            .difference(original)
            .filter(|line| !MORE.contains(&&***line) && !is_of_unwinding(line, ""));
        differences.extend(more.map(|line| format!("{page}: more: {line}")));
    }
    differences
}

/// Whether a line says that a type may pass through `catch_unwind`, or with `!` that it may not.
/// A program of the original does without, and loses nothing if ours may.
fn is_of_unwinding(line: &str, sign: &str) -> bool {
    static UNWINDING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^impl(?:<.*>)? ?(!?)(?:Ref)?UnwindSafe for ").expect("a valid expression")
    });
    UNWINDING
        .captures(line)
        .is_some_and(|found| &found[1] == sign)
}

/// Returns the declarations on a page, without the names of parameters.
fn declarations(page: &str) -> BTreeSet<String> {
    static DECLARATION: LazyLock<Regex> = LazyLock::new(|| {
        let item = r#"<pre class="rust item-decl">(?s:(.*?))</pre>"#;
        let member = r#"<h[34] class="code-header">(?s:(.*?))</h[34]>"#;
        Regex::new(&format!("{item}|{member}")).expect("a valid expression")
    });
    // What every type has by others' blanket implementations says nothing of it.
    let own = page
        .split("id=\"blanket-implementations\"")
        .next()
        .unwrap_or(page);
    DECLARATION
        .captures_iter(own)
        .filter_map(|found| found.get(1).or(found.get(2)))
        .map(|found| without_names(&plain(found.as_str())))
        .collect()
}

/// Returns the text of a piece of HTML, in one line.
fn plain(html: &str) -> String {
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("<[^>]*>").expect("a valid expression"));
    let text = TAG
        .replace_all(html, " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#39;", "'")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    static GAP: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\s*([^\w\s])\s*").expect("a valid expression"));
    let words: Vec<_> = text.split_whitespace().collect();
    GAP.replace_all(&words.join(" "), "$1").into_owned()
}

/// Names type parameters by their order, and leaves out what has no meaning: the names of
/// arguments, those of lifetimes where they only say of what type an implementation is.
fn without_names(declaration: &str) -> String {
    static LIFETIME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"'\w+").expect("a valid expression"));
    static PARAMETERS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"fn \w+<([^>]*)>").expect("a valid expression"));
    static ARGUMENT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"([(,])(?:mut )?[a-z_]\w*:([^:])").expect("a valid expression")
    });
    let mut text = declaration.to_owned();
    if let Some(found) = PARAMETERS.captures(declaration) {
        let names = found[1].split(',').filter(|name| !name.starts_with('\''));
        for (index, name) in names.enumerate() {
            let name = Regex::new(&format!(r"\b{name}\b")).expect("a valid expression");
            text = name.replace_all(&text, format!("T{index}")).into_owned();
        }
    }
    if text.starts_with("impl") {
        let anonymous = LIFETIME.replace_all(&text, "'_");
        text = anonymous
            .replace("impl<'_>", "impl ")
            .replace("impl !", "impl!");
    }
    let text = ARGUMENT.replace_all(&text, "${1}_:$2");
    text.replace("->Result<(),Error>", "->Result")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(original: &str, ours: &str) -> usize {
        let surface = |line: &str| Surface::from([("page".into(), [line.into()].into())]);
        differences(&surface(original), &surface(ours)).len()
    }

    #[test]
    fn a_type_may_gain_the_way_through_catch_unwind_and_not_lose_it() {
        for (may_not, may) in [
            ("impl!UnwindSafe for A", "impl UnwindSafe for A"),
            (
                "impl<T>!RefUnwindSafe for A<T>",
                "impl<T>RefUnwindSafe for A<T>where T:RefUnwindSafe,",
            ),
        ] {
            assert_eq!(found(may_not, may), 0);
            assert_eq!(found(may, may_not), 2);
        }
        assert_eq!(found("impl!Send for A", "impl Send for A"), 2);
    }
}
