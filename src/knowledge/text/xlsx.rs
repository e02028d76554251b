//! Owns the text of Excel files: sheet by sheet, row by row.

use super::dates::Dates;
use super::outline::{Outline, Text};
use super::table::{COLUMNS, Table};
use super::xml::{self, Element, Piece, Relation};
use super::zip::Archive;

/// Bytes of the strings that sheets share, with what it takes to find them.
const SHARED: usize = 64 << 20;

/// The text of a file.
pub(super) fn read(archive: &Archive<'_>) -> Result<Text, String> {
    let main = xml::main_part(archive, "xl/workbook.xml")?;
    let relations = xml::relations(archive, &main)?;
    let (mut sheets, mut since_1904) = (Vec::new(), false);
    xml::each(archive.part(&main)?.ok_or_else(|| archive.bounds().damaged())?, &mut |piece| {
        match piece {
            Piece::Open("sheet", element) => sheets.push((element.get("name").unwrap_or_default(), element.get_exact("r:id").or_else(|| element.get("id")))),
            Piece::Open("workbookPr", element) => since_1904 = element.get("date1904").is_some_and(|value| value == "1" || value == "true"),
            Piece::Open(..) | Piece::Text(_) | Piece::Close(_) => {}
        }
        if sheets.len() > relations.len() { Err(archive.bounds().damaged()) } else { Ok(()) }
    })?;
    let part = |kind: &str| relations.iter().find(|relation| relation.kind == kind).map(|relation| relation.part.as_str());
    let shared = part("sharedStrings").map_or(Ok(Shared::default()), |part| Shared::read(archive, part))?;
    let dates = Dates::read(archive, part("styles"), since_1904)?;
    let mut outline = Outline::default();
    for (name, id) in sheets {
        let wanted = |relation: &&Relation| Some(&relation.id) == id.as_ref() && relation.kind == "worksheet";
        let Some(sheet) = relations.iter().find(wanted) else { continue };
        outline.sheet(&name);
        Rows { shared: &shared, dates: &dates, outline: &mut outline, table: Table::default(), cells: Vec::new(), cell: Cell::default(), next: 0 }
            .read(archive, &sheet.part)?;
    }
    Ok(outline.end())
}

/// The strings that sheets share.
#[derive(Default)]
struct Shared {
    text: String,
    ends: Vec<u32>,
}

impl Shared {
    fn read(archive: &Archive<'_>, name: &str) -> Result<Self, String> {
        let (mut shared, mut shown, mut sounds) = (Self::default(), false, 0_usize);
        let Some(part) = archive.part(name)? else { return Ok(shared) };
        xml::each(part, &mut |piece| {
            match piece {
                // How a text is read aloud.
                Piece::Open("rPh", _) => sounds += 1,
                Piece::Close("rPh") => sounds = sounds.saturating_sub(1),
                Piece::Open("t", _) => shown = sounds == 0,
                Piece::Close("t") => shown = false,
                Piece::Text(text) if shown => shared.text.push_str(text),
                Piece::Close("si") => shared.ends.push(u32::try_from(shared.text.len()).unwrap_or(u32::MAX)),
                Piece::Open(..) | Piece::Text(_) | Piece::Close(_) => {}
            }
            let size = shared.text.len() + shared.ends.len() * size_of::<u32>();
            if size > SHARED { Err(archive.bounds().too_much()) } else { Ok(()) }
        })?;
        Ok(shared)
    }

    fn get(&self, at: usize) -> Option<&str> {
        let begin = if at == 0 { 0 } else { *self.ends.get(at - 1)? as usize };
        self.text.get(begin..*self.ends.get(at)? as usize)
    }
}

#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    value: String,
    shown: bool,
}

struct Rows<'a> {
    shared: &'a Shared,
    dates: &'a Dates,
    outline: &'a mut Outline,
    table: Table,
    cells: Vec<String>,
    cell: Cell,
    /// The column of a cell that does not name its own.
    next: usize,
}

impl Rows<'_> {
    fn read(&mut self, archive: &Archive<'_>, name: &str) -> Result<(), String> {
        let part = archive.part(name)?.ok_or_else(|| archive.bounds().damaged())?;
        // What a row may hold: one string may be shared by all its cells.
        let mut room = super::outline::TEXT;
        xml::each(part, &mut |piece| {
            match piece {
                Piece::Open("row", _) => {
                    self.cells.clear();
                    self.next = 0;
                    room = super::outline::TEXT;
                }
                Piece::Open("c", element) => self.begin(element),
                Piece::Open("v" | "t", _) => self.cell.shown = true,
                Piece::Close("v" | "t") => self.cell.shown = false,
                Piece::Text(text) if self.cell.shown => {
                    if self.cell.value.len() + text.len() > super::outline::TEXT {
                        return Err(archive.bounds().too_much());
                    }
                    self.cell.value.push_str(text);
                }
                Piece::Close("c") => {
                    let text = self.text();
                    room = room.checked_sub(text.len()).ok_or_else(|| archive.bounds().too_much())?;
                    if !text.is_empty() && self.cell.column < COLUMNS {
                        self.cells.resize(self.cells.len().max(self.cell.column + 1), String::new());
                        self.cells[self.cell.column] = text;
                    }
                }
                Piece::Close("row") => self.table.row(&self.cells, self.outline),
                Piece::Open(..) | Piece::Text(_) | Piece::Close(_) => {}
            }
            if self.outline.full { Err(archive.bounds().too_much()) } else { Ok(()) }
        })
    }

    fn begin(&mut self, element: &Element<'_>) {
        let named = element.get("r").and_then(|name| column(&name));
        let column = named.unwrap_or(self.next);
        self.next = column.saturating_add(1);
        self.cell = Cell {
            column,
            kind: element.get("t").unwrap_or_default(),
            style: element.get("s").and_then(|style| style.parse().ok()).unwrap_or(0),
            ..Cell::default()
        };
    }

    fn text(&self) -> String {
        let value = self.cell.value.trim();
        match self.cell.kind.as_str() {
            "s" => value.parse().ok().and_then(|at| self.shared.get(at)).unwrap_or_default().to_owned(),
            "b" => if value == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "" | "n" => self.dates.shown(self.cell.style, value).unwrap_or_else(|| value.to_owned()),
            _ => self.cell.value.clone(),
        }
    }
}

/// The column of a cell's name: `A1` is 0.
fn column(name: &str) -> Option<usize> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let number = letters.fold(0, |number, letter| number * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::column;

    #[test]
    fn names_of_cells_are_columns() {
        assert_eq!(["A1", "Z9", "AA10", "XFD1", "12"].map(column), [Some(0), Some(25), Some(26), Some(16_383), None]);
    }
}
