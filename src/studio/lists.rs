//! Owns paginated lists: query parameters, opaque cursors, the answer.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// How many items a page has when nothing else is said.
const USUAL: usize = 25;
/// How much text can be looked for.
const LONGEST: usize = 1000;
/// More than this is never sent at once.
const MOST: usize = 100;

/// What a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// Text that the items contain.
    pub q: Option<String>,
    /// Items of a page.
    pub limit: usize,
    /// Where the page begins: the key of the last item of the page before.
    pub after: Option<String>,
    /// Further parts of the items that are wanted.
    pub include: Vec<String>,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self { q: None, limit: USUAL, after: None, include: Vec::new() }
    }
}

impl ListQuery {
    /// Reads `q`, `limit`, `cursor` and `include` of a query string's pairs; others are ignored.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        Self::parse_with(pairs, USUAL)
    }

    /// Same, for a list with longer pages.
    pub fn parse_with<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, usual: usize) -> Result<Self> {
        let mut query = Self { limit: usual, ..Self::default() };
        for (name, text) in pairs {
            match name {
                "q" => query.q = searched(text.trim())?,
                "limit" if !text.is_empty() => query.limit = limit(text)?,
                "cursor" if !text.is_empty() => query.after = Some(open(text)?),
                "include" => query.include = text.split(',').map(|part| part.trim().to_owned()).collect(),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Is a further part wanted?
    pub fn includes(&self, part: &str) -> bool {
        self.include.iter().any(|wanted| wanted == part)
    }
}

/// A text to look for; a database refuses very long ones.
fn searched(text: &str) -> Result<Option<String>> {
    if text.chars().count() > LONGEST {
        return Err(Error::field("q", format!("q must have at most {LONGEST} characters")));
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

fn limit(text: &str) -> Result<usize> {
    match text.parse::<usize>() {
        Ok(limit) if limit >= 1 => Ok(limit.min(MOST)),
        Ok(_) | Err(_) => Err(Error::field("limit", format!("limit must be an integer from 1 to {MOST}"))),
    }
}

/// A key as a cursor.
pub fn seal(key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("1{key}"))
}

/// The key of a cursor.
pub fn open(cursor: &str) -> Result<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text.as_deref().and_then(|text| text.strip_prefix('1'));
    key.map(str::to_owned).ok_or_else(|| Error::field("cursor", "cursor is not one that a list gave"))
}

/// One page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The items.
    pub data: Vec<Value>,
    /// What to ask for the next page with; none on the last.
    pub next_cursor: Option<String>,
}

impl Page {
    /// A page of at most `limit` of the found items; one more item means that there is another page.
    pub fn of<T>(mut found: Vec<T>, limit: usize, key: impl Fn(&T) -> String, mut show: impl FnMut(T) -> Value) -> Self {
        let more = found.len() > limit;
        found.truncate(limit);
        let next_cursor = found.last().filter(|_| more).map(|last| seal(&key(last)));
        Self { data: found.into_iter().map(&mut show).collect(), next_cursor }
    }

    /// As it is answered.
    pub fn into_json(self) -> Value {
        json!({"data": self.data, "next_cursor": self.next_cursor})
    }
}

/// One page of a list that is written item by item: the text that is answered.
#[derive(Clone, Debug, Default)]
pub struct WrittenPage {
    items: Vec<u8>,
    next_cursor: Option<String>,
}

/// What a page begins with.
const BEGINNING: &[u8] = b"{\"data\":[";

impl WrittenPage {
    /// Adds an item, which writes itself.
    pub(super) fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.items.is_empty() {
            self.items.reserve(48 << 10);
            self.items.extend(BEGINNING);
        } else {
            self.items.push(b',');
        }
        write(&mut self.items);
    }

    /// There may be more behind this place.
    pub(super) fn go_on(&mut self, next: Option<impl Display>) {
        self.next_cursor = next.map(|place| seal(&place.to_string()));
    }

    /// As it is answered: JSON.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        let next = self.next_cursor.map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
        if self.items.is_empty() {
            self.items.extend(BEGINNING);
        }
        self.items.extend(format!("],\"next_cursor\":{next}}}").into_bytes());
        self.items
    }

    /// As it is answered, read.
    pub fn into_json(self) -> Value {
        serde_json::from_slice(&self.into_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_capped_and_nonsense_is_refused() {
        let limit = |text| ListQuery::parse([("limit", text)]).map(|query| query.limit).ok();
        assert_eq!((limit("7"), limit("5000"), limit("0"), limit("-1"), limit("x")), (Some(7), Some(100), None, None, None));
        assert_eq!(ListQuery::parse([]).expect("a query").limit, 25);
        let long = |letters| ListQuery::parse([("q", "\u{e7}".repeat(letters).as_str())]).is_ok();
        assert_eq!((long(1000), long(1001)), (true, false));
    }

    #[test]
    fn a_cursor_gives_its_key_back_and_others_are_refused() {
        let query = ListQuery::parse([("cursor", seal("k-7").as_str())]).expect("a query");
        assert_eq!(query.after.as_deref(), Some("k-7"));
        for bad in ["k-7", "%%", "MA"] {
            let refused = ListQuery::parse([("cursor", bad)]).expect_err("refused");
            assert!(refused.members["errors"].get("cursor").is_some());
        }
    }

    #[test]
    fn only_a_page_with_more_behind_it_has_a_cursor() {
        let page = |found: Vec<u8>| Page::of(found, 2, |n| n.to_string(), |n| json!(n));
        assert_eq!(page(vec![1, 2, 3]).next_cursor, Some(seal("2")));
        assert_eq!(page(vec![1, 2]).next_cursor, None);
    }
}
