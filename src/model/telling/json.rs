//! Owns a writer for one JSON object, field by field, without a tree of values.

use std::io::Write;

use serde::Serialize;
use serde_json::Value;

/// An object that is being written.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Object<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    fn name(&mut self, name: &str) {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    pub(super) fn put(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> &mut Self {
        self.name(name);
        let start = self.out.len();
        if serde_json::to_writer(&mut *self.out, value).is_err() {
            self.out.truncate(start);
            self.out.extend_from_slice(b"null");
        }
        self
    }

    /// A value under a name that may need escapes.
    pub(super) fn field(&mut self, name: &str, value: &Value) {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        let _infallible = serde_json::to_writer(&mut *self.out, name);
        self.out.push(b':');
        let _infallible = serde_json::to_writer(&mut *self.out, value);
    }

    /// Text that needs no escapes: ids, codes, names of ours.
    pub(super) fn plain(&mut self, name: &str, text: &str) -> &mut Self {
        self.name(name);
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
        self
    }

    pub(super) fn id(&mut self, name: &str, id: super::super::Id) -> &mut Self {
        let mut buffer = [0; uuid::fmt::Hyphenated::LENGTH];
        let text = id.0.as_hyphenated().encode_lower(&mut buffer);
        self.plain(name, text)
    }

    /// JSON that is written already.
    pub(super) fn raw(&mut self, name: &str, json: &[u8]) -> &mut Self {
        self.name(name);
        self.out.extend_from_slice(json);
        self
    }

    pub(super) fn number(&mut self, name: &str, number: u64) -> &mut Self {
        self.name(name);
        let _infallible = write!(self.out, "{number}");
        self
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, name: &str, flag: bool) -> &mut Self {
        self.name(name);
        self.out.extend_from_slice(if flag { b"true" } else { b"false" });
        self
    }

    /// A number or `null`.
    pub(super) fn maybe(&mut self, name: &str, number: Option<u32>) -> &mut Self {
        match number {
            Some(number) => self.number(name, u64::from(number)),
            None => self.put(name, &()),
        }
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }
}
