//! Owns rows of cells as text: one line per row that names the column of each value.

use super::outline::Outline;

/// The most characters of a column's name.
const NAME: usize = 60;
/// The most columns.
pub(super) const COLUMNS: usize = 16_384;

/// Rows of one table; the first with more than one cell names the columns when none of them is a number.
#[derive(Default)]
pub(super) struct Table {
    names: Option<Vec<String>>,
}

impl Table {
    pub(super) fn row(&mut self, cells: &[String], outline: &mut Outline) {
        let filled = || cells.iter().enumerate().filter(|(_, cell)| !cell.trim().is_empty());
        let mut begun = false;
        for (at, cell) in filled() {
            outline.push(if begun { " | " } else { "- " });
            begun = true;
            if let Some(name) = self.names.as_ref().and_then(|names| names.get(at)).filter(|name| !name.is_empty()) {
                outline.push(name);
                outline.push(": ");
            }
            outline.words(cell.trim());
        }
        if begun {
            outline.push("\n");
        }
        if self.names.is_none() && filled().count() > 1 {
            let is_name = |(_, cell): (usize, &String)| cell.trim().parse::<f64>().is_err();
            let name = |cell: &String| cell.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME).collect();
            self.names = Some(if filled().all(is_name) { cells.iter().map(name).collect() } else { Vec::new() });
        }
    }
}
