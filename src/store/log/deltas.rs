//! Owns the column of streamed pieces: texts as a list, reasoning as a list under a name.

use std::fmt;
use std::sync::Arc;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::store::StoreError;
use crate::store::db::to_json;
use crate::store::log::TokenRow;

/// The name that stands before thoughts.
const THOUGHT: &str = "reasoning";

/// The pieces of one row.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Deltas {
    pub(super) thought: bool,
    pub(super) texts: Vec<Arc<str>>,
}

/// The pieces of a row as they are stored.
pub(super) fn written(row: &TokenRow) -> Result<String, StoreError> {
    let texts = to_json(&row.deltas)?;
    Ok(if row.thought { format!("{{\"{THOUGHT}\":{texts}}}") } else { texts })
}

impl<'de> Deserialize<'de> for Deltas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Deltas;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of texts, alone or under a name")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Deltas, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = items.next_element()? {
            texts.push(text);
        }
        Ok(Deltas { thought: false, texts })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Deltas, A::Error> {
        let mut texts = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            if name == THOUGHT {
                texts = members.next_value()?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Deltas { thought: true, texts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_told_from_texts() {
        let texts: Vec<Arc<str>> = vec!["Hm".into(), "m.".into()];
        for (thought, stored) in [(false, r#"["Hm","m."]"#), (true, r#"{"reasoning":["Hm","m."]}"#)] {
            let row = TokenRow { n: 1, after_seq: 1, lane: 0, step: crate::model::Id(uuid::Uuid::nil()), publish_reply: true, thought, count: 2, deltas: texts.clone() };
            assert_eq!(written(&row).expect("JSON"), stored);
            assert_eq!(serde_json::from_str::<Deltas>(stored).expect("pieces"), Deltas { thought, texts: texts.clone() });
        }
        assert_eq!(serde_json::from_str::<Deltas>("[]").expect("expired"), Deltas::default());
    }
}
