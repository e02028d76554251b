//! Owns CSV tables: rows and cells, quoted or not, with the most frequent separator of the first lines.

use super::outline::{Outline, Text};
use super::table::{COLUMNS, Table};

/// The text of a table.
///
/// # Errors
/// It is more than is read.
pub(super) fn read(text: &str) -> Result<Text, String> {
    let separator = separator(text);
    let (mut outline, mut table) = (Outline::default(), Table::default());
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            '\n' if !quoted => {
                cells.push(std::mem::take(&mut cell));
                table.row(&cells, &mut outline);
                cells.clear();
            }
            letter if letter == separator && !quoted && cells.len() < COLUMNS => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
        if outline.full {
            return Err("the table gives more text than is read at once; split it".to_owned());
        }
    }
    cells.push(cell);
    table.row(&cells, &mut outline);
    Ok(outline.end())
}

/// Of the usual separators the one that the first lines have most of, outside of quotes.
fn separator(text: &str) -> char {
    let mut counts = [(',', 0), (';', 0), ('\t', 0), ('|', 0)];
    let mut quoted = false;
    for letter in text.chars().take(8_192) {
        quoted ^= letter == '"';
        if let Some((_, count)) = counts.iter_mut().find(|(separator, _)| *separator == letter && !quoted) {
            *count += 1;
        }
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(',', |(separator, _)| separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &str) {
        assert_eq!(read(text).expect("a text").text, wanted);
    }

    #[test]
    fn rows_say_which_column_a_value_is_of() {
        check("name,age\r\nAna,3\r\n\"Bo, \"\"B\"\" the\n2nd\",4\n,,\n", "- name | age\n- name: Ana | age: 3\n- name: Bo, \"B\" the 2nd | age: 4");
        check("a;b;c\n1;2,5;x", "- a | b | c\n- a: 1 | b: 2,5 | c: x");
        check("1,2\n3,4", "- 1 | 2\n- 3 | 4");
        check("only one\ncolumn", "- only one\n- column");
        check("\"never closed, a\nb", "- never closed, a b");
        check("", "");
    }
}
