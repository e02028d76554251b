//! Owns Amazon's event streams: binary frames with two checksums, whose payloads are JSON.
//!
//! A frame is its length, the length of its headers, a checksum of these eight bytes, the headers, the payload, and a checksum of all before it:
//! <https://smithy.io/2.0/aws/amazon-eventstream.html>.

use bytes::{Buf, BytesMut};
use serde_json::{Value, json};

/// Lengths and their checksum.
const PRELUDE: usize = 12;
/// The prelude and the checksum at the end.
const SMALLEST: usize = PRELUDE + 4;
/// What the format allows for a frame and its headers.
const LARGEST: usize = (24 << 20) + SMALLEST;
const MOST_HEADERS: usize = 128 << 10;

/// Frames while their bytes come. What is broken stays broken: where the next frame would begin is not known.
#[derive(Debug)]
pub(super) struct Frames {
    bytes: BytesMut,
    limit: usize,
    broken: Option<String>,
}

/// What the headers of a frame say.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    message: String,
    event: String,
    exception: String,
    code: String,
    text: String,
}

impl Frames {
    /// None has come; none is longer than `limit`.
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: BytesMut::new(), limit: limit.min(LARGEST), broken: None }
    }

    /// Every byte so far belongs to a whole frame.
    pub(super) fn is_between(&self) -> bool {
        self.bytes.is_empty() && self.broken.is_none()
    }

    /// The frames that are whole with these bytes, each as the JSON `{"<event>": payload}`, an exception as `{"error": {"type", "message"}}`;
    /// and what is wrong with the next one, if anything is.
    pub(super) fn feed(&mut self, piece: &[u8]) -> (Vec<String>, Option<String>) {
        let mut found = Vec::new();
        if self.broken.is_none() {
            self.bytes.extend_from_slice(piece);
        }
        while self.broken.is_none() {
            match self.next() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(problem) => self.broken = Some(problem),
            }
        }
        (found, self.broken.clone())
    }

    fn next(&mut self) -> Result<Option<String>, String> {
        let Some(prelude) = self.bytes.get(..PRELUDE) else { return Ok(None) };
        let (length, headers) = (number(prelude), number(&prelude[4..]));
        if crc32fast::hash(&prelude[..8]) != word(&prelude[8..]) {
            return Err("the checksum of a frame's lengths is wrong".into());
        }
        if length < SMALLEST || headers > MOST_HEADERS || headers > length - SMALLEST {
            return Err(format!("a frame of {length} bytes with {headers} bytes of headers is impossible"));
        }
        if length > self.limit {
            return Err(format!("a frame of {length} bytes is larger than {} bytes", self.limit));
        }
        if self.bytes.len() < length {
            return Ok(None);
        }
        let frame = self.bytes.split_to(length);
        let (body, sum) = frame.split_at(length - 4);
        if crc32fast::hash(body) != word(sum) {
            return Err("the checksum of a frame is wrong".into());
        }
        let head = Head::read(&body[PRELUDE..PRELUDE + headers]).ok_or("the headers of a frame cannot be read")?;
        head.as_json(&body[PRELUDE + headers..]).map(Some)
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |four| u32::from_be_bytes(*four))
}

fn number(bytes: &[u8]) -> usize {
    usize::try_from(word(bytes)).unwrap_or(usize::MAX)
}

impl Head {
    /// Names and values one after another; values of other kinds than text are skipped.
    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut head = Self::default();
        while !bytes.is_empty() {
            let length = usize::from(bytes.try_get_u8().ok()?);
            let name = take(&mut bytes, length)?;
            let kind = bytes.try_get_u8().ok()?;
            let length = match kind {
                0 | 1 => 0,
                2 => 1,
                3 => 2,
                4 => 4,
                5 | 8 => 8,
                6 | 7 => usize::from(bytes.try_get_u16().ok()?),
                9 => 16,
                _ => return None,
            };
            let value = take(&mut bytes, length)?;
            let slot = match name {
                b":message-type" => &mut head.message,
                b":event-type" => &mut head.event,
                b":exception-type" => &mut head.exception,
                b":error-code" => &mut head.code,
                b":error-message" => &mut head.text,
                _ => continue,
            };
            if kind == 7 {
                *slot = std::str::from_utf8(value).ok()?.to_owned();
            }
        }
        Some(head)
    }

    fn as_json(&self, payload: &[u8]) -> Result<String, String> {
        let payload = std::str::from_utf8(payload).map_err(|_| "the payload of a frame is no text")?;
        match self.message.as_str() {
            "error" => Ok(json!({"error": {"type": self.code, "message": self.text}}).to_string()),
            "exception" => {
                let told: Value = crate::json::read(payload.as_bytes()).unwrap_or(Value::Null);
                let text = ["message", "Message", "originalMessage"].into_iter().find_map(|name| told.get(name)?.as_str());
                Ok(json!({"error": {"type": self.exception, "message": text.unwrap_or(payload)}}).to_string())
            }
            "event" if payload.trim().is_empty() => Ok(json!({ &self.event: {} }).to_string()),
            "event" => Ok(format!("{{{}:{payload}}}", Value::from(self.event.as_str()))),
            other => Err(format!("a frame is of the kind `{other}`")),
        }
    }
}

fn take<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// A frame with headers that are texts.
#[cfg(test)]
pub(super) fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).expect("a short name"));
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&u16::try_from(value.len()).expect("a short value").to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).expect("a small frame").to_be_bytes();
    let mut frame = [length(SMALLEST + head.len() + payload.len()), length(head.len())].concat();
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame.extend_from_slice(&head);
    frame.extend_from_slice(payload.as_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, payload: &str) -> Vec<u8> {
        frame(&[(":message-type", "event"), (":event-type", name), (":content-type", "application/json")], payload)
    }

    fn read(bytes: &[u8], piece: usize) -> (Vec<String>, Option<String>, bool) {
        let mut frames = Frames::new(1 << 20);
        let (mut all, mut broken) = (Vec::new(), None);
        for piece in bytes.chunks(piece) {
            let (found, problem) = frames.feed(piece);
            all.extend(found);
            broken = broken.or(problem);
        }
        (all, broken, frames.is_between())
    }

    #[test]
    fn events_and_exceptions_become_json() {
        let exception = frame(&[(":message-type", "exception"), (":exception-type", "throttlingException")], r#"{"message":"slow"}"#);
        let error = frame(&[(":message-type", "error"), (":error-code", "x"), (":error-message", "m")], "");
        let bytes = [event("a", r#"{"p":1}"#), event("b", ""), exception, error].concat();
        let wanted = [r#"{"a":{"p":1}}"#, r#"{"b":{}}"#, r#"{"error":{"type":"throttlingException","message":"slow"}}"#, r#"{"error":{"type":"x","message":"m"}}"#];
        for piece in [1, 7, 1000] {
            let (found, broken, between) = read(&bytes, piece);
            assert_eq!((found, broken, between), (wanted.map(str::to_owned).to_vec(), None, true));
        }
    }

    /// The test vectors `empty_message` and `payload_no_headers` of Amazon's libraries.
    #[test]
    fn checksums_are_those_of_the_format() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&frame(&[], "")), "000000100000000005c248eb7d98c8ff");
        assert_eq!(hex(&frame(&[], "{'foo':'bar'}")), "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936");
    }

    #[test]
    fn what_is_wrong_is_told_and_ends_the_reading() {
        let good = event("a", "{}");
        let changed = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            [good.clone(), bytes, good.clone()].concat()
        };
        let lengths = |length: u32, headers: u32| {
            let mut bytes = [length.to_be_bytes(), headers.to_be_bytes()].concat();
            bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
            bytes
        };
        for (bytes, wanted) in [
            (changed(3), "the checksum of a frame's lengths is wrong"),
            (changed(good.len() - 6), "the checksum of a frame is wrong"),
            (changed(good.len() - 1), "the checksum of a frame is wrong"),
            (lengths(12, 0), "a frame of 12 bytes with 0 bytes of headers is impossible"),
            (lengths(100, 99), "a frame of 100 bytes with 99 bytes of headers is impossible"),
            (lengths(u32::MAX, 0), "a frame of 4294967295 bytes is larger than 1048576 bytes"),
            (frame(&[(":message-type", "odd")], ""), "a frame is of the kind `odd`"),
        ] {
            let (_, broken, between) = read(&bytes, 5);
            assert_eq!((broken.as_deref(), between), (Some(wanted), false));
        }
        let (found, broken, between) = read(&good[..good.len() - 1], 3);
        assert_eq!((found.len(), broken, between), (0, None, false), "a frame that is cut is no frame");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300), sound: bool, piece in 1usize..40) {
            let bytes = if sound { [event("a", "{}"), frame(&[(":message-type", "event")], &String::from_utf8_lossy(&bytes)), bytes].concat() } else { bytes };
            let cut = read(&bytes, piece);
            prop_assert_eq!(read(&bytes, 1000), cut);
        }
    }
}
