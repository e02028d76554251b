//! Owns reading single members of a JSON text: what nobody asks for is passed over, no value is made of it, and that its numbers and escapes
//! mean something is not looked at.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Result;
use serde_json::value::RawValue;

/// The members of an object that have these names, as they stand in its text, the last one of a name; none of anything else.
pub(super) fn members<'t, const N: usize>(text: &'t str, names: &[&str; N]) -> Result<[Option<&'t RawValue>; N]> {
    if !text.trim_ascii_start().starts_with('{') {
        return Ok([None; N]);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let found = reader.deserialize_map(Members(names))?;
    reader.end()?;
    Ok(found)
}

/// The first item of a list; none of anything else.
pub(super) fn first(list: &RawValue) -> Result<Option<&RawValue>> {
    if !list.get().starts_with('[') {
        return Ok(None);
    }
    serde_json::Deserializer::from_str(list.get()).deserialize_seq(First)
}

struct Members<'n, const N: usize>(&'n [&'n str; N]);

impl<'t, const N: usize> Visitor<'t> for Members<'_, N> {
    type Value = [Option<&'t RawValue>; N];

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> std::result::Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(place) = members.next_key_seed(Name(self.0))? {
            match place {
                Some(place) => found[place] = Some(members.next_value()?),
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// The place of a name among those that are asked for.
struct Name<'n, const N: usize>(&'n [&'n str; N]);

impl<'t, const N: usize> DeserializeSeed<'t> for Name<'_, N> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'t>>(self, name: D) -> std::result::Result<Self::Value, D::Error> {
        name.deserialize_str(self)
    }
}

impl<const N: usize> Visitor<'_> for Name<'_, N> {
    type Value = Option<usize>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> std::result::Result<Self::Value, E> {
        Ok(self.0.iter().position(|wanted| *wanted == name))
    }
}

struct First;

impl<'t> Visitor<'t> for First {
    type Value = Option<&'t RawValue>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> std::result::Result<Self::Value, A::Error> {
        let first = items.next_element()?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<const N: usize>(text: &str, names: &[&str; N]) -> Result<[Option<String>; N]> {
        Ok(members(text, names)?.map(|member| member.map(|member| member.get().to_owned())))
    }

    #[test]
    fn members_are_read_as_they_stand() {
        let text = r#" {"a": [1, {"b": 2}], "b\u0063": {"a": "}"} , "a": null, "d": 7}"#;
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(text, &["a", "bc", "b", "d"]).unwrap(), [some("null"), some(r#"{"a": "}"}"#), None, some("7")]);
        for other in ["[]", "7", "null", "\"{}\"", ""] {
            assert_eq!(texts(other, &["a"]).unwrap(), [None], "{other}");
        }
        for broken in ["{oops", r#"{"a": 1"#, r#"{"a": 1} 2"#, r#"{"x": [}"#] {
            texts(broken, &["a"]).expect_err(broken);
        }
    }

    #[test]
    fn the_first_item_is_read() {
        for (list, wanted) in [("[{\"a\": 1}, 2]", Some("{\"a\": 1}")), ("[]", None), ("{\"a\": 1}", None), ("7", None)] {
            let list: &RawValue = serde_json::from_str(list).unwrap();
            assert_eq!(first(list).unwrap().map(RawValue::get), wanted);
        }
    }
}
