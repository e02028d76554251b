//! Owns what is made before the library is compiled: the table of the pages' files.

#[path = "src/http/pages/embed.rs"]
mod assets;

fn main() {
    assets::write_table();
}
