//! The tree keeps its rules: layers point down only, files have one duty and say it, SQL and `unsafe` stay where they belong.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Who may know whom; arrows point down only. Time, locks, configuration and errors are everybody's.
const LAYERS: [(&str, &[&str]); 14] = [
    ("model", &[]),
    ("classes", &["serde_json", "json"]),
    ("codegen", &["model"]),
    ("config", &["model"]),
    ("store", &["model"]),
    ("providers", &["model", "host", "secrets"]),
    ("tools", &["model", "host", "providers", "secrets"]),
    ("observe", &["model", "providers", "secrets"]),
    ("knowledge", &["model", "store", "providers", "tools"]),
    ("engine", &["model", "store", "providers", "tools", "host", "secrets", "knowledge", "observe"]),
    ("studio", &["model", "store", "providers", "tools", "host", "secrets", "knowledge", "observe", "engine", "codegen", "classes"]),
    ("http", &["model", "store", "host", "engine", "studio"]),
    ("command", &["model", "store", "host", "observe", "engine", "codegen", "studio", "http"]),
    ("ffi", &["model", "store", "host", "engine", "studio", "http", "command"]),
];
const SHARED: [&str; 6] = ["error", "Error", "clock", "config", "json", "sync"];

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(ROOT).join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs")
}

/// The code of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a file");
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn shown(path: &Path) -> String {
    path.strip_prefix(ROOT).unwrap_or(path).display().to_string()
}

#[test]
fn layers_point_down_only() {
    let mut wrong = Vec::new();
    for (layer, below) in LAYERS {
        for path in sources("src") {
            let name = shown(&path);
            let inside = name.starts_with(&format!("src/{layer}/")) || name == format!("src/{layer}.rs");
            if !inside || is_test(&path) {
                continue;
            }
            for used in code(&path).split("crate::").skip(1) {
                let used: String = used.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                let module = used.chars().next().is_some_and(char::is_lowercase);
                let allowed = used == layer || below.contains(&used.as_str()) || SHARED.contains(&used.as_str());
                if module && !allowed {
                    wrong.push(format!("{name} uses {used}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_model_is_pure() {
    let forbidden = ["tokio", "rusqlite", "reqwest", "std::fs", "std::time", "Instant::now", "std::env", "async fn", "println!"];
    let impure = |path: &PathBuf| forbidden.iter().any(|word| code(path).contains(word));
    let wrong: Vec<String> = sources("src/model").iter().filter(|path| !is_test(path)).filter(|path| impure(path)).map(|path| shown(path)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn sql_stays_in_the_store_and_unsafe_in_the_ffi() {
    let mut wrong = Vec::new();
    for path in sources("src").iter().filter(|path| !is_test(path)) {
        let (name, code) = (shown(path), code(path));
        let sql = ["SELECT ", "INSERT INTO ", "UPDATE #", "DELETE FROM "].iter().any(|word| code.contains(word));
        if sql && !name.starts_with("src/store/") {
            wrong.push(format!("{name} speaks SQL"));
        }
        let unsafe_code = code.contains("unsafe {") || code.contains("unsafe extern") || code.contains("unsafe impl");
        if unsafe_code && !name.starts_with("src/ffi/") {
            wrong.push(format!("{name} is unsafe"));
        }
        if code.contains("println!(") || code.contains("eprintln!(") || code.contains("dbg!(") {
            wrong.push(format!("{name} prints"));
        }
    }
    wrong.retain(|text| !text.starts_with("src/http/pages/embed.rs"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_are_short_and_say_what_they_own() {
    let mut wrong = Vec::new();
    for path in sources("src") {
        let text = fs::read_to_string(&path).expect("a file");
        let lines = text.lines().count();
        if lines > 500 {
            wrong.push(format!("{} has {lines} lines", shown(&path)));
        }
        if !is_test(&path) && !path.ends_with("src/lib.rs") && !text.starts_with("//! Owns ") {
            wrong.push(format!("{} does not say what it owns", shown(&path)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_the_journal_appends_to_a_log() {
    let appends = |path: &&PathBuf| code(path).contains("log::append(");
    let found: Vec<String> = sources("src").iter().filter(|path| !is_test(path)).filter(appends).map(|path| shown(path)).collect();
    // A new run and an answer append in the same transaction that claims the run.
    assert_eq!(found, ["src/engine/log/journal/writing.rs", "src/engine/runs/create.rs", "src/engine/runs/reopen.rs"]);
}

/// `make generate` sets `STUDIO_GENERATE`: then the file is written instead of compared.
#[test]
fn the_description_of_the_api_is_up_to_date() {
    let path = Path::new(ROOT).join("docs/openapi.json");
    let made = serde_json::to_string_pretty(&wfstudio::http::description()).expect("JSON") + "\n";
    if std::env::var_os("STUDIO_GENERATE").is_some() {
        fs::write(&path, &made).expect("docs/openapi.json can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == made, "docs/openapi.json is out of date: run `make generate`");
}

#[test]
fn folders_stay_small() {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for path in sources("src") {
        *counts.entry(shown(path.parent().expect("a folder"))).or_default() += 1;
    }
    let wrong: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 24).collect();
    assert!(wrong.is_empty(), "more than 24 files directly in a folder: {wrong:?}");
}

/// Whether a place in ARCHITECTURE.md is a path: `http/sse/`, `error.rs`, `providers/demo.json`.
fn is_path(text: &str) -> bool {
    let plain = text.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"._/".contains(&letter));
    plain && !text.starts_with('/') && (text.ends_with(".rs") || text.ends_with(".json") || text.ends_with('/'))
}

/// Paths are below `src`; those in `tests` and `bindings` begin there. A name in brackets behind a file stands in that file.
#[test]
fn the_architecture_names_what_exists() {
    let root = Path::new(ROOT);
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split('`').collect();
        for at in (1..parts.len()).step_by(2).filter(|at| is_path(parts[*at])) {
            let outside = ["tests/", "bindings/"].iter().any(|folder| parts[at].starts_with(folder));
            let path = if outside { root.join(parts[at]) } else { root.join("src").join(parts[at]) };
            let exists = if parts[at].ends_with('/') { path.is_dir() } else { path.is_file() };
            let name = parts.get(at + 2).filter(|_| parts[at + 1] == " (");
            let named = |name: &&str| is_path(name) || fs::read_to_string(&path).is_ok_and(|file| file.contains(*name));
            if !exists || !name.is_none_or(named) {
                wrong.push(format!("{} {}", parts[at], name.unwrap_or(&"")));
            }
        }
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md names what does not exist: {wrong:#?}");
}

/// Inside the layers, too, arrows point down: each folder names what it must not use.
const WALLS: [(&str, &[&str]); 5] = [
    ("src/store/db/", &["store::runs", "store::threads", "store::knowledge", "store::files", "store::usage", "store::upkeep", "store::definitions"]),
    ("src/store/log/", &["store::knowledge", "store::definitions", "store::usage", "store::upkeep::retention"]),
    ("src/store/usage/", &["store::threads", "store::knowledge", "store::upkeep", "store::definitions"]),
    ("src/engine/feed/", &["engine::drive", "engine::leases", "engine::calls", "engine::nodes", "engine::agent"]),
    ("src/engine/log/", &["engine::drive", "engine::calls", "engine::nodes", "engine::agent"]),
];

#[test]
fn walls_inside_layers_hold() {
    let mut wrong = Vec::new();
    for (folder, forbidden) in WALLS {
        for path in sources("src").iter().filter(|path| shown(path).starts_with(folder) && !is_test(path)) {
            let code = code(path);
            wrong.extend(forbidden.iter().filter(|module| code.contains(*module)).map(|module| format!("{} uses {module}", shown(path))));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
