//! Owns the text of HTML pages: what a reader would see, paragraph by paragraph.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::outline::{Outline, Text};

/// What is inside of these is not text.
const HIDDEN: [&[u8]; 8] = [b"script", b"style", b"noscript", b"template", b"svg", b"math", b"iframe", b"object"];
/// These begin a paragraph of their own.
const BLOCKS: [&[u8]; 39] = [
    b"address", b"article", b"aside", b"blockquote", b"body", b"br", b"caption", b"dd", b"details", b"dialog", b"div", b"dl", b"dt",
    b"fieldset", b"figcaption", b"figure", b"footer", b"form", b"h1", b"h2", b"h3", b"h4", b"h5", b"h6", b"header", b"hr", b"legend", b"li",
    b"main", b"nav", b"ol", b"option", b"p", b"section", b"summary", b"table", b"title", b"tr", b"ul",
];

pub(super) fn read(page: &str) -> Text {
    let mut outline = Outline::default();
    write(page, &mut outline);
    outline.end()
}

/// Appends the text of a page. Attributes go by one at a time: a tag may have millions of them.
pub(super) fn write(page: &str, outline: &mut Outline) {
    let (mut words, mut tag) = (Words { outline, hidden: None, kept: 0, heading: None }, Vec::new());
    let mut hear = |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                tag.clear();
                tag.extend_from_slice(name);
            }
            CallbackEvent::CloseStartTag { self_closing } => words.open(&tag, self_closing),
            CallbackEvent::EndTag { name } => words.close(name),
            CallbackEvent::String { value } if words.shown() => words.add(value),
            CallbackEvent::String { .. }
            | CallbackEvent::AttributeName { .. }
            | CallbackEvent::AttributeValue { .. }
            | CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
        None
    };
    let mut emitter = CallbackEmitter::new(&mut hear);
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(page, emitter).for_each(drop);
}

struct Words<'a> {
    outline: &'a mut Outline,
    /// The hidden element that is open, and how often inside of itself.
    hidden: Option<(Vec<u8>, usize)>,
    /// Inside of text whose blanks count.
    kept: usize,
    /// Where a heading begins that is open, and its level.
    heading: Option<(usize, u8)>,
}

impl Words<'_> {
    const fn shown(&self) -> bool {
        self.hidden.is_none()
    }

    fn open(&mut self, name: &[u8], closed: bool) {
        if let Some((open, depth)) = &mut self.hidden {
            *depth += usize::from(open == name && !closed);
            return;
        }
        if HIDDEN.contains(&name) {
            self.hidden = (!closed).then(|| (name.to_vec(), 1));
            return;
        }
        match name {
            b"pre" | b"textarea" => {
                self.kept += 1;
                self.paragraph();
            }
            b"li" => {
                self.outline.line();
                self.outline.push("- ");
            }
            [b'h', level @ b'1'..=b'6'] => {
                self.paragraph();
                self.heading = Some((self.outline.text.len(), level - b'0'));
            }
            b"br" | b"tr" | b"dt" | b"dd" | b"option" => self.outline.line(),
            b"td" | b"th" => self.cell(),
            name if BLOCKS.contains(&name) => self.paragraph(),
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((open, depth)) = &mut self.hidden {
            *depth -= usize::from(open == name);
            if *depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match name {
            b"pre" | b"textarea" => {
                self.kept = self.kept.saturating_sub(1);
                self.paragraph();
            }
            [b'h', b'1'..=b'6'] => {
                if let Some((at, level)) = self.heading.take() {
                    self.outline.heading(at, level);
                }
                self.paragraph();
            }
            b"li" | b"tr" => self.outline.line(),
            b"td" | b"th" | b"br" => {}
            name if BLOCKS.contains(&name) => self.paragraph(),
            _ => {}
        }
    }

    fn add(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if self.kept > 0 {
            self.outline.push(&text);
        } else {
            self.outline.words(&text);
        }
    }

    /// The next text begins a paragraph.
    fn paragraph(&mut self) {
        if !self.outline.text.ends_with("- ") {
            self.outline.paragraph();
        }
    }

    fn cell(&mut self) {
        let text = &mut self.outline.text;
        if !text.is_empty() && !text.ends_with('\n') {
            text.truncate(text.trim_end_matches(' ').len());
            self.outline.push(" | ");
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(page: &str, wanted: &Expect) {
        wanted.assert_eq(&read(page).text);
    }

    #[test]
    fn what_a_reader_sees_stays() {
        check(
            "<!doctype html><html><head><title>Refunds</title><style>p{}</style><script>if (a<b) { x('</p>') }</script></head><body>\
             <h1>Money  back</h1><p>Within\n 30&nbsp;days,&#x20;<b>al</b>ways &amp; fast.<br>Really.</p><!-- no -->\
             <ul><li>One<li><p>Two</p></li></ul><table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table>\
             <pre>x\n  y</pre><noscript>no</noscript><svg><text>no</text></svg>Fin",
            &expect![[r#"
                Refunds

                Money back

                Within 30 days, always & fast.
                Really.

                - One
                - Two

                a | b
                c

                x
                  y

                Fin"#]],
        );
    }

    #[test]
    fn broken_pages_end() {
        check("<p>a<div>b</span></p", &expect!["a\n\nb"]);
        check("<script>never closed <p>text", &expect![""]);
        check("<template><template>x</template></template>y", &expect!["y"]);
        check(&"<div>".repeat(100_000), &expect![""]);
    }
}
