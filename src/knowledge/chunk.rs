//! Owns cutting a text into passages: whole sentences packed together, the end of each passage repeated at the head of the next.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::text::{Mark, Text};
use crate::store::knowledge::passages::{Passage, Place};

/// A stretch of words that is kept together if it can be.
struct Piece {
    words: Range<usize>,
    bytes: Range<usize>,
    /// How many marks are before it.
    marks: usize,
}

/// Where words and sentences are in a text.
struct Cutter<'t> {
    text: &'t str,
    words: Vec<Range<usize>>,
    pieces: Vec<Piece>,
    marks: &'t [Mark],
}

/// Bytes of all passages of a text, or [`LARGER`] times the text where that is more.
const BYTES: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };
/// How much larger than a text its passages may be together.
const LARGER: usize = 4;

/// Why a text is not cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMuch {
    /// There would be too many passages.
    Passages,
    /// The passages would repeat too much of each other.
    Bytes,
}

/// Passages of at most `max_words` words. The last `overlap_words` of each begin the next, as far as there is room for them.
///
/// # Errors
/// There would be more than `passages` of them, or much more text than there is.
///
/// No passage goes over the end of a page or a sheet; one that is half full ends before a heading.
pub fn cut(text: &Text, max_words: usize, overlap_words: usize, passages: usize) -> Result<Vec<Passage>, TooMuch> {
    let (most_passages, mut room) = (passages, BYTES.max(text.text.len().saturating_mul(LARGER)));
    let most = max_words.max(1);
    let overlap = overlap_words.min(most - 1);
    let cutter = Cutter::new(text, most - overlap);
    let mut passages = Vec::new();
    let (mut first, mut head) = (0, 0);
    while first < cutter.pieces.len() {
        let mut next = first + 1;
        let begin = head.max(cutter.pieces[first].words.end.saturating_sub(most));
        while cutter.pieces.get(next).is_some_and(|piece| piece.words.end - begin <= most && !cutter.ends(begin, next, most)) {
            next += 1;
        }
        let passage = cutter.passage(begin, first, next - 1);
        room = room.checked_sub(passage.len()).ok_or(TooMuch::Bytes)?;
        if passages.len() == most_passages {
            return Err(TooMuch::Passages);
        }
        passages.push(Passage { text: passage.to_owned(), place: cutter.place(first) });
        let end = cutter.pieces[next - 1].words.end;
        head = if cutter.leaves(next) { end } else { end.saturating_sub(overlap).max(begin) };
        first = next;
    }
    Ok(passages)
}

impl<'t> Cutter<'t> {
    /// `long` is the most words of a piece: longer sentences become several.
    fn new(text: &'t Text, long: usize) -> Self {
        let (text, marks) = (text.text.as_str(), text.marks.as_slice());
        let flowing = flowing(text);
        let words: Vec<Range<usize>> = flowing.unicode_word_indices().map(|(at, word)| at..at + word.len()).collect();
        let mut cutter = Self { text, words, pieces: Vec::new(), marks };
        let (mut word, mut begin) = (0, 0);
        for (at, sentence) in flowing.split_sentence_bound_indices() {
            let end = at + sentence.len();
            let first = word;
            while cutter.words.get(word).is_some_and(|found| found.start < end) {
                word += 1;
            }
            // A word that goes over the end of its sentence stays whole.
            let last = cutter.words[first..word].last().map_or(begin, |last| last.end);
            let end = end.max(last);
            cutter.add(first..word, begin..end, long);
            begin = end;
        }
        cutter
    }

    /// Adds a sentence. What has no words belongs to the piece before it.
    fn add(&mut self, words: Range<usize>, bytes: Range<usize>, long: usize) {
        if words.is_empty() {
            if let Some(before) = self.pieces.last_mut() {
                before.bytes.end = bytes.end;
            }
            return;
        }
        let mut from = words.start;
        while from < words.end {
            let to = (from + long).min(words.end);
            let start = if from == words.start { bytes.start } else { self.words[from].start };
            let end = if to == words.end { bytes.end } else { self.words[to].start };
            let (at, before) = (self.words[from].start, self.pieces.last().map_or(0, |piece| piece.marks));
            let marks = before + self.marks[before..].iter().take_while(|mark| mark.at <= at).count();
            self.pieces.push(Piece { words: from..to, bytes: start..end, marks });
            from = to;
        }
    }

    /// The marks between a piece and the one before it.
    fn between(&self, piece: usize) -> &[Mark] {
        let marks = piece.checked_sub(1).and_then(|before| Some(self.pieces[before].marks..self.pieces.get(piece)?.marks));
        marks.and_then(|marks| self.marks.get(marks)).unwrap_or_default()
    }

    /// Does a page or a sheet end before a piece?
    fn leaves(&self, piece: usize) -> bool {
        self.between(piece).iter().any(|mark| mark.ends)
    }

    /// Does a passage that begins with a word end before a piece, whatever room there is?
    fn ends(&self, begin: usize, piece: usize, most: usize) -> bool {
        let marks = self.between(piece);
        marks.iter().any(|mark| mark.ends) || !marks.is_empty() && (self.pieces[piece].words.start - begin) * 2 >= most
    }

    fn place(&self, piece: usize) -> Place {
        self.pieces[piece].marks.checked_sub(1).map_or_else(Place::default, |mark| self.marks[mark].place.clone())
    }

    /// The text from a word (or the head of the first piece, when the passage begins there) to the end of the last piece.
    fn passage(&self, begin: usize, first: usize, last: usize) -> &'t str {
        let own = begin == self.pieces[first].words.start;
        let start = if own { self.pieces[first].bytes.start } else { self.words[begin].start };
        self.text[start..self.pieces[last].bytes.end].trim()
    }
}

/// The text with the line breaks inside of paragraphs as blanks, byte for byte in the same places: a sentence may go over several lines.
fn flowing(text: &str) -> String {
    let mut flowing = text.to_owned().into_bytes();
    let bytes = text.as_bytes();
    for at in 1..bytes.len().saturating_sub(1) {
        if bytes[at] == b'\n' && !bytes[at - 1].is_ascii_whitespace() && continues(&bytes[at + 1..]) {
            flowing[at] = b' ';
        }
    }
    String::from_utf8(flowing).unwrap_or_else(|_| text.to_owned())
}

/// Does a line go on with the sentence before it? Headings, list items, table rows, quotes and empty lines do not.
fn continues(line: &[u8]) -> bool {
    match line {
        [first, ..] if first.is_ascii_whitespace() || b"#-*+|>=`".contains(first) => false,
        [first, second, ..] if first.is_ascii_digit() && (b".)".contains(second) || second.is_ascii_digit()) => false,
        [] => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str, max_words: usize, overlap_words: usize) -> Vec<String> {
        let passages = super::cut(&text.to_owned().into(), max_words, overlap_words, 1_000).expect("passages");
        passages.into_iter().map(|passage| passage.text).collect()
    }

    fn words(text: &str) -> Vec<String> {
        text.unicode_words().map(str::to_owned).collect()
    }

    #[test]
    fn sentences_are_packed_and_the_end_is_repeated() {
        let text = "One two three. Four five six! Seven eight nine ten. Eleven?";
        assert_eq!(cut(text, 7, 0), ["One two three. Four five six!", "Seven eight nine ten. Eleven?"]);
        assert_eq!(cut(text, 7, 2), ["One two three. Four five six!", "five six! Seven eight nine ten. Eleven?"]);
        assert_eq!(cut(text, 6, 2), ["One two three. Four five six!", "five six! Seven eight nine ten.", "nine ten. Eleven?"]);
        assert_eq!(cut(text, 100, 20), [text]);
    }

    #[test]
    fn long_sentences_are_split_at_words() {
        assert_eq!(cut("a b c d e f g h i", 4, 1), ["a b c", "c d e f", "f g h i"]);
        assert_eq!(cut("a b c d e", 2, 0), ["a b", "c d", "e"]);
        assert_eq!(cut("a b c", 1, 0), ["a", "b", "c"]);
    }

    #[test]
    fn sentences_go_over_lines_but_not_over_paragraphs() {
        let text = "# Head\n\nA sentence that\ngoes on.\n- item one\n- item two\n";
        assert_eq!(cut(text, 5, 0), ["# Head", "A sentence that\ngoes on.", "- item one\n- item two"]);
        assert!(cut(" \n ?! \u{1f642} ", 10, 2).is_empty());
        assert_eq!(cut("\u{4f60}\u{597d}\u{3002}\u{518d}\u{89c1}\u{3002}", 2, 0).len(), 2);
    }

    #[test]
    fn pages_end_passages_and_headings_end_those_that_are_half_full() {
        let text = "A b c.\n\nd e f.\n\n# G\n\nh i.\n\nj k.";
        let mark = |what: &str, page, heading: Option<&str>, ends| {
            let at = text.find(what).expect("it is there");
            Mark { at, place: Place { page: Some(page), heading: heading.map(Into::into), sheet: None }, ends }
        };
        let marks = vec![mark("A", 1, None, true), mark("d", 2, None, true), mark("# G", 2, Some("G"), false)];
        let told = |most, overlap| {
            let passages = super::cut(&Text { text: text.to_owned(), marks: marks.clone() }, most, overlap, 10).expect("passages");
            passages.into_iter().map(|one| format!("{}{:?} {}", one.place.page.unwrap_or(0), one.place.heading, one.text)).collect::<Vec<_>>()
        };
        assert_eq!(told(20, 2), ["1None A b c.", "2None d e f.\n\n# G\n\nh i.\n\nj k."]);
        assert_eq!(told(6, 1), ["1None A b c.", "2None d e f.", "2Some(\"G\") f.\n\n# G\n\nh i.\n\nj k."]);
    }

    #[test]
    fn a_text_does_not_become_much_more_than_it_is() {
        let text = Text::from("a ".repeat(100_000));
        assert_eq!(super::cut(&text, 10_000, 9_999, 200_000), Err(TooMuch::Bytes));
        assert_eq!(super::cut(&text, 1, 0, 99_999), Err(TooMuch::Passages));
        let halved = super::cut(&text, 10_000, 5_000, 200_000).expect("passages");
        assert_eq!((halved.len(), halved.iter().map(|passage| passage.text.len()).sum::<usize>() / 100_000), (19, 3));
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_no_passage_too_long(
            ends in prop::collection::vec(prop::sample::select(vec![" ", ". ", "! ", "\n", "\n\n", "\n- "]), 0..80),
            most in 1_usize..12,
            overlap in 0_usize..12,
        ) {
            let text: String = ends.iter().enumerate().map(|(n, end)| format!("w{n}{end}")).collect();
            let mut next = 0;
            for passage in cut(&text, most, overlap) {
                let found: Vec<usize> = words(&passage).iter().map(|word| word[1..].parse().expect("a number")).collect();
                prop_assert!(found.len() <= most && found.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{passage:?}");
                let (first, last) = (found[0], found[found.len() - 1]);
                prop_assert!(first <= next && next - first <= overlap && last >= next, "{passage:?} after {next}");
                next = last + 1;
            }
            prop_assert_eq!(next, ends.len());
        }

        #[test]
        fn any_text_is_cut(text in any::<String>(), most in 1_usize..50, overlap in 0_usize..50) {
            for passage in cut(&text, most, overlap) {
                prop_assert!(passage.unicode_words().count() <= most && text.contains(&passage));
            }
        }
    }
}
