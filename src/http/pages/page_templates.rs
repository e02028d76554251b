//! Owns the page templates that a project may replace.

use std::path::Path;

use super::application::START;
use super::assets;
use super::problem_page::PROBLEM as BUILT_IN_PROBLEM;
use crate::config::Config;

/// The page of the application, and the error page.
pub(super) const INDEX: &str = "index.html";
pub(super) const PROBLEM: &str = "problem.html";
/// Where the links to the application's files go. Their names change with each version, so that no template holds them.
pub(super) const HEAD: &str = "{{head}}";
/// A template is no larger.
const LARGEST: u64 = 256 << 10;

/// The project's own template, if there is one that can be used.
pub(super) fn read(config: &Config, name: &str) -> Option<String> {
    let path = Path::new(config.views_path.as_deref()?).join(name);
    let size = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?.len();
    let text = (size <= LARGEST).then(|| std::fs::read_to_string(&path).ok()).flatten()?;
    // A page without them would be an empty one.
    let is_whole = name != INDEX || (text.contains(HEAD) && text.contains("studio-root"));
    is_whole.then_some(text)
}

/// The project's own page for errors.
pub(in crate::http) fn problem_template(config: &Config) -> Option<String> {
    read(config, PROBLEM)
}

/// The links to the application's files.
pub(super) fn head() -> String {
    let index = assets::text(INDEX).unwrap_or(START);
    let links: Vec<&str> = index.lines().filter(|line| line.contains("\"./assets/")).collect();
    links.join("\n").trim_start().to_owned()
}

/// The templates as they are built in, for a project to change.
pub fn templates() -> Vec<(&'static str, String)> {
    let index = assets::text(INDEX).unwrap_or(START);
    let mut kept: Vec<&str> = Vec::new();
    for line in index.lines() {
        let is_link = line.contains("\"./assets/");
        match (is_link, kept.contains(&"    {{head}}")) {
            (true, true) => {}
            (true, false) => kept.push("    {{head}}"),
            (false, _) => kept.push(line),
        }
    }
    vec![(INDEX, kept.join("\n") + "\n"), (PROBLEM, BUILT_IN_PROBLEM.to_owned())]
}
