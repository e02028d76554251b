//! Owns the parser of streamed answers: bytes to lines, lines to server-sent events.

use std::borrow::Cow;

/// A line or an event is longer than a provider may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a streamed line is longer than {0} bytes")]
pub struct TooLong(pub usize);

/// Cuts bytes into lines at LF, CR or CRLF, however they were split on the way. Also the reader of NDJSON.
#[derive(Debug)]
pub struct Lines {
    pending: Vec<u8>,
    after_return: bool,
    limit: usize,
}

impl Lines {
    /// A reader that refuses lines longer than `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { pending: Vec::new(), after_return: false, limit }
    }

    /// Takes bytes and gives the lines that they complete. Bytes that are no UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// A line is over the limit.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let (mut lines, mut rest) = (Vec::new(), bytes);
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let text = &rest[..end.unwrap_or(rest.len())];
            if self.pending.len() + text.len() > self.limit {
                return Err(TooLong(self.limit));
            }
            self.pending.extend_from_slice(text);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            lines.push(self.cut());
            rest = &rest[end + 1..];
        }
        Ok(lines)
    }

    /// The last line when the bytes ended without a line end.
    #[must_use]
    pub fn rest(mut self) -> Option<String> {
        (!self.pending.is_empty()).then(|| self.cut())
    }

    fn cut(&mut self) -> String {
        let line = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        line
    }
}

/// What a stream may begin with.
const MARK: char = '\u{feff}';

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its `event` field, else `message`.
    pub name: Cow<'static, str>,
    /// Its `data` lines, joined by line breaks; never empty.
    pub data: String,
}

/// Parses server-sent events like browsers: skips comments, events without data and an incomplete event at the end.
#[derive(Debug)]
pub struct Events {
    lines: Lines,
    begun: bool,
    name: String,
    data: Option<String>,
    stray: Option<String>,
}

impl Events {
    /// A reader that refuses lines and events longer than `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { lines: Lines::new(limit), begun: false, name: String::new(), data: None, stray: None }
    }

    /// Takes bytes and gives the events that they complete.
    ///
    /// # Errors
    /// A line or an event is over the limit.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<ServerEvent>, TooLong> {
        let mut events = Vec::new();
        for mut line in self.lines.feed(bytes)? {
            if !std::mem::replace(&mut self.begun, true) && line.starts_with(MARK) {
                line.drain(..MARK.len_utf8());
            }
            if line.is_empty() {
                events.extend(self.dispatch());
            } else {
                self.field(line)?;
            }
        }
        Ok(events)
    }

    /// The event that the end of the bytes left open. Browsers drop it; some servers leave the blank line after their last event out.
    ///
    /// # Errors
    /// The event is over the limit.
    pub fn rest(&mut self) -> Result<Option<ServerEvent>, TooLong> {
        let limit = self.lines.limit;
        let lines = std::mem::replace(&mut self.lines, Lines::new(limit));
        if let Some(line) = lines.rest() {
            self.field(line)?;
        }
        Ok(self.dispatch())
    }

    /// A line that belongs to no event and begins like a JSON object: some servers break off with such an error.
    pub const fn stray(&mut self) -> Option<String> {
        self.stray.take()
    }

    fn dispatch(&mut self) -> Option<ServerEvent> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take().filter(|data| !data.is_empty())?;
        Some(ServerEvent { name: if name.is_empty() { "message".into() } else { name.into() }, data })
    }

    fn field(&mut self, line: String) -> Result<(), TooLong> {
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                let begins = line.len() - value.len();
                self.add_data(line, begins)?;
            }
            _ if line.starts_with('{') => self.stray = Some(line),
            _ => {}
        }
        Ok(())
    }

    /// Takes the value that begins there in a line. Mostly there is one: then the line itself is kept.
    fn add_data(&mut self, mut line: String, begins: usize) -> Result<(), TooLong> {
        let limit = self.lines.limit;
        match &mut self.data {
            Some(data) if data.len() + line.len() - begins >= limit => return Err(TooLong(limit)),
            Some(data) => {
                data.push('\n');
                data.push_str(&line[begins..]);
            }
            None => {
                line.drain(..begins);
                self.data = Some(line);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut events = Events::new(1024);
        let found = pieces.iter().flat_map(|piece| events.feed(piece).expect("within the limit"));
        found.map(|event| (event.name.into_owned(), event.data)).collect()
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.into(), data.into())
    }

    #[test]
    fn reads_names_data_comments_and_all_line_ends() {
        let text = "\u{feff}: hello\nevent: a\r\ndata: 1\rdata:2\n\nid: 7\n\ndata\n\ndata:  x\n\ndata: cut off";
        assert_eq!(read(&[text.as_bytes()]), [pair("a", "1\n2"), pair("message", " x")]);
    }

    #[test]
    fn the_open_end_can_be_asked_for() {
        for (text, wanted) in [("data: a\n\ndata: b", Some("b")), ("data: b\n", Some("b")), ("data: b\ndata: c", Some("b\nc")), ("data: b\n\n", None), (": c", None)] {
            let mut events = Events::new(64);
            events.feed(text.as_bytes()).expect("within the limit");
            let rest = events.rest().expect("within the limit");
            assert_eq!(rest.map(|event| event.data).as_deref(), wanted, "{text:?}");
        }
    }

    #[test]
    fn an_object_outside_of_any_event_is_kept_apart() {
        let mut events = Events::new(64);
        let found = events.feed(b"data: a\n\n{\"b\": 1}\n\nother\ndata: {\n\n").expect("within the limit");
        assert_eq!(found.into_iter().map(|event| event.data).collect::<Vec<_>>(), ["a", "{"]);
        assert_eq!((events.stray().as_deref(), events.stray()), (Some("{\"b\": 1}"), None));
        events.feed(b"{\"c\"").expect("within the limit");
        assert_eq!((events.rest(), events.stray().as_deref()), (Ok(None), Some("{\"c\"")));
    }

    #[test]
    fn a_line_over_the_limit_is_refused() {
        let mut events = Events::new(8);
        assert_eq!(events.feed(b"data: 123456789"), Err(TooLong(8)));
        let mut many = Events::new(8);
        assert_eq!(many.feed(b"data: 12\ndata: 34\ndata: 56\ndata: 78\n"), Err(TooLong(8)));
    }

    #[test]
    fn a_last_line_without_end_is_kept_for_ndjson() {
        let mut lines = Lines::new(64);
        assert_eq!(lines.feed(b"{\"a\":1}\n{\"b\"").expect("short"), ["{\"a\":1}"]);
        assert_eq!(lines.rest(), Some("{\"b\"".into()));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            text in "(data: ?[a-zé€😀:]{0,6}|event: x|: c|id: 1|\\xff?)(\r\n|\n|\r|\n\n|\r\n\r\n){1,2}([a-z]{0,3}(\n|\r|data: ü\n\n)){0,8}",
            cuts in proptest::collection::vec(0usize..200, 0..12),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }
    }
}
