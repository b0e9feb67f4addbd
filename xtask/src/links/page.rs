//! The links and anchors of one Markdown page.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
    path::{Path, PathBuf},
};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::normalized;

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_FOOTNOTES);

/// What the checks need of a page.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The links that lead to files of this repository or to headings.
    pub(super) links: Vec<Link>,
    /// The names that a link may have behind `#`.
    pub(super) anchors: HashSet<String>,
    /// The anchors whose heading has the same text as another one.
    pub(super) ambiguous: HashSet<String>,
}

/// A link that can be followed without the network.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Relative to the page; empty for the page itself.
    pub(crate) path: String,
    pub(crate) anchor: Option<String>,
}

impl Link {
    /// Splits a target into path and anchor; returns None for a URL and for a path of Rust, which
    /// rustdoc checks.
    pub(super) fn parse(target: &str) -> Option<Self> {
        let (path, anchor) = match target.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor.to_owned())),
            None => (target, None),
        };
        let is_file = !path.contains(':') && (path.contains('.') || path.contains('/'));
        (is_file || (path.is_empty() && anchor.is_some())).then(|| Self {
            path: path.to_owned(),
            anchor,
        })
    }

    /// Returns all links of a page.
    pub(crate) fn all_in(text: &str) -> Vec<Self> {
        let targets = Target::all_in(text).into_iter();
        targets.filter_map(|it| Self::parse(&it.text)).collect()
    }

    /// Returns the file to which the link leads from a page.
    pub(crate) fn target(&self, page: &Path) -> PathBuf {
        if self.path.is_empty() {
            return page.to_owned();
        }
        let directory = page.parent().expect("a file is in a directory");
        normalized(&directory.join(&self.path))
    }

    /// Returns a page with other targets for those links for which there is one.
    pub(crate) fn rewrite(text: &str, target_of: impl Fn(&Self) -> Option<String>) -> String {
        let mut rewritten = text.to_owned();
        let mut targets = Target::all_in(text);
        targets.sort_by_key(|target| target.range.start);
        for target in targets.iter().rev() {
            if let Some(new) = Self::parse(&target.text).and_then(|link| target_of(&link)) {
                rewritten.replace_range(target.range.clone(), &new);
            }
        }
        rewritten
    }
}

/// Where a link leads, and where the page says so.
struct Target {
    text: String,
    range: Range<usize>,
}

impl Target {
    fn all_in(text: &str) -> Vec<Self> {
        let parser = Parser::new_ext(text, OPTIONS);
        // Also those that no text refers to.
        let definitions = parser.reference_definitions().iter();
        let mut found: Vec<_> = definitions
            .filter_map(|(_, it)| Self::within(text, it.span.clone(), &it.dest))
            .collect();
        for (event, range) in parser.into_offset_iter() {
            if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
                // One that refers to a definition does not contain the target.
                found.extend(Self::within(text, range, &dest_url));
            }
        }
        found
    }

    /// Finds a target in a link, at whose end it is.
    fn within(text: &str, link: Range<usize>, target: &str) -> Option<Self> {
        let begin = link.start + text[link].rfind(target)?;
        Some(Self {
            text: target.to_owned(),
            range: begin..begin + target.len(),
        })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match &self.anchor {
            Some(anchor) => write!(f, "#{anchor}"),
            None => Ok(()),
        }
    }
}

impl Page {
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut slugs = Slugs::default();
        let mut heading = None;
        page.links = Link::all_in(text);
        for event in Parser::new_ext(text, OPTIONS) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors
                        .extend(heading.take().map(|text| slugs.of(&text)));
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    page.anchors.extend(html_anchors(&html));
                }
                _ => {}
            }
        }
        let repeated = slugs.uses.into_iter().filter(|(_, uses)| *uses > 1);
        page.ambiguous = repeated.map(|(slug, _)| slug).collect();
        page
    }
}

/// The anchors of headings, as repository hosts and mdBook make them.
#[derive(Default)]
struct Slugs {
    uses: HashMap<String, u32>,
}

impl Slugs {
    /// Returns the anchor of the next heading: lower case, hyphens for spaces, no punctuation; and
    /// a number if an earlier heading has the same text.
    fn of(&mut self, heading: &str) -> String {
        let slug: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        let uses = self.uses.entry(slug.clone()).or_default();
        *uses += 1;
        match *uses {
            1 => slug,
            uses => format!("{slug}-{}", uses - 1),
        }
    }
}

/// Returns the names that HTML within a page gives to places on it.
pub(super) fn html_anchors(html: &str) -> Vec<String> {
    let attribute = Regex::new(r#"\b(?:id|name)\s*=\s*["']([^"']+)["']"#).expect("valid");
    attribute
        .captures_iter(html)
        .map(|captures| captures[1].to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_to_files_and_headings() {
        let page = Page::parse(
            "[a](b.md) [c](https://d.e) [f](#g) [h](i/j.rs#k) [l](crate::M) [n](o)\n\
             ![p](q.svg) `[no](link.md)` [r] [s](<t u.md> \"title\")\n\n\
             ```\n[no](code.md)\n```\n\n- [ ] v: w.x\n\n[r]: y.rs\n[unused]: z.rs\n[std]: std::io\n",
        );
        let mut links: Vec<_> = page.links.iter().map(ToString::to_string).collect();
        links.sort_unstable();
        assert_eq!(
            links,
            ["#g", "b.md", "i/j.rs#k", "q.svg", "t u.md", "y.rs", "z.rs"]
        );
    }

    #[test]
    fn rewrites_links_and_nothing_else() {
        let text =
            "[a.rs](a.rs) [![p](p.svg)](b.rs#L1) `[a](a.rs)` [c] [d](https://e.rs)\n\n[c]: c.rs\n";
        let rewritten = Link::rewrite(text, |link| {
            link.path
                .ends_with(".rs")
                .then(|| format!("{}.md", link.path))
        });
        let expected = "[a.rs](a.rs.md) [![p](p.svg)](b.rs.md) `[a](a.rs)` [c] [d](https://e.rs)\n\n[c]: c.rs.md\n";
        assert_eq!(rewritten, expected);
    }

    #[test]
    fn finds_anchors() {
        let page = Page::parse(
            "# A `join`, and *more*\n\n## Cost\n\nSetext\n======\n\n## Cost\n\n\
             <a id=\"here\"></a>\n\n    # code\n",
        );
        let mut anchors: Vec<_> = page.anchors.iter().map(String::as_str).collect();
        anchors.sort_unstable();
        assert_eq!(
            anchors,
            ["a-join-and-more", "cost", "cost-1", "here", "setext"]
        );
        assert_eq!(page.ambiguous, HashSet::from(["cost".to_owned()]));
    }
}
