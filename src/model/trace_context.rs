//! Owns W3C Trace Context: `traceparent` and `tracestate`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Letters of a `traceparent` that has nothing behind its flags.
const LENGTH: usize = 55;
/// Members of a `tracestate`.
const MEMBERS: usize = 32;
/// Letters of a `tracestate` that are passed on.
const STATE: usize = 512;
/// A longer member is left out first when there are too many letters.
const LONG: usize = 128;
/// Letters that are read of either.
const READ: usize = 16 << 10;
/// The flag of what is recorded.
pub const SAMPLED: u8 = 0b01;
/// That, and a random trace id: the flags that are known.
const KNOWN: u8 = 0b11;

/// The span that a piece of work belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace: u128,
    /// The span in it.
    pub span: u64,
    /// Its flags: bit 0 says that it is sampled.
    pub flags: u8,
    /// What other systems want passed on.
    pub state: Option<Box<str>>,
}

impl TraceContext {
    /// Reads what a request carries. Nothing when its `traceparent` is malformed; without the state when only that is.
    #[must_use]
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let parent = trimmed(parent);
        let bytes = parent.as_bytes();
        if bytes.len() < LENGTH || bytes.len() > READ || [2, 35, 52].iter().any(|at| bytes[*at] != b'-') {
            return None;
        }
        let version = hex(bytes.get(..2)?)?;
        let more = bytes.len() > LENGTH;
        if version == 0xff || (more && (version == 0 || bytes[LENGTH] != b'-')) {
            return None;
        }
        let (trace, span) = (hex(bytes.get(3..35)?)?, u64::try_from(hex(bytes.get(36..52)?)?).ok()?);
        let flags = u8::try_from(hex(bytes.get(53..LENGTH)?)?).ok()? & KNOWN;
        let state = state.and_then(read_state);
        (trace != 0 && span != 0).then_some(Self { trace, span, flags, state })
    }

    /// As `traceparent` says it.
    pub fn parent(&self) -> String {
        self.to_string()
    }

    /// The names and values that carry it.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, String)> {
        let state = self.state.as_deref().map(|state| ("tracestate", state.to_owned()));
        std::iter::once(("traceparent", self.parent())).chain(state)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// A number in lower-case hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number: u128, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some((number << 4) | u128::from(value))
    })
}

/// The members that are passed on; none when one of them is malformed, or said twice.
fn read_state(text: &str) -> Option<Box<str>> {
    if text.len() > READ {
        return None;
    }
    let mut members: Vec<&str> = text.split(',').map(trimmed).filter(|member| !member.is_empty()).collect();
    let mut keys = Vec::with_capacity(members.len());
    for member in &members {
        let (key, value) = member.split_once('=')?;
        if !is_key(key) || !is_value(value) || keys.contains(&key) {
            return None;
        }
        keys.push(key);
    }
    if members.is_empty() || members.len() > MEMBERS {
        return None;
    }
    let length = |members: &[&str]| members.iter().map(|member| member.len() + 1).sum::<usize>().saturating_sub(1);
    while length(&members) > STATE {
        let long = members.iter().rposition(|member| member.len() > LONG);
        members.remove(long.unwrap_or(members.len() - 1));
    }
    (!members.is_empty()).then(|| members.join(",").into())
}

/// `vendor`, or `tenant@vendor`.
fn is_key(key: &str) -> bool {
    let fits = |text: &str, most: usize, first: fn(char) -> bool| {
        text.len() <= most
            && text.starts_with(first)
            && text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '_' | '-' | '*' | '/'))
    };
    let begins = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    match key.split_once('@') {
        Some((tenant, vendor)) => fits(tenant, 241, begins) && fits(vendor, 14, |letter| letter.is_ascii_lowercase()),
        None => fits(key, 256, begins),
    }
}

/// Printable ASCII without commas and equals signs; no space at its end.
fn is_value(value: &str) -> bool {
    let fits = |byte: u8| (b' '..=b'~').contains(&byte) && !matches!(byte, b',' | b'=');
    (1..=256).contains(&value.len()) && value.bytes().all(fits) && !value.ends_with(' ')
}

/// As it is stored: the two texts, joined by a space where there is a state.
impl Serialize for TraceContext {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.state {
            Some(state) => to.collect_str(&format_args!("{self} {state}")),
            None => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for TraceContext {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let (parent, state) = text.split_once(' ').map_or((text.as_str(), None), |(parent, state)| (parent, Some(state)));
        Self::parse(parent, state).ok_or_else(|| de::Error::custom("it is no trace context"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn read(parent: &str) -> Option<String> {
        TraceContext::parse(parent, None).map(|context| context.parent())
    }

    #[test]
    fn a_parent_is_read_as_it_is_written_and_malformed_ones_are_nothing() {
        let whole = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!(read(&whole).as_deref(), Some(whole.as_str()));
        assert_eq!(read(&format!(" \t{whole} ")).as_deref(), Some(whole.as_str()));
        assert_eq!(read(&format!("00-{TRACE}-{SPAN}-fe")), Some(format!("00-{TRACE}-{SPAN}-02")), "unknown flags are not passed on");
        assert_eq!(read(&format!("cc-{TRACE}-{SPAN}-01-what-comes")), Some(whole.clone()), "a later version is read as far as it is known");
        assert_eq!(read(&format!("cc-{TRACE}-{SPAN}-01")), Some(whole.clone()));
        let zeros = "0".repeat(32);
        for wrong in [
            String::new(),
            "00".into(),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("cc-{TRACE}-{SPAN}-01.more"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", SPAN.to_uppercase()),
            format!("0X-{TRACE}-{SPAN}-01"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("00_{TRACE}_{SPAN}_01"),
            format!("00-{}é-{SPAN}-01", &TRACE[..30]),
            format!("{whole},{whole}"),
        ] {
            assert_eq!(read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_state_is_passed_on_within_its_limits_and_left_out_when_it_is_malformed() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let read = |state: &str| TraceContext::parse(&parent, Some(state)).expect("the parent is read all the same").state.map(String::from);
        let many = |count: usize| (0..count).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(",");
        for (state, wanted) in [
            ("a=1", Some("a=1")),
            (" a=1 ,\t, b@c=x y ", Some("a=1,b@c=x y")),
            ("0a_-*/=!~", Some("0a_-*/=!~")),
            ("", None),
            (",", None),
            ("a", None),
            ("A=1", None),
            ("a=1,a=2", None),
            ("a=", None),
            ("a=1=2", None),
            ("a=é", None),
            ("a=1\r\nx: y", None),
            ("@a=1", None),
            ("a@0b=1", None),
        ] {
            assert_eq!(read(state).as_deref(), wanted, "{state:?}");
        }
        assert_eq!((read(&many(32)), read(&many(33))), (Some(many(32)), None));
        let (long, short) = (format!("long={}", "x".repeat(200)), format!("short={}", "y".repeat(100)));
        let three = format!("{short},{long},b={},c=1", "z".repeat(240));
        assert_eq!(read(&three), Some(format!("{short},{long},c=1")), "the last long one goes first");
        let all = (0..6).map(|at| format!("k{at}={}", "x".repeat(100))).collect::<Vec<_>>();
        assert_eq!(read(&all.join(",")), Some(all[..4].join(",")), "then whatever is last");
    }

    #[test]
    fn it_is_stored_as_a_text_and_read_back() {
        for state in [None, Some("a=1,b=x y")] {
            let context = TraceContext::parse(&format!("00-{TRACE}-{SPAN}-00"), state).expect("a context");
            let text = serde_json::to_string(&context).expect("JSON");
            assert_eq!(serde_json::from_str::<TraceContext>(&text).expect("it is read"), context, "{text}");
        }
        assert!(serde_json::from_str::<TraceContext>("\"00-x\"").is_err());
    }
}
