//! `cargo xtask book`: the book as HTML, with all pages and files that its pages link to.
//!
//! Pages link to each other, to READMEs and to sources by the paths of the repository, so that they
//! can be read there. The book has the same paths, with a page for each file, and so no link leaves
//! it.
//!
//! | file | what it does |
//! | --- | --- |
//! | `book/pages.rs` | finds what the pages link to, and turns sources into pages |
//! | `book/contents.rs` | writes the table of contents |

mod contents;
mod pages;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    links::{find_files, html},
    root,
    speaker::say,
    target,
    tools::Tool,
};
use pages::Pages;

/// Makes HTML of the pages.
const MDBOOK: Tool = Tool {
    package: "mdbook",
    program: "mdbook",
    version: "0.5.4",
    features: "",
};

#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// Builds the book, and prints where it is.
pub(crate) fn run(_arguments: &Arguments) -> Result<ExitCode> {
    let book = build(&root())?;
    println!("{}", book.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Builds the book and checks each link in it, anchors included. Returns the number of pages.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let book = build(root)?;
    // What the program itself links to: no page of ours.
    let is_ours = |page: &PathBuf| !page.ends_with("404.html") && !page.ends_with("toc.html");
    let pages: Vec<_> = find_files(&book, ".html")?
        .into_iter()
        .filter(is_ours)
        .collect();
    let links = html::check(&pages, html::Anchors::Follow)?;
    say!("checked {links} links in {} pages of the book", pages.len());
    Ok(pages.len() as u64)
}

/// Builds the book, and returns the directory where it is.
fn build(root: &Path) -> Result<PathBuf> {
    let directory = target::directory("pages");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let sources = directory.join("src");
    let pages = Pages::collect(root)?;
    pages.write(&sources)?;
    fs::write(sources.join("SUMMARY.md"), contents::of(root, &pages)?)?;
    let settings = root.join("docs/book.toml");
    fs::copy(settings, directory.join("book.toml")).context("docs/book.toml")?;
    let directory_argument = directory.to_str().context("a path that is text")?;
    let output = MDBOOK.step(&["build", directory_argument])?.read_errors()?;
    ensure!(
        !output.contains("WARN") && !output.contains("ERROR"),
        "mdbook is not content:\n{output}"
    );
    Ok(directory.join("html"))
}
