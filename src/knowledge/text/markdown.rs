//! Owns the headings of Markdown: its text stays as it is.

use super::outline::{Outline, Text};

/// The text with its headings, outside of code.
pub(super) fn read(text: &str) -> Text {
    let mut outline = Outline::default();
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let at = outline.text.len();
        outline.text.push_str(line);
        let begin = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| begin.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_none() && line.len() - begin.len() < 4
            && let Some((level, start)) = level_of(begin)
        {
            outline.heading_named(at, level, begin[start..].trim().trim_end_matches('#'));
        }
    }
    outline.end()
}

/// The level of a heading, and where its title begins.
fn level_of(line: &str) -> Option<(u8, usize)> {
    let signs = line.len() - line.trim_start_matches('#').len();
    let level = u8::try_from(signs).ok().filter(|level| (1..=6).contains(level))?;
    line[signs..].starts_with([' ', '\t']).then_some((level, signs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_a_path_and_code_has_none() {
        let text = "intro\n# Refunds #\n## Cards\ntext\n```\n# no\n```\n#no\n## Cash\nmore\n# Shipping\nlast";
        let read = read(text);
        assert_eq!(read.text, text);
        let paths: Vec<&str> = read.marks.iter().filter_map(|mark| mark.place.heading.as_deref()).collect();
        assert_eq!(paths, ["Refunds", "Refunds > Cards", "Refunds > Cash", "Shipping"]);
        assert!(read.marks.iter().all(|mark| text[mark.at..].starts_with('#') && !mark.ends));
    }
}
