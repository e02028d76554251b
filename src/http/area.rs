//! Owns the URL layout: the prefix of a request, the rest of its path, the root for pages.

use super::settings;
use crate::config::Config;

/// Which part of the host's paths a request is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Pages and the management API: behind the gate.
    Studio,
    /// Usage export and stream adapters: behind the host's own middleware.
    Export,
    /// Not ours.
    Elsewhere,
}

/// A request's path, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub(super) place: Place,
    /// The path under which the host mounts the studio, according to the request: empty, or `/` and segments.
    pub(super) outer: String,
    /// What it begins with: empty, or `/` and segments.
    pub(super) prefix: String,
    /// What follows, beginning with `/`, without trailing slashes.
    pub(super) rest: String,
    /// How many trailing slashes were ignored.
    pub(super) slashes: usize,
}

impl Area {
    /// Where a path is by the configured prefixes. `root_path` is the host's word of what the path begins with; that of the base
    /// URL is looked for too, since not every host takes it off.
    pub(super) fn of(config: &Config, path: &str, root_path: Option<&str>, base_url: Option<&str>) -> Self {
        let prefixes = Prefixes { studio: settings::studio_prefix(config), exports: [settings::adapters_prefix(config), settings::usage_prefix(config)] };
        prefixes.area(path, root_path, base_url)
    }

    /// How many segments a page's path has below the studio's root, empty ones too.
    pub(super) fn depth(&self) -> usize {
        let below = if self.rest == "/" { 0 } else { self.rest.matches('/').count() };
        below + self.slashes
    }

    /// From a page to the studio's root, relative to the page's depth; a base URL helps where there is nothing else.
    pub(super) fn root(&self, base_url: Option<&str>) -> String {
        let outer = base_url.map_or(self.outer.as_str(), path_of);
        match (self.depth(), segments(&self.prefix).last()) {
            (0, Some(last)) => format!("./{last}/"),
            (0, None) if !outer.is_empty() => format!("{outer}/"),
            (0 | 1, ..) => "./".into(),
            (depth, ..) => "../".repeat(depth - 1),
        }
    }
}

/// What the studio's paths begin with by the configuration: each empty, or `/` and segments.
struct Prefixes {
    studio: String,
    exports: [String; 2],
}

impl Prefixes {
    fn all(&self) -> impl Iterator<Item = (Place, &str)> {
        let exports = self.exports.iter().map(|prefix| (Place::Export, prefix.as_str()));
        std::iter::once((Place::Studio, self.studio.as_str())).chain(exports)
    }

    /// The longest prefix that a path begins with, the studio's own among equals.
    fn of(&self, path: &str) -> Option<(Place, &str)> {
        let fitting: Vec<_> = self.all().filter(|(_, prefix)| below(path, prefix).is_some()).collect();
        fitting.into_iter().rev().max_by_key(|(_, prefix)| prefix.len())
    }

    fn area(&self, path: &str, root_path: Option<&str>, base_url: Option<&str>) -> Area {
        let outer = self.outer(path, root_path, base_url);
        let inner = path.strip_prefix(outer).unwrap_or(path);
        let (place, prefix) = self.of(inner).unwrap_or((Place::Elsewhere, ""));
        let rest = below(inner, prefix).unwrap_or(inner);
        let bare = rest.trim_end_matches('/');
        // The root of a host has no form without a slash.
        let unavoidable = usize::from(bare.is_empty() && prefix.is_empty());
        let slashes = (rest.len() - bare.len()).saturating_sub(unavoidable);
        Area { place, outer: outer.to_owned(), rest: if bare.is_empty() { "/".into() } else { bare.into() }, prefix: prefix.to_owned(), slashes }
    }

    /// What stands before the prefix in a path.
    fn outer<'p>(&self, path: &'p str, root_path: Option<&str>, base_url: Option<&str>) -> &'p str {
        let begins = |with: &str| Some(path.split_at_checked(with.len())?.0).filter(|_| below(path, with).is_some());
        if let Some(root) = root_path.map(|root| root.trim_end_matches('/')).and_then(begins) {
            // A router that mounts the studio at its prefix counts the prefix in; a server behind a proxy does not.
            let at_prefix = self.all().filter_map(|(_, prefix)| root.strip_suffix(prefix)).min_by_key(|before| before.len());
            match at_prefix {
                Some(before) => return before,
                None if self.of(path.strip_prefix(root).unwrap_or(path)).is_some() => return root,
                None => {}
            }
        }
        let base = base_url.map(path_of).and_then(begins).filter(|base| self.of(path.strip_prefix(base).unwrap_or(path)).is_some());
        if self.of(path).is_some() { "" } else { base.unwrap_or_default() }
    }
}

fn segments(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// What is left of a path below a prefix.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path of a URL, without trailing slashes.
pub(super) fn path_of(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let path = after.find('/').map_or("", |at| &after[at..]);
    path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(studio: &str) -> Prefixes {
        Prefixes { studio: studio.to_owned(), exports: ["/api/studio".to_owned(), "/api/studio".to_owned()] }
    }

    fn area(prefix: &str, path: &str) -> Area {
        prefixes(prefix).area(path, None, None)
    }

    #[test]
    fn the_longest_prefix_wins_and_only_on_a_segment_boundary() {
        for (prefix, path, place, rest) in [
            ("/studio", "/studio", Place::Studio, "/"),
            ("/studio", "/studio/api/runs/", Place::Studio, "/api/runs"),
            ("/studio", "/studios", Place::Elsewhere, "/studios"),
            ("/studio", "/api/studio/usage", Place::Export, "/usage"),
            ("", "/api/runs", Place::Studio, "/api/runs"),
            ("", "/api/studio/usage", Place::Export, "/usage"),
            ("/a/b", "/a/b/traces", Place::Studio, "/traces"),
            ("/api/studio", "/api/studio/api/runs", Place::Studio, "/api/runs"),
        ] {
            let area = area(prefix, path);
            assert_eq!((area.place, area.rest.as_str()), (place, rest), "{prefix} {path}");
        }
    }

    #[test]
    fn what_the_host_has_before_the_prefix_is_taken_off() {
        for (prefix, path, root_path, base, outer, rest) in [
            // Routers that mount the studio at its prefix.
            ("/studio", "/studio/api/runs", "/studio", "", "", "/api/runs"),
            ("/studio", "/ai/studio/api/runs", "/ai/studio", "", "/ai", "/api/runs"),
            ("/studio", "/ai/studio", "/ai/studio/", "", "/ai", "/"),
            ("/studio", "/studio/studio/api/runs", "/studio/studio", "", "/studio", "/api/runs"),
            ("/studio", "/ai/api/studio/usage", "/ai/api/studio", "", "/ai", "/usage"),
            ("", "/tools/api/runs", "/tools", "", "/tools", "/api/runs"),
            // Servers behind a proxy that takes a path off.
            ("/studio", "/app/studio/api/runs", "/app", "", "/app", "/api/runs"),
            ("/studio", "/studio/api/runs", "/app", "", "", "/api/runs"),
            ("/studio", "/mystudio/studio/api/runs", "/mystudio", "", "/mystudio", "/api/runs"),
            ("/studio", "/app/other", "/app", "", "", "/app/other"),
            // The base URL's path, left on or taken off.
            ("/studio", "/ai/studio/traces", "", "https://shop.example/ai", "/ai", "/traces"),
            ("/studio", "/studio/traces", "", "https://shop.example/ai", "", "/traces"),
            ("/studio", "/studio/studio", "", "https://shop.example/studio", "", "/studio"),
            ("/studio", "/aistudio", "", "https://shop.example/ai", "", "/aistudio"),
        ] {
            let known = |text: &'static str| Some(text).filter(|text| !text.is_empty());
            let area = prefixes(prefix).area(path, known(root_path), known(base));
            assert_eq!((area.outer.as_str(), area.rest.as_str()), (outer, rest), "{prefix} {path} {root_path} {base}");
        }
    }

    #[test]
    fn a_page_finds_its_root_whatever_its_depth() {
        for (prefix, path, base, root) in [
            ("/studio", "/studio", None, "./studio/"),
            ("/studio", "/studio/", None, "./"),
            ("/studio", "/studio//", None, "../"),
            ("/studio", "/studio/workflows/", None, "../"),
            ("/studio", "/studio/workflows", None, "./"),
            ("/studio", "/studio/workflows/7/edit", None, "../../"),
            ("/studio", "/studio/workflows//7", None, "../../"),
            ("/a/b/c/d", "/a/b/c/d", None, "./d/"),
            ("", "/", None, "./"),
            ("", "/", Some("https://shop.example/ai/"), "/ai/"),
            ("", "/traces/7", Some("https://shop.example/ai"), "../"),
        ] {
            assert_eq!(area(prefix, path).root(base), root, "{prefix} {path}");
        }
    }
}
