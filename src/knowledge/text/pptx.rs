//! Owns the text of PowerPoint files: slide by slide, each with the notes of the speaker.

use super::outline::{Outline, Text};
use super::xml::{self, Piece};
use super::zip::Archive;

/// The text of a file.
pub(super) fn read(archive: &Archive<'_>) -> Result<Text, String> {
    let main = xml::main_part(archive, "ppt/presentation.xml")?;
    let relations = xml::relations(archive, &main)?;
    let mut order = Vec::new();
    let part = archive.part(&main)?.ok_or_else(|| archive.bounds().damaged())?;
    xml::each(part, &mut |piece| {
        if let Piece::Open("sldId", element) = piece {
            order.extend(element.get_exact("r:id").or_else(|| element.get("id")));
        }
        if order.len() > relations.len() { Err(archive.bounds().damaged()) } else { Ok(()) }
    })?;
    let mut outline = Outline::default();
    for (number, id) in (1..).zip(order) {
        let Some(slide) = relations.iter().find(|relation| relation.id == id && relation.kind == "slide") else { continue };
        outline.page(Some(number));
        words(archive, &slide.part, &mut outline)?;
        for notes in xml::relations(archive, &slide.part)?.into_iter().filter(|relation| relation.kind == "notesSlide").take(1) {
            outline.paragraph();
            words(archive, &notes.part, &mut outline)?;
        }
    }
    Ok(outline.end())
}

/// Appends the paragraphs of a slide.
fn words(archive: &Archive<'_>, name: &str, outline: &mut Outline) -> Result<(), String> {
    let Some(part) = archive.part(name)? else { return Ok(()) };
    let (mut shown, mut twice, mut fields) = (false, 0_usize, 0_usize);
    xml::each(part, &mut |piece| {
        match piece {
            Piece::Open("Fallback", _) => twice += 1,
            Piece::Close("Fallback") => twice = twice.saturating_sub(1),
            // Numbers of slides and dates.
            Piece::Open("fld", _) => fields += 1,
            Piece::Close("fld") => fields = fields.saturating_sub(1),
            Piece::Open("t", _) => shown = twice == 0 && fields == 0,
            Piece::Close("t") => shown = false,
            Piece::Text(text) if shown => outline.push(text),
            Piece::Open("br", _) => outline.line(),
            Piece::Open("txBody", _) => outline.paragraph(),
            Piece::Open("tc", _) if !outline.text.is_empty() && !outline.text.ends_with('\n') => outline.push(" | "),
            Piece::Close("p") if twice == 0 && !outline.text.ends_with("\n\n") => outline.push("\n"),
            Piece::Open(..) | Piece::Text(_) | Piece::Close(_) => {}
        }
        if outline.full { Err(archive.bounds().too_much()) } else { Ok(()) }
    })
}
