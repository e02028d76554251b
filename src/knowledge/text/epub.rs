//! Owns the text of EPUB books: their chapters in reading order.

use std::collections::HashMap;

use super::html;
use super::outline::{Outline, Text};
use super::xml::{self, Piece};
use super::zip::{Archive, beside};

/// The most files of a book.
const FILES: usize = 20_000;

/// The text of a book.
pub(super) fn read(archive: &Archive<'_>) -> Result<Text, String> {
    let damaged = || archive.bounds().damaged();
    let mut package = None;
    xml::each(archive.part("META-INF/container.xml")?.ok_or_else(damaged)?, &mut |piece| {
        if let Piece::Open("rootfile", element) = piece
            && package.is_none()
        {
            package = element.get("full-path");
        }
        Ok(())
    })?;
    let package = package.ok_or_else(damaged)?;
    let mut outline = Outline::default();
    for chapter in chapters(archive, &package)? {
        let Some(bytes) = archive.whole(&chapter)? else { continue };
        let page = String::from_utf8(bytes).map_err(|_| archive.bounds().protected())?;
        outline.page(None);
        html::write(&page, &mut outline);
        if outline.full {
            return Err(archive.bounds().too_much());
        }
    }
    Ok(outline.end())
}

/// The names of the chapters, in order.
fn chapters(archive: &Archive<'_>, package: &str) -> Result<Vec<String>, String> {
    let (mut files, mut order) = (HashMap::new(), Vec::new());
    let part = archive.part(package)?.ok_or_else(|| archive.bounds().damaged())?;
    xml::each(part, &mut |piece| {
        if let Piece::Open(name, element) = piece
            && files.len().max(order.len()) < FILES
        {
            match name {
                "item" if element.get("properties").is_none_or(|properties| !properties.split(' ').any(|word| word == "nav")) => {
                    files.extend(element.get("id").zip(element.get("href")));
                }
                "itemref" => order.extend(element.get("idref")),
                _ => {}
            }
        }
        Ok(())
    })?;
    // Each once: a chapter that is named again and again is not more to read.
    Ok(order.into_iter().filter_map(|id| files.remove(&id)).map(|href| beside(package, &href)).collect())
}
