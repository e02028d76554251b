//! Owns the bundled table of models: parsed once, searched by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Facts, Found};

/// The table as it is kept in memory.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) updated: String,
    pub(super) kinds: BTreeMap<String, Kind>,
}

/// The models of one kind of provider.
#[derive(Debug, Default)]
pub(super) struct Kind {
    /// What all of them have in common.
    common: Arc<Facts>,
    /// By the name, and by the form of it that is compared.
    rows: HashMap<String, Arc<Facts>>,
    /// The names of models, in order.
    names: BTreeMap<String, Arc<Facts>>,
}

/// The file as `make models` writes it.
#[derive(Deserialize)]
struct Written {
    updated: String,
    kinds: BTreeMap<String, Facts>,
    sellers: Vec<Seller>,
    models: Vec<Map<String, Value>>,
}

/// Another door to the models of a kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seller {
    kind: String,
    of: String,
    /// What is different behind it.
    #[serde(default)]
    with: Facts,
    /// The models end there on the same day.
    #[serde(default = "yes")]
    dates: bool,
}

const fn yes() -> bool {
    true
}

/// A row of the file: where it belongs, whether it only begins the names of models, and its facts.
fn row(mut members: Map<String, Value>) -> Option<(String, String, bool, Facts)> {
    let mut text = |name: &str| members.remove(name)?.as_str().map(str::to_owned);
    let (kind, id) = (text("kind")?, text("id")?);
    let is_family = members.remove("family").is_some();
    let facts = serde_json::from_value(Value::Object(members)).ok()?;
    Some((kind, id, is_family, facts))
}

/// A model of Bedrock that is asked in several regions has their name before its own: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
pub(in crate::model) fn without_region(name: &str) -> &str {
    const REGIONS: [&str; 8] = ["us-gov", "us", "eu", "apac", "au", "jp", "ca", "global"];
    name.split_once('.').filter(|(region, _)| REGIONS.contains(region)).map_or(name, |(_, plain)| plain)
}

/// Versions and dates are joined to a name by different signs in different places.
fn compared(name: &str) -> String {
    name.replace(['.', '@'], "-")
}

impl Kind {
    fn add(&mut self, id: &str, is_family: bool, facts: &Facts) {
        let facts = Arc::new(facts.over(&self.common));
        if !is_family {
            self.names.insert(id.to_owned(), Arc::clone(&facts));
        }
        self.rows.entry(compared(id)).or_insert_with(|| Arc::clone(&facts));
        self.rows.insert(id.to_owned(), facts);
    }

    /// The row of a name, else of the longest whole part that it begins with.
    fn row(&self, name: &str) -> Option<&Arc<Facts>> {
        let (exact, name) = (self.rows.get(name), compared(name));
        let shorter = name.rmatch_indices(|sign: char| !sign.is_ascii_alphanumeric()).map(|(at, _)| &name[..at]);
        exact.or_else(|| std::iter::once(&*name).chain(shorter).find_map(|part| self.rows.get(part)))
    }
}

impl Table {
    pub(super) fn bundled() -> Self {
        serde_json::from_str::<Written>(include_str!("bundled.json")).map(Self::of).unwrap_or_default()
    }

    fn of(written: Written) -> Self {
        let kind = |(name, common)| (name, Kind { common: Arc::new(common), ..Kind::default() });
        let mut kinds: BTreeMap<String, Kind> = written.kinds.into_iter().map(kind).collect();
        for (at, id, is_family, facts) in written.models.into_iter().filter_map(row) {
            for seller in written.sellers.iter().filter(|seller| seller.of == at) {
                let mut facts = seller.with.over(&facts);
                if !seller.dates {
                    (facts.deprecated_at, facts.retired_at, facts.replacement) = (None, None, None);
                }
                kinds.entry(seller.kind.clone()).or_default().add(&id, is_family, &facts);
            }
            kinds.entry(at).or_default().add(&id, is_family, &facts);
        }
        Self { updated: written.updated, kinds }
    }

    pub(super) fn find(&self, kind: &str, model: &str) -> Found {
        let Some(kind) = self.kinds.get(kind) else { return Found { facts: Arc::default(), is_known: false } };
        // An alias of OpenRouter for the newest model of a line.
        let model = model.strip_prefix('~').unwrap_or(model);
        let inner = model.rsplit_once('/').map_or(model, |(_, name)| name);
        let names = [model, inner, without_region(inner)];
        match names.into_iter().find_map(|name| kind.row(name)) {
            Some(facts) => Found { facts: Arc::clone(facts), is_known: true },
            None => Found { facts: Arc::clone(&kind.common), is_known: false },
        }
    }

    pub(super) fn models(&self, kind: &str) -> impl Iterator<Item = (&str, &Arc<Facts>)> {
        self.kinds.get(kind).into_iter().flat_map(|kind| &kind.names).map(|(name, facts)| (name.as_str(), facts))
    }
}
