//! Whether what rustdoc shows has examples.

use std::{fs, path::Path, sync::LazyLock};

use anyhow::{Context as _, Result, bail};
use regex::Regex;

use super::find_files;
use crate::speaker::say;

/// A library, and which of its items must have an example.
struct Library {
    name: &'static str,
    /// All functions and methods, and not only types, traits and macros.
    functions: bool,
    /// What other crates document.
    without: &'static [&'static str],
}

const LIBRARIES: [Library; 7] = [
    Library::of_functions("pool_std"),
    Library::of_functions("deque_core"),
    Library::of_types("sleep_core", LOCK_API),
    Library::of_types("progress_core", &[]),
    Library::of_types("pool_core", LOCK_API),
    Library::of_types("pool_spin", LOCK_API),
    Library::of_types("pool_io", &[]),
];

/// What `lock_api` documents.
const LOCK_API: &[&str] = &["GuardNoSend", "GuardSend", "RawMutex"];

impl Library {
    const fn of_functions(name: &'static str) -> Self {
        Self {
            name,
            functions: true,
            without: &[],
        }
    }

    const fn of_types(name: &'static str, without: &'static [&'static str]) -> Self {
        Self {
            name,
            functions: false,
            without,
        }
    }
}

/// Checks the pages of public items in a directory. Returns how many items have an example.
pub(crate) fn check(directory: &Path) -> Result<u64> {
    let (mut count, mut missing) = (0, Vec::new());
    for library in &LIBRARIES {
        for page in find_files(&directory.join(library.name), ".html")? {
            let Some(item) = Item::of(&page) else {
                continue;
            };
            let html = fs::read_to_string(&page).with_context(|| item.name.clone())?;
            for (name, has_example) in item.shown(&html, library) {
                if has_example {
                    count += 1;
                } else if !library.without.contains(&&*name) {
                    missing.push(format!("{}: {name}", library.name));
                }
            }
        }
    }
    if !missing.is_empty() {
        bail!("public items without an example:\n{}", missing.join("\n"));
    }
    say!("{count} public items have examples");
    Ok(count)
}

/// What a page is about.
struct Item {
    kind: String,
    name: String,
}

impl Item {
    fn of(page: &Path) -> Option<Self> {
        let file = page.file_name()?.to_str()?.strip_suffix(".html")?;
        let (kind, name) = file.split_once('.')?;
        Some(Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Returns which of the items of a page that must have examples have one.
    fn shown(&self, html: &str, library: &Library) -> Vec<(String, bool)> {
        // Without a link to its source, it is from a library whose pages come later.
        let is_from_elsewhere = SOURCE
            .captures(html)
            .is_none_or(|it| it[1] != *library.name);
        if is_from_elsewhere || html.contains(r#"http-equiv="refresh""#) {
            return Vec::new();
        }
        let has_methods = matches!(&*self.kind, "struct" | "enum" | "union");
        let is_shown = match &*self.kind {
            "fn" | "macro" => library.functions,
            "trait" => true,
            _ => has_methods,
        };
        if !is_shown {
            return Vec::new();
        }
        let top = PARTS.split(html).next().unwrap_or_default();
        let mut shown = vec![(self.name.clone(), has_example(top))];
        if has_methods && library.functions {
            shown.extend(self.methods(html));
        }
        shown
    }

    /// Returns the methods of a type. One that an example of another method, or of the type, calls
    /// has an example.
    fn methods(&self, html: &str) -> Vec<(String, bool)> {
        let own = html.split(r#"id="trait-implementations""#).next();
        let own = own.unwrap_or_default();
        let Some((_, methods)) = own.split_once(r#"id="implementations""#) else {
            return Vec::new();
        };
        let examples: String = EXAMPLE
            .captures_iter(own)
            .map(|it| TAG.replace_all(&it[1], "").into_owned())
            .collect();
        let sections = methods.split(r#"<section id="method."#).skip(1);
        sections
            .filter_map(|section| {
                let (method, _) = section.split_once('"')?;
                let call = Regex::new(&format!(r"(\.|::){}\b", regex::escape(method)));
                let is_called = call.expect("valid").is_match(&examples);
                let name = format!("{}::{method}", self.name);
                Some((name, is_called || has_example(section)))
            })
            .collect()
    }
}

/// The library in whose source an item is.
static SOURCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"class="src[^"]*" href="[./]*src/(\w+)/"#).expect("valid"));
/// What follows the description of an item.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    let parts = "implementations|required-|provided-|fields|variants|implementors|trait-impl|dyn-comp|foreign-impl";
    Regex::new(&format!(r#"<h2 id="(?:{parts})"#)).expect("valid")
});
static EXAMPLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?s)<pre class="rust rust-example-rendered"><code>(.*?)</code></pre>"#)
        .expect("valid")
});
static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new("<[^>]+>").expect("valid"));

/// Whether a description has an example, or says where one is.
fn has_example(html: &str) -> bool {
    html.contains("rust-example-rendered") || html.contains(r#"id="examples"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<a class="src" href="../src/pool_std/a.rs.html">Source</a> What it is.
        <h2 id="implementations">
        <section id="method.new"></section><p>Creates one.</p>
        <section id="method.get"></section><h5 id="examples-1">Examples</h5>
        <pre class="rust rust-example-rendered"><code><span>Thing</span>::<span>new</span>()
        .get()</code></pre>
        <section id="method.set"></section><p>Sets it.</p>
        <h2 id="trait-implementations"><section id="method.fmt"></section>"#;

    #[test]
    fn finds_items_without_examples() {
        let item = Item::of(Path::new("a/struct.Thing.html")).unwrap();
        let shown = item.shown(PAGE, &LIBRARIES[0]);
        let expected = [
            ("Thing", false),
            ("Thing::new", true),
            ("Thing::get", true),
            ("Thing::set", false),
        ];
        assert_eq!(shown, expected.map(|(name, has)| (name.to_owned(), has)));
        // Types only, and not those that another library documents.
        assert!(item.shown(PAGE, &LIBRARIES[2]).is_empty());
        assert!(Item::of(Path::new("a/index.html")).is_none());
    }
}
