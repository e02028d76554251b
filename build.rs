//! Owns what is made before the library is compiled: the table of the pages' files.

#[path = "build/assets.rs"]
mod assets;

fn main() {
    assets::write_table();
}
