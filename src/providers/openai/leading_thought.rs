//! Owns the thought at the beginning of a text: servers without a parser of their own leave it there, between `<think>` and `</think>`.

use super::dialect::Dialect;

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// How far a text that comes in pieces is read.
#[derive(Debug)]
pub(super) struct Leading {
    place: Place,
    /// What may be a part of a mark.
    held: String,
    /// All before the text, as it came.
    before: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing but what may begin a thought came so far.
    Start,
    /// In the thought, of which only blanks came so far.
    Blank,
    /// In the thought.
    Inside,
    /// Behind the thought, before the first letter of the text.
    Behind,
    /// In the text, where marks mean nothing.
    Text,
}

/// Blanks that are waited for before a thought begins.
const BLANKS: usize = 64;

impl Leading {
    /// For a server that leaves thoughts in the text, or none.
    pub(super) fn of(dialect: &Dialect) -> Self {
        Self { place: if dialect.may_tag_thoughts() { Place::Start } else { Place::Text }, held: String::new(), before: String::new() }
    }

    /// Takes a piece: what is thought in it, and what is said. Never both of one letter, and no letter is lost.
    pub(super) fn take(&mut self, piece: String) -> (String, String) {
        if self.place == Place::Text {
            return (String::new(), piece);
        }
        self.before.push_str(&piece);
        let mut rest = std::mem::take(&mut self.held) + &piece;
        if self.place == Place::Start {
            let begun = rest.trim_start();
            if let Some(thought) = begun.strip_prefix(BEGIN) {
                rest = thought.to_owned();
                self.place = Place::Blank;
            } else if BEGIN.starts_with(begun) && rest.len() < BLANKS {
                self.held = rest;
                return (String::new(), String::new());
            } else {
                self.place = Place::Text;
                self.before.clear();
                return (String::new(), rest);
            }
        }
        let mut thought = String::new();
        if matches!(self.place, Place::Blank | Place::Inside) {
            if let Some((inside, behind)) = rest.split_once(END) {
                thought = self.thought(inside);
                rest = behind.to_owned();
                self.place = Place::Behind;
            } else {
                // All letters of the mark are of one byte.
                let held = (1..END.len()).rev().find(|length| rest.ends_with(&END[..*length])).unwrap_or_default();
                self.held = rest.split_off(rest.len() - held);
                return (self.thought(&rest), String::new());
            }
        }
        let said = rest.trim_start().to_owned();
        if !said.is_empty() {
            self.place = Place::Text;
            self.before.truncate(self.before.len() - said.len());
        }
        (thought, said)
    }

    /// What is left when the text is over: half a mark is none, and a thought that never ends goes to the end.
    pub(super) fn end(&mut self) -> (String, String) {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.place, Place::Text) {
            place @ (Place::Blank | Place::Inside) => {
                self.place = place;
                (self.thought(&held), String::new())
            }
            Place::Start | Place::Behind | Place::Text => (String::new(), held),
        }
    }

    /// A thought began and did not end.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.place, Place::Blank | Place::Inside)
    }

    /// The thought was the text: it is over.
    pub(super) fn give_up(&mut self) {
        *self = Self { place: Place::Text, held: String::new(), before: String::new() };
    }

    /// The thought with its marks and the blanks around it, as it came before the text; none where there is none.
    pub(super) fn tagged(self) -> Option<String> {
        let is_open = self.is_open();
        let begins = self.before.trim_start().starts_with(BEGIN);
        begins.then(|| if is_open { self.before + END } else { self.before })
    }

    /// The thought without the blanks that it begins with.
    fn thought(&mut self, piece: &str) -> String {
        let piece = if self.place == Place::Blank { piece.trim_start() } else { piece };
        if !piece.is_empty() {
            self.place = Place::Inside;
        }
        piece.to_owned()
    }
}
