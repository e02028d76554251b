//! Owns the table of the pages' files: everything under `ui/dist` with type, tag and, where that is
//! smaller, the packed form.
//! Part of the build script, not of the library.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Writes `assets.rs` into the output folder. An absent or empty folder gives an empty table.
pub(crate) fn write_table() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("ui").join("dist");
    let watched = if root.is_dir() { "ui/dist" } else { "src/http/pages/embed.rs" };
    println!("cargo::rerun-if-changed={watched}");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let target = PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("assets.rs");
    if let Err(error) = fs::write(&target, table(&root, &files)) {
        println!("cargo::error=the table of pages cannot be written to {}: {error}", target.display());
    }
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, into);
        } else if !hidden(&path) {
            into.push(path);
        }
    }
}

fn hidden(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_none_or(|name| name.starts_with('.'))
}

fn table(root: &Path, files: &[PathBuf]) -> String {
    let mut out = String::from("/// The pages' files, ordered by path.\npub(crate) static ASSETS: &[Asset] = &[\n");
    for file in files {
        let (path, bytes) = (name(root, file), fs::read(file).unwrap_or_default());
        let gz = packed(&path, &bytes).map_or_else(|| "None".to_owned(), |gz| format!("Some(include_bytes!({gz:?}))"));
        let _ = writeln!(
            out,
            "    Asset {{ path: {path:?}, mime: {:?}, etag: {:?}, bytes: include_bytes!({file:?}), gz: {gz} }},",
            mime(&path),
            tag(&bytes),
        );
    }
    out.push_str("];\n");
    out
}

/// Where the packed form was written; none when it saves less than a tenth.
fn packed(path: &str, bytes: &[u8]) -> Option<PathBuf> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).ok()?;
    let gz = packer.finish().ok().filter(|gz| gz.len() < bytes.len() / 10 * 9)?;
    let target = PathBuf::from(env::var("OUT_DIR").ok()?).join(format!("{}.gz", path.replace('/', "-")));
    fs::write(&target, gz).ok()?;
    Some(target)
}

/// The path below the folder with `/` on every system.
fn name(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file);
    below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn mime(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "woff" => "font/woff",
        "ttf" => "font/ttf",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// FNV-1a over the content: equal on every machine, and only asked whether a file is still the same.
fn tag(bytes: &[u8]) -> String {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("\"{hash:016x}\"")
}
