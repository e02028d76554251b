//! Owns the splitting of a text into passages: whole sentences, with an overlap at the beginning of the next passage.

use std::collections::VecDeque;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::text::{Mark, Text};
use crate::store::knowledge::passages::{Passage, Place};

/// A stretch of words that is kept together if it can be.
struct Piece {
    words: Range<usize>,
    bytes: Range<usize>,
}

/// What is open: where it begins, and behind which word, byte and mark it ends.
struct Open {
    /// The word that it begins with, which may be one of the passage before.
    begin: usize,
    first: Piece,
    place: Place,
    words: usize,
    bytes: usize,
    marks: usize,
}

/// Packs pieces into passages as they come: of the words of a long text only those are held that the next passage may begin with.
struct Packer<'t> {
    text: &'t str,
    most: usize,
    overlap: usize,
    /// Where words are, from the one with this number on.
    words: VecDeque<Range<usize>>,
    first: usize,
    /// The passage that is filled.
    open: Option<Open>,
    /// The word that the next passage may begin with.
    head: usize,
    marks: &'t [Mark],
    passages: Vec<Passage>,
    most_passages: usize,
    room: usize,
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
    let (text, marks) = (text.text.as_str(), text.marks.as_slice());
    let most = max_words.max(1);
    let overlap = overlap_words.min(most - 1);
    let room = BYTES.max(text.len().saturating_mul(LARGER));
    let (words, open) = (VecDeque::new(), None);
    let mut packer = Packer { text, most, overlap, words, first: 0, open, head: 0, marks, passages: Vec::new(), most_passages: passages, room };
    let flowing = flowing(text);
    let mut words = flowing.unicode_word_indices().map(|(at, word)| at..at + word.len()).peekable();
    // Longer sentences become several pieces.
    let (long, mut word, mut begin) = (most - overlap, 0, 0);
    for (at, sentence) in flowing.split_sentence_bound_indices() {
        let mut end = at + sentence.len();
        let mut piece = Piece { words: word..word, bytes: begin..begin };
        while let Some(next) = words.next_if(|next| next.start < at + sentence.len()) {
            if piece.words.len() == long {
                piece.bytes.end = next.start;
                let rest = Piece { words: word..word, bytes: next.start..next.start };
                packer.add(std::mem::replace(&mut piece, rest))?;
            }
            word += 1;
            piece.words.end = word;
            // A word that goes over the end of its sentence stays whole.
            end = end.max(next.end);
            packer.words.push_back(next);
        }
        piece.bytes.end = end;
        begin = end;
        if piece.words.is_empty() {
            packer.lengthen(end);
        } else {
            packer.add(piece)?;
        }
    }
    packer.close()?;
    Ok(packer.passages)
}

impl Packer<'_> {
    /// What has no words belongs to the piece before it.
    fn lengthen(&mut self, end: usize) {
        if let Some(open) = &mut self.open {
            open.bytes = end;
        }
    }

    /// Adds a piece to the open passage, or to a new one.
    fn add(&mut self, piece: Piece) -> Result<(), TooMuch> {
        let at = self.words[piece.words.start - self.first].start;
        let before = self.open.as_ref().map_or(0, |open| open.marks);
        let marks = before + self.marks[before..].iter().take_while(|mark| mark.at <= at).count();
        let between = &self.marks[if self.open.is_some() { before } else { marks }..marks];
        let leaves = between.iter().any(|mark| mark.ends);
        if let Some(open) = &mut self.open {
            let full = !between.is_empty() && (piece.words.start - open.begin) * 2 >= self.most;
            if piece.words.end - open.begin <= self.most && !leaves && !full {
                (open.words, open.bytes, open.marks) = (piece.words.end, piece.bytes.end, marks);
                return Ok(());
            }
        }
        self.close()?;
        if leaves {
            self.head = self.head.max(piece.words.start);
        }
        let begin = self.head.max(piece.words.end.saturating_sub(self.most));
        self.words.drain(..begin.saturating_sub(self.first).min(self.words.len()));
        self.first = self.first.max(begin);
        let place = marks.checked_sub(1).map_or_else(Place::default, |mark| self.marks[mark].place.clone());
        self.open = Some(Open { begin, words: piece.words.end, bytes: piece.bytes.end, marks, place, first: piece });
        Ok(())
    }

    /// Ends the open passage.
    fn close(&mut self) -> Result<(), TooMuch> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let start = if open.begin == open.first.words.start { open.first.bytes.start } else { self.words[open.begin - self.first].start };
        let passage = self.text[start..open.bytes].trim();
        let size = passage.len() + open.place.heading.as_ref().map_or(0, |heading| heading.len());
        self.room = self.room.checked_sub(size).ok_or(TooMuch::Bytes)?;
        if self.passages.len() == self.most_passages {
            return Err(TooMuch::Passages);
        }
        self.passages.push(Passage { text: passage.to_owned(), place: open.place });
        self.head = open.words.saturating_sub(self.overlap).max(open.begin);
        Ok(())
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
    break_runs(text, &mut flowing);
    String::from_utf8(flowing).unwrap_or_else(|_| text.to_owned())
}

/// Blanks and brackets without an end: whether a sentence ends before them is looked for behind them, from each of them.
const RUN: usize = 64;

/// Puts ends of paragraphs into long runs of what is no letter and no digit.
fn break_runs(text: &str, flowing: &mut [u8]) {
    let mut run = 0;
    for (at, letter) in text.char_indices() {
        // Marks that belong to the letter before them do not end a run.
        if letter.is_ascii_alphanumeric() || letter.is_lowercase() || letter.is_uppercase() || letter.is_numeric() {
            run = 0;
            continue;
        }
        run += usize::from(!letter.is_alphanumeric());
        if run >= RUN && !letter.is_alphanumeric() {
            let end = at + letter.len_utf8();
            flowing[at..end].fill(b' ');
            flowing[end - 1] = b'\n';
            run = 0;
        }
    }
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

    #[test]
    fn a_long_run_of_blanks_is_looked_at_once() {
        let begun = std::time::Instant::now();
        for run in [" ", ")", "\u{2003}", "\u{301} "] {
            let text = format!("a.{}1 The end.", run.repeat(200_000));
            let passages = cut(&text, 400, 0);
            assert_eq!(passages.join(" ").split_whitespace().rev().take(2).collect::<Vec<_>>(), ["end.", "The"]);
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
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
