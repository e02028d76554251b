//! Owns the map of paths: which prefix a request is under, what is left of its path, how a page finds its root.

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
    /// Where it is.
    pub(super) place: Place,
    /// What it begins with: empty, or `/` and segments.
    pub(super) prefix: String,
    /// What follows, beginning with `/`, without trailing slashes.
    pub(super) rest: String,
    /// How many trailing slashes were ignored.
    pub(super) slashes: usize,
}

impl Area {
    /// Where a path is by the configured prefixes.
    pub(super) fn of(config: &Config, path: &str) -> Self {
        let exports = [settings::adapters_prefix(config), settings::usage_prefix(config)];
        Self::among(settings::studio_prefix(config), exports, path)
    }

    /// The longest prefix that fits wins, the studio's own among equals.
    fn among(studio: String, [adapters, usage]: [String; 2], path: &str) -> Self {
        let candidates = [(Place::Studio, studio), (Place::Export, adapters), (Place::Export, usage)];
        let fitting = candidates.into_iter().filter(|(_, prefix)| below(path, prefix).is_some()).rev();
        let (place, prefix) = fitting.max_by_key(|(_, prefix)| prefix.len()).unwrap_or((Place::Elsewhere, String::new()));
        let rest = below(path, &prefix).unwrap_or(path);
        let bare = rest.trim_end_matches('/');
        // The root of a host has no form without a slash.
        let unavoidable = usize::from(bare.is_empty() && prefix.is_empty());
        let slashes = (rest.len() - bare.len()).saturating_sub(unavoidable);
        Self { place, rest: if bare.is_empty() { "/".into() } else { bare.into() }, prefix, slashes }
    }

    /// How many segments a page's path has below the studio's root, empty ones too.
    pub(super) fn depth(&self) -> usize {
        let below = if self.rest == "/" { 0 } else { self.rest.matches('/').count() };
        below + self.slashes
    }

    /// From a page to the studio's root, relative to the page's depth; a base URL helps where there is nothing else.
    pub(super) fn root(&self, base_url: Option<&str>) -> String {
        match (self.depth(), segments(&self.prefix).last(), base_url.map(path_of)) {
            (0, Some(last), _) => format!("./{last}/"),
            (0, None, Some(path)) if !path.is_empty() => format!("{path}/"),
            (0 | 1, ..) => "./".into(),
            (depth, ..) => "../".repeat(depth - 1),
        }
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

    fn area(prefix: &str, path: &str) -> Area {
        Area::among(prefix.to_owned(), ["/api/studio".to_owned(), "/api/studio".to_owned()], path)
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
