//! Owns the checks of the doctor for models in use: retired and unknown ones, and the age of the table.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Diagnosis, Studio};
use crate::model::{Timestamp, registry};
use crate::store::upkeep::health;

/// Definitions that are read at once.
const DEFINITIONS: usize = 200;
const DAY: i64 = 86_400_000;
/// The number of days before its end in which a model is reported.
const NOTICE: i64 = 60;
/// A table that is older knows too little.
const STALE: i64 = 90;
/// Users of a model that are named.
const NAMED: usize = 3;

/// Who uses each model: provider and model, slugs.
type Uses = BTreeMap<(String, String), BTreeSet<String>>;

/// Looks at the models of the configuration and of all stored definitions.
pub(super) async fn models(studio: &Studio, found: &mut Diagnosis) {
    let now = studio.world().clock.now();
    table(now, found);
    let before = found.0.len();
    let mut uses = configured(studio).await;
    if let Err(problem) = stored(studio, &mut uses).await {
        return found.fail("models", problem);
    }
    for ((provider, model), users) in &uses {
        one(studio, now, (provider, model), users, found);
    }
    if found.0.len() == before {
        found.fine("models", format!("{} in use; none of them ends within {NOTICE} days", uses.len()));
    }
}

fn table(now: Timestamp, found: &mut Diagnosis) {
    let updated = registry::updated();
    let oldest = Timestamp(now.0.saturating_sub(STALE * DAY)).rfc3339();
    if oldest.get(..updated.len()).is_some_and(|oldest| updated < oldest) {
        let text = format!("the bundled tables of models and prices are of {updated}, older than {STALE} days; take a newer release");
        found.warn("models", text);
    }
}

async fn configured(studio: &Studio) -> Uses {
    let config = studio.config();
    let mut uses = Uses::new();
    let (provider, model) = studio.world().providers.default_model("").await;
    uses.entry((provider.clone(), model.clone())).or_default().insert("default_model".to_owned());
    let summarizer = &config.memory.summarizer;
    if summarizer.provider.is_some() || summarizer.model.is_some() {
        let of = (summarizer.provider.clone().unwrap_or(provider), summarizer.model.clone().unwrap_or(model));
        uses.entry(of).or_default().insert("memory.summarizer".to_owned());
    }
    uses
}

async fn stored(studio: &Studio, uses: &mut Uses) -> Result<(), String> {
    let mut after = 0;
    loop {
        let listed = studio.world().store.read(move |tx| health::definitions(tx, after, DEFINITIONS)).await;
        let definitions = listed.map_err(|error| error.to_string())?;
        let Some((last, ..)) = definitions.last() else { return Ok(()) };
        after = *last;
        for (_, _, slug, body) in definitions {
            if let Ok(body) = serde_json::from_str::<Value>(&body) {
                collect(&body, &slug, uses);
            }
        }
    }
}

/// Every object that names a provider and a model: agents, nodes, fallbacks.
fn collect(value: &Value, slug: &str, uses: &mut Uses) {
    match value {
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
            if let (Some(provider), Some(model)) = (text("provider"), text("model")) {
                uses.entry((provider, model)).or_default().insert(slug.to_owned());
            }
            // Rerankers are not in the table.
            members.iter().filter(|(name, _)| *name != "rerank").for_each(|(_, member)| collect(member, slug, uses));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, slug, uses)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn one(studio: &Studio, now: Timestamp, (provider, model): (&str, &str), users: &BTreeSet<String>, found: &mut Diagnosis) {
    let providers = &studio.world().providers;
    let (known, kind) = (providers.facts(provider, model), providers.kind(provider));
    let named: Vec<String> = users.iter().take(NAMED).map(|user| format!("`{user}`")).collect();
    let more = if users.len() > NAMED { format!(" and {} more", users.len() - NAMED) } else { String::new() };
    let users = format!("{}{more}", named.join(", "));
    if !known.is_known && registry::models(kind).next().is_some() {
        let text = "is not in the table of models, so that its limits are not kept to; name them in";
        return found
            .warn("models", format!("model_unknown: `{model}` of `{provider}`, used by {users}, {text} `providers.{provider}.models`"));
    }
    let facts = known.facts;
    let Some(day) = facts.retired_at.as_deref() else { return };
    let instead = facts.replacement.as_deref().map(|model| format!("; use `{model}`")).unwrap_or_default();
    if facts.is_retired(now) {
        found.warn("models", format!("model_retired: `{model}` of `{provider}`, used by {users}, ended on {day}{instead}"));
    } else if facts.ends_before(Timestamp(now.0.saturating_add(NOTICE * DAY))) {
        found.warn("models", format!("`{model}` of `{provider}`, used by {users}, ends on {day}{instead}"));
    }
}
