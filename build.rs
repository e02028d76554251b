//! Owns what is made while building: the table of the pages' files, how the shared library and the programs are linked, and with
//! feature `header` its C header.

#[cfg(feature = "header")]
use std::path::Path;

#[path = "src/http/pages/embed.rs"]
mod assets;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Told by the operation `about`.
    println!("cargo:rustc-env=STUDIO_TARGET={}", std::env::var("TARGET").expect("cargo sets it"));
    assets::write_table();
    link();
    #[cfg(feature = "header")]
    header();
}

/// Fork handlers and callbacks point into the library, so it is never unloaded; its name carries the major version.
fn link() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libwfstudio.so.1");
    }
}

/// Writes `wfstudio.h` and `wfstudio.ffi.h` (the same without preprocessor lines, for PHP) to `OUT_DIR`.
#[cfg(feature = "header")]
fn header() {
    for path in ["cbindgen.toml", "src/ffi/c"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let config = cbindgen::Config::from_file(Path::new(&root).join("cbindgen.toml")).expect("cbindgen.toml can be read");
    let functions = Path::new(&root).join("src/ffi/c/mod.rs");
    let mut header = Vec::new();
    let sources = cbindgen::Builder::new().with_config(config).with_src(functions);
    sources.generate().expect("the C functions can be written as a header").write(&mut header);
    let header = for_c(&String::from_utf8(header).expect("a header is text"));
    std::fs::write(Path::new(&out).join("wfstudio.h"), &header).expect("OUT_DIR can be written");
    std::fs::write(Path::new(&out).join("wfstudio.ffi.h"), without_preprocessor(&header)).expect("OUT_DIR can be written");
}

/// The text without the promises that Rust asks of callers: in C they go without saying.
#[cfg(feature = "header")]
fn for_c(header: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut promising = false;
    for line in header.lines() {
        promising = (promising || line.trim() == "# Safety") && !line.ends_with("*/");
        if promising {
            continue;
        }
        if line.trim() == "*/" && kept.last().is_some_and(|last| last.is_empty()) {
            kept.pop();
        }
        kept.push(line);
    }
    let short = kept.join("\n").replace("\n */\n", " */\n").replace("/*\n   ", "/* ").replace("/*\n ", "/* ").replace("\n   */\n", " */\n");
    short + "\n"
}

#[cfg(feature = "header")]
fn without_preprocessor(header: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut inside_cplusplus = false;
    for line in header.lines() {
        if line.starts_with("#define") && kept.last().is_some_and(|last| last.ends_with("*/")) {
            let comment = kept.iter().rposition(|line| line.starts_with("/*")).unwrap_or(kept.len());
            kept.truncate(comment);
        }
        inside_cplusplus = (inside_cplusplus || line.starts_with("#ifdef __cplusplus")) && !line.starts_with("#endif");
        let again_empty = line.is_empty() && kept.last().is_some_and(|last| last.is_empty());
        if !line.starts_with('#') && !inside_cplusplus && !again_empty {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}
