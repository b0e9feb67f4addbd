//! The pages of the book, and what they link to.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::links::Link;

/// The first page. The book has it at its root, where it is also the page `index.html`.
pub(super) const INTRODUCTION: &str = "docs/src/introduction.md";

/// All files of the book, by their paths in the repository.
#[derive(Default)]
pub(super) struct Pages {
    pages: BTreeMap<PathBuf, Page>,
    sources: BTreeMap<PathBuf, String>,
    /// Pictures, which stay as they are.
    pictures: BTreeMap<PathBuf, Vec<u8>>,
    /// Directories that pages link to. Each gets a page that names its files.
    directories: BTreeSet<PathBuf>,
}

pub(super) struct Page {
    pub(super) title: String,
    text: String,
}

impl Pages {
    /// Reads the pages of `docs/src`, and all that can be reached from there by links.
    pub(super) fn collect(root: &Path) -> Result<Self> {
        let mut pages = Self::default();
        let mut left = vec![PathBuf::from("docs/src/SUMMARY.md")];
        while let Some(path) = left.pop() {
            let file = root.join(&path);
            let error = || path.display().to_string();
            if file.is_dir() {
                let files = fs::read_dir(&file)?.map(|entry| Ok(path.join(entry?.file_name())));
                let files: Vec<_> = files.collect::<Result<_>>()?;
                left.extend(files.iter().filter(|it| !pages.has(it)).cloned());
                pages.directories.insert(path);
                continue;
            }
            match kind_of(&path) {
                Kind::Page => {
                    let text = fs::read_to_string(&file).with_context(error)?;
                    let links = Link::all_in(&text).into_iter();
                    let targets = links.map(|link| link.target(&path));
                    left.extend(targets.filter(|it| !pages.has(it) && *it != path));
                    let title = title_of(&text).unwrap_or_else(error);
                    pages.pages.insert(path, Page { title, text });
                }
                Kind::Picture => {
                    let bytes = fs::read(&file).with_context(error)?;
                    pages.pictures.insert(path, bytes);
                }
                Kind::Source => {
                    let text = fs::read_to_string(&file).with_context(error)?;
                    pages.sources.insert(path, text);
                }
            }
        }
        // The table of contents is written anew.
        pages.pages.remove(Path::new("docs/src/SUMMARY.md"));
        Ok(pages)
    }

    fn has(&self, path: &Path) -> bool {
        self.pages.contains_key(path)
            || self.sources.contains_key(path)
            || self.pictures.contains_key(path)
            || self.directories.contains(path)
    }

    /// Returns the pages that are not in `docs/src`.
    pub(super) fn other_pages(&self) -> impl Iterator<Item = (&Path, &Page)> {
        let pages = self.pages.iter();
        pages
            .filter(|(path, _)| !path.starts_with("docs/src"))
            .map(|(path, page)| (&**path, page))
    }

    /// Returns the files that have pages and are none.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Path> {
        self.sources
            .keys()
            .chain(&self.directories)
            .map(PathBuf::as_path)
    }

    /// Writes all files to a directory.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        for (path, page) in &self.pages {
            let text = Link::rewrite(&page.text, |link| self.rewritten(path, link));
            write(&directory.join(self.place_of(path)), text)?;
        }
        for (path, text) in &self.sources {
            write(&directory.join(self.place_of(path)), page_of(path, text)?)?;
        }
        for (path, bytes) in &self.pictures {
            write(&directory.join(path), bytes)?;
        }
        for path in &self.directories {
            write(&directory.join(self.place_of(path)), self.list_of(path))?;
        }
        Ok(())
    }

    /// Returns where the book has a file: sources and directories have pages beside them.
    fn place_of(&self, path: &Path) -> PathBuf {
        let is_no_page = self.sources.contains_key(path) || self.directories.contains(path);
        match path.file_name() {
            Some(name) if path == Path::new(INTRODUCTION) => name.into(),
            _ if is_no_page => with_page(path),
            _ => path.to_owned(),
        }
    }

    /// Returns what a link on a page becomes in the book.
    fn rewritten(&self, page: &Path, link: &Link) -> Option<String> {
        if link.path.is_empty() {
            return None;
        }
        let depth = self.place_of(page).components().count() - 1;
        let target = link.target(page);
        let place = "../".repeat(depth) + &self.place_of(&target).to_string_lossy();
        match &link.anchor {
            // The others are numbers of lines.
            Some(anchor) if self.pages.contains_key(&target) => Some(format!("{place}#{anchor}")),
            _ => Some(place),
        }
    }

    /// Returns the page of a directory.
    fn list_of(&self, directory: &Path) -> String {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let files = self.pages.keys().chain(self.sources.keys());
        let files = files.filter(|path| path.parent() == Some(directory));
        let entries = files.map(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let page = if self.sources.contains_key(path) {
                format!("{file}.md")
            } else {
                file.to_string()
            };
            format!("- [{file}]({name}/{page})\n")
        });
        let entries: String = entries.collect();
        format!("# `{}`\n\n{entries}", directory.display())
    }
}

enum Kind {
    Page,
    Picture,
    Source,
}

fn kind_of(path: &Path) -> Kind {
    match path.extension().and_then(|it| it.to_str()) {
        Some("md") => Kind::Page,
        Some("svg" | "png") => Kind::Picture,
        _ => Kind::Source,
    }
}

/// Returns the first heading of a page.
fn title_of(text: &str) -> Option<String> {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "))?;
    Some(heading.replace(['[', ']'], ""))
}

/// Returns the path of the page of a file that is none.
fn with_page(path: &Path) -> PathBuf {
    // Of a directory, without a slash at its end.
    let mut path: PathBuf = path.components().collect();
    path.as_mut_os_string().push(".md");
    path
}

/// Returns the page that shows a source.
fn page_of(path: &Path, text: &str) -> Result<String> {
    const FENCE: &str = "~~~~~~";
    if text.contains(FENCE) {
        bail!("{} has what ends a block of code", path.display());
    }
    let language = match path.extension().and_then(|it| it.to_str()) {
        Some("rs") => "rust",
        Some(other) => other,
        None => "text",
    };
    // Else a command of the program that makes the book would be one in a source, too.
    let text = text.replace("{{#", r"\{{#");
    Ok(format!(
        "# `{}`\n\n{FENCE}{language}\n{text}\n{FENCE}\n",
        path.display()
    ))
}

fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
    fs::write(path, contents).with_context(|| path.display().to_string())
}
