//! Owns marks: a bit for each three-letter piece that the texts of a run have, and blocks of runs turned, so that a piece's bits of many
//! runs lie together. A mark that is not there says that the piece is not; one that is there says little, since pieces share them.

/// How many different marks there are.
pub(super) const MARKS: usize = 1920;
/// How many runs a young block has, and how many young blocks are one whole block.
pub(super) const YOUNG: usize = if cfg!(test) { 8 } else { 128 };
pub(super) const FOLD: usize = if cfg!(test) { 60 } else { 120 };
/// How many marks of a young block lie in one row: it is as long as the row of one mark of a whole block.
pub(super) const SHARED: usize = FOLD;
/// A text of more bytes has nearly all pieces.
pub(super) const LONG: usize = 32 << 10;

/// The marks of a text, one after another; some come more than once.
pub(super) fn of(text: &str, each: &mut impl FnMut(usize)) {
    let mut piece = [None; 3];
    for letter in text.chars().flat_map(char::to_lowercase).filter_map(alike) {
        piece = [piece[1], piece[2], Some(letter)];
        if let [Some(first), Some(second), Some(third)] = piece {
            let number = u64::from(first) | u64::from(second) << 21 | u64::from(third) << 42;
            each((number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % MARKS);
        }
    }
}

/// Letters that a database may take for the same; a point above is left out, since it takes some with it for those without.
const fn alike(letter: char) -> Option<char> {
    match letter {
        '\u{307}' => None,
        'ς' => Some('σ'),
        '\0' | '\u{fffe}' | '\u{ffff}' => Some('\u{fffd}'),
        letter => Some(letter),
    }
}

/// The bits of a block of runs: those of each mark together.
#[derive(Debug)]
pub(super) struct Block {
    bits: Vec<u8>,
    runs: usize,
}

impl Block {
    /// Of so many runs, all without marks.
    pub(super) fn of(runs: usize) -> Self {
        Self { bits: vec![0; MARKS * runs / 8], runs }
    }

    pub(super) fn mark(&mut self, run: usize, mark: usize) {
        self.bits[(mark * self.runs + run) / 8] |= 1 << (run % 8);
    }

    /// Marks a run with everything.
    pub(super) fn mark_all(&mut self, run: usize) {
        (0..MARKS).for_each(|mark| self.mark(run, mark));
    }

    /// Rows of equal length, so many marks in each.
    pub(super) fn rows(&self, marks: usize) -> impl Iterator<Item = &[u8]> {
        self.bits.chunks_exact(marks * self.runs / 8)
    }

    /// Takes over bits of a mark, from a run on.
    pub(super) fn join(&mut self, mark: usize, run: usize, bits: &[u8]) {
        let from = (mark * self.runs + run) / 8;
        for (here, more) in self.bits[from..].iter_mut().zip(bits) {
            *here |= more;
        }
    }
}

/// How many bits are set.
pub(super) fn count(bits: &[u8]) -> usize {
    let (words, rest) = bits.as_chunks::<8>();
    let words: u32 = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum();
    let rest: u32 = rest.iter().map(|byte| byte.count_ones()).sum();
    (words + rest) as usize
}

/// The runs whose bit is set.
pub(super) fn set(bits: &[u8]) -> impl Iterator<Item = usize> {
    let bytes = bits.iter().enumerate().filter(|(_, byte)| **byte != 0);
    bytes.flat_map(|(at, byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at * 8 + bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        of(text, &mut |mark| found.push(mark));
        found
    }

    #[test]
    fn a_part_of_a_text_has_no_mark_that_the_text_lacks() {
        for (text, part) in [
            ("Invoice 4711 for ÉCOLE", "invoice 47"),
            ("Invoice 4711 for ÉCOLE", "école"),
            ("ΟΔΟΣ", &"ΟΔΟΣ".to_lowercase()),
            ("İstanbul", "istanbul"),
            ("a\0bc", "a\u{fffd}b"),
        ] {
            let all = marks(text);
            let some = marks(part);
            assert!(!some.is_empty() && some.iter().all(|mark| all.contains(mark)), "{text} {part}");
        }
        assert!(marks("ab").is_empty() && marks("").is_empty());
        assert!(marks("abcd").len() == 2 && marks("abc") != marks("acb"));
    }

    #[test]
    fn a_block_is_read_as_it_was_marked() {
        let mut young = Block::of(YOUNG);
        young.mark(3, 61);
        young.mark(YOUNG - 1, 61);
        young.mark_all(0);
        let rows: Vec<&[u8]> = young.rows(SHARED).collect();
        assert_eq!(rows.len(), MARKS / SHARED);
        let width = YOUNG / 8;
        let of_mark = |mark: usize| &rows[mark / SHARED][mark % SHARED * width..][..width];
        assert_eq!(set(of_mark(61)).collect::<Vec<_>>(), [0, 3, YOUNG - 1]);
        assert_eq!(count(of_mark(61)), 3);
        assert_eq!(set(of_mark(60)).collect::<Vec<_>>(), [0]);
        let mut whole = Block::of(YOUNG * FOLD);
        whole.join(61, 2 * YOUNG, of_mark(61));
        let row = whole.rows(1).nth(61).unwrap();
        assert_eq!(set(row).collect::<Vec<_>>(), [2 * YOUNG, 2 * YOUNG + 3, 3 * YOUNG - 1]);
    }
}
