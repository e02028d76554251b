//! Owns the text of Word files: paragraphs, lists and tables, with their headings.

use std::collections::HashMap;

use super::outline::{Outline, Text};
use super::xml::{self, Element, Piece};
use super::zip::Archive;

/// The most styles that are looked at.
const STYLES: usize = 10_000;

/// The text of a file.
pub(super) fn read(archive: &Archive<'_>) -> Result<Text, String> {
    let main = xml::main_part(archive, "word/document.xml")?;
    let relations = xml::relations(archive, &main)?;
    let part = |kind: &str| relations.iter().find(|relation| relation.kind == kind).map(|relation| relation.part.as_str());
    let levels = part("styles").map_or(Ok(HashMap::new()), |styles| levels(archive, styles))?;
    let mut body = Body { outline: Outline::default(), levels, ..Body::default() };
    body.read(archive, &main)?;
    for notes in ["footnotes", "endnotes"].into_iter().filter_map(part) {
        body.outline.paragraph();
        body.read(archive, notes)?;
    }
    Ok(body.outline.end())
}

/// The levels of the styles that are headings.
fn levels(archive: &Archive<'_>, name: &str) -> Result<HashMap<String, u8>, String> {
    let (mut levels, mut style) = (HashMap::new(), String::new());
    let Some(part) = archive.part(name)? else { return Ok(levels) };
    xml::each(part, &mut |piece| {
        let level = match piece {
            Piece::Open("style", element) => {
                style = element.get("styleId").unwrap_or_default();
                None
            }
            Piece::Open("name", element) => element.get("val").and_then(|name| named(&name)),
            Piece::Open("outlineLvl", element) => level_of(element),
            Piece::Open(..) | Piece::Text(_) | Piece::Close(_) => None,
        };
        if let Some(level) = level.filter(|_| levels.len() < STYLES) {
            levels.insert(style.clone(), level);
        }
        Ok(())
    })?;
    Ok(levels)
}

/// `heading 2` is its name in every language of the program.
fn named(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    if name == "title" {
        return Some(1);
    }
    name.strip_prefix("heading ")?.parse().ok().filter(|level| (1..=9).contains(level))
}

fn level_of(element: &Element<'_>) -> Option<u8> {
    element.get("val")?.parse::<u8>().ok().filter(|level| *level < 9).map(|level| level + 1)
}

#[derive(Default)]
struct Body {
    outline: Outline,
    levels: HashMap<String, u8>,
    /// Where the paragraph begins, and its level when it is a heading.
    begin: usize,
    level: Option<u8>,
    /// Inside of `w:t`.
    shown: bool,
    /// Inside of what stands for something that was read already.
    twice: usize,
    /// Tables inside each other.
    tables: usize,
    first_cell: bool,
}

impl Body {
    fn read(&mut self, archive: &Archive<'_>, name: &str) -> Result<(), String> {
        let part = archive.part(name)?.ok_or_else(|| archive.bounds().damaged())?;
        xml::each(part, &mut |piece| {
            match piece {
                Piece::Open("Fallback", _) => self.twice += 1,
                Piece::Close("Fallback") => self.twice = self.twice.saturating_sub(1),
                _ if self.twice > 0 => {}
                Piece::Open(name, element) => self.open(name, element),
                Piece::Text(text) if self.shown => self.outline.push(text),
                Piece::Text(_) => {}
                Piece::Close(name) => self.close(name),
            }
            if self.outline.full { Err(archive.bounds().too_much()) } else { Ok(()) }
        })
    }

    fn open(&mut self, name: &str, element: &Element<'_>) {
        match name {
            "p" if self.tables > 0 => self.begin(),
            "p" => {
                self.outline.paragraph();
                self.begin();
            }
            "pStyle" => self.level = element.get("val").and_then(|style| self.levels.get(&style).copied()),
            "outlineLvl" => self.level = level_of(element),
            "numPr" if self.level.is_none() && self.outline.text.len() == self.begin && self.tables == 0 => self.outline.push("- "),
            "t" => self.shown = true,
            "tab" | "noBreakHyphen" => self.outline.push(if name == "tab" { " " } else { "-" }),
            "br" | "cr" => self.outline.line(),
            "tbl" => {
                self.tables += 1;
                self.outline.paragraph();
            }
            "tr" => {
                self.outline.line();
                self.first_cell = true;
            }
            "tc" if !std::mem::take(&mut self.first_cell) => {
                self.outline.text.truncate(self.outline.text.trim_end_matches(' ').len());
                self.outline.push(" | ");
            }
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.begin = self.outline.text.len();
        self.level = None;
    }

    fn close(&mut self, name: &str) {
        match name {
            "t" => self.shown = false,
            "p" if self.tables > 0 => self.outline.push(" "),
            "p" => {
                if let Some(level) = self.level.take() {
                    self.outline.heading(self.begin, level);
                }
                self.outline.paragraph();
            }
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                self.outline.paragraph();
            }
            _ => {}
        }
    }
}
