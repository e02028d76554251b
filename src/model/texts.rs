//! Owns the user-visible texts, by key and language.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// A language of the studio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locale {
    /// English.
    #[default]
    #[serde(rename = "en")]
    En,
    /// Brazilian Portuguese.
    #[serde(rename = "pt_BR")]
    PtBr,
}

type Catalog = HashMap<String, String>;

static EN: LazyLock<Catalog> = LazyLock::new(|| serde_json::from_str(include_str!("../../lang/en.json")).unwrap_or_default());
static PT_BR: LazyLock<Catalog> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../lang/pt_BR.json")).unwrap_or_default());

/// Reads the texts now rather than when the first is wanted.
pub(super) fn prepare() {
    LazyLock::force(&EN);
    LazyLock::force(&PT_BR);
}

impl Locale {
    /// The language of a name such as `pt_BR` or `pt-BR`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().replace('-', "_").as_str() {
            "en" => Some(Self::En),
            "pt_br" => Some(Self::PtBr),
            _ => None,
        }
    }

    fn catalog(self) -> &'static Catalog {
        match self {
            Self::En => &EN,
            Self::PtBr => &PT_BR,
        }
    }
}

/// The text of a key, with each `{name}` replaced once. An unknown key is its own text.
pub fn text(locale: Locale, key: &str, values: &[(&str, &str)]) -> String {
    let catalog = locale.catalog();
    let Some(text) = catalog.get(key).or_else(|| EN.get(key)) else { return key.to_owned() };
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let named =
            after.split_once('}').and_then(|(name, tail)| Some((values.iter().find(|(known, _)| *known == name)?.1, tail)));
        match named {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn placeholders(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect()
    }

    #[test]
    fn every_text_is_there_in_both_languages_with_the_same_placeholders() {
        assert!(!EN.is_empty());
        assert_eq!(EN.keys().collect::<BTreeSet<_>>(), PT_BR.keys().collect::<BTreeSet<_>>());
        for (key, text) in EN.iter() {
            assert_eq!(placeholders(text), placeholders(&PT_BR[key]), "{key}");
        }
    }

    #[test]
    fn placeholders_are_replaced_once() {
        assert_eq!(text(Locale::En, "no {such} key", &[]), "no {such} key");
        let said = text(Locale::En, "issue.title_invalid.duplicate", &[("node", "{title}"), ("title", "{node}")]);
        assert!(said.contains("{title}") && said.contains("{node}"), "{said}");
    }
}
