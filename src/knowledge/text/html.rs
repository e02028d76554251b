//! Owns the text of HTML pages: what a reader would see, paragraph by paragraph.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// What is inside of these is not text.
const HIDDEN: [&[u8]; 8] = [b"script", b"style", b"noscript", b"template", b"svg", b"math", b"iframe", b"object"];
/// These begin a paragraph of their own.
const BLOCKS: [&[u8]; 39] = [
    b"address", b"article", b"aside", b"blockquote", b"body", b"br", b"caption", b"dd", b"details", b"dialog", b"div", b"dl", b"dt",
    b"fieldset", b"figcaption", b"figure", b"footer", b"form", b"h1", b"h2", b"h3", b"h4", b"h5", b"h6", b"header", b"hr", b"legend", b"li",
    b"main", b"nav", b"ol", b"option", b"p", b"section", b"summary", b"table", b"title", b"tr", b"ul",
];

/// The text of a page. Attributes go by one at a time: a tag may have millions of them.
pub(super) fn text(page: &str) -> String {
    let (mut words, mut tag) = (Words::default(), Vec::new());
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
    words.text.trim().to_owned()
}

#[derive(Default)]
struct Words {
    text: String,
    /// The hidden element that is open, and how often inside of itself.
    hidden: Option<(Vec<u8>, usize)>,
    /// Inside of text whose blanks count.
    kept: usize,
}

impl Words {
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
                self.line();
                self.text.push_str("- ");
            }
            b"br" | b"tr" | b"dt" | b"dd" | b"option" => self.line(),
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
            b"li" | b"tr" => self.line(),
            b"td" | b"th" | b"br" => {}
            name if BLOCKS.contains(&name) => self.paragraph(),
            _ => {}
        }
    }

    fn add(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if self.kept > 0 {
            self.text.push_str(&text);
            return;
        }
        for letter in text.chars() {
            if !letter.is_whitespace() || letter == '\u{a0}' {
                self.text.push(if letter == '\u{a0}' { ' ' } else { letter });
            } else if !self.text.ends_with(char::is_whitespace) {
                self.text.push(' ');
            }
        }
    }

    /// The next text begins a line.
    fn line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// The next text begins a paragraph.
    fn paragraph(&mut self) {
        if self.text.ends_with("- ") {
            return;
        }
        self.line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn cell(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.text.push_str(" | ");
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(page: &str, wanted: &Expect) {
        wanted.assert_eq(&text(page));
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
