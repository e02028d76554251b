//! Owns the loading of a configuration from defaults, file, JSON and environment, with all problems at once.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::keys::{Context, KEYS, Key, Kind};
use super::provider::ProviderConfig;
use super::{Config, Source};
use crate::error::{Error, Result};

/// What a configuration is made of; later ones win: file, JSON, environment.
#[derive(Clone, Default)]
pub struct ConfigSources {
    /// A JSON or TOML file.
    pub file: Option<PathBuf>,
    /// What the host gives.
    pub json: Option<Value>,
    /// Environment variables; secrets may be among them.
    pub env: BTreeMap<String, String>,
}

impl ConfigSources {
    /// These sources with the environment of the process.
    #[must_use]
    pub fn with_process_environment(mut self) -> Self {
        self.env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        self
    }
}

/// Problems by key, in the order found.
type Problems = Vec<(String, String)>;
type Given = HashMap<&'static str, (Value, Source)>;

impl Config {
    /// Reads the sources, or lists everything that is wrong with them.
    pub fn load(sources: ConfigSources) -> Result<Self> {
        let mut problems = Problems::new();
        let mut given = Given::new();
        if let Some(file) = &sources.file {
            match read_file(file) {
                Ok(value) => flatten(&value, "", Source::File, &mut given, &mut problems),
                Err(problem) => problems.push((String::new(), problem)),
            }
        }
        if let Some(value) = &sources.json {
            flatten(value, "", Source::Json, &mut given, &mut problems);
        }
        read_environment(&sources.env, &mut given, &mut problems);
        let origin = with_defaults(&given, &sources.env);
        let tree = nested(&origin);
        super::checks::check(&tree, &mut problems);
        if !problems.is_empty() {
            return Err(refused(problems));
        }
        let keys = serde_json::from_value(tree).map_err(|error| refused(vec![(String::new(), error.to_string())]))?;
        Ok(Self { keys: Arc::new(keys), origin: Arc::new(origin), environment: Arc::new(sources.env) })
    }

    /// Defaults with these values, for tests and benchmarks.
    pub fn with(json: Value) -> Result<Self> {
        Self::load(ConfigSources { json: Some(json), ..ConfigSources::default() })
    }
}

fn refused(problems: Problems) -> Error {
    let shown = |(path, text): &(String, String)| if path.is_empty() { text.clone() } else { format!("`{path}` {text}") };
    let list: Vec<String> = problems.iter().map(shown).collect();
    let mut error = Error::fields(problems);
    error.message = format!("the configuration is refused: {}", list.join("; "));
    error
}

fn read_file(path: &Path) -> Result<Value, String> {
    let named = |error: &dyn std::fmt::Display| format!("the configuration file `{}` cannot be read: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    let toml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let parsed = if toml {
        toml::from_str::<Value>(&text).map_err(|error| named(&without_line(&error, &text)))
    } else {
        serde_json::from_str::<Value>(&text).map_err(|error| named(&error))
    };
    parsed.and_then(|value| if value.is_object() { Ok(value) } else { Err(named(&"it is not an object")) })
}

/// What is wrong with TOML, and where. The error itself would show the line, and a secret in it.
fn without_line(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    before.map_or_else(|| error.message().to_owned(), |before| format!("line {}: {}", before.matches('\n').count() + 1, error.message()))
}

fn key_at(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Takes the known keys out of nested objects.
fn flatten(value: &Value, path: &str, source: Source, given: &mut Given, problems: &mut Problems) {
    let Value::Object(fields) = value else {
        problems.push((path.to_owned(), "must be an object".to_owned()));
        return;
    };
    for (name, value) in fields {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let Some(key) = key_at(&path) {
            match checked(key, value) {
                Ok(Value::Null) => {}
                Ok(value) => drop(given.insert(key.path, (value, source))),
                Err(problem) => problems.push((path, problem)),
            }
        } else if KEYS.iter().any(|key| key.path.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.'))) {
            flatten(value, &path, source, given, problems);
        } else {
            problems.push((path, "is not a known key".to_owned()));
        }
    }
}

fn read_environment(env: &BTreeMap<String, String>, given: &mut Given, problems: &mut Problems) {
    for key in KEYS.iter().filter(|key| !key.variable.is_empty()) {
        let Some(text) = env.get(key.variable) else { continue };
        match of_variable(key, text).and_then(|value| checked(key, &value)) {
            Ok(Value::Null) => {}
            Ok(value) => drop(given.insert(key.path, (value, Source::Env))),
            Err(problem) => problems.push((key.path.to_owned(), format!("(from {}) {problem}", key.variable))),
        }
    }
}

/// The value that the text of a variable means; null when it means nothing.
fn of_variable(key: &Key, text: &str) -> Result<Value, String> {
    let text = text.trim();
    match key.kind {
        Kind::Folder => Ok(json!(text)),
        Kind::List | Kind::MaybeList => {
            Ok(text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect::<Vec<_>>().into())
        }
        _ if text.is_empty() => Ok(Value::Null),
        Kind::Text | Kind::Maybe | Kind::Mount | Kind::OneOf(_) => Ok(json!(text)),
        Kind::Switch => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "on" | "yes" => Ok(Value::Bool(true)),
            "false" | "0" | "off" | "no" => Ok(Value::Bool(false)),
            _ => Err("must be one of true, 1, on, yes, false, 0, off, no".to_owned()),
        },
        Kind::Count(..) => text.parse::<i64>().map(Value::from).map_err(|_| "must be an integer".to_owned()),
        Kind::Share => text.parse::<f64>().map(Value::from).map_err(|_| "must be a number".to_owned()),
        Kind::Texts => {
            let pairs = text.split(',').map(|pair| pair.split_once('=').ok_or("must be `name=text` pairs, separated by commas"));
            let pairs = pairs.map(|pair| pair.map(|(name, text)| (name.trim().to_owned(), json!(text.trim()))));
            Ok(Value::Object(pairs.collect::<Result<Map<_, _>, _>>()?))
        }
        Kind::Object | Kind::MaybeObject => serde_json::from_str(text).map_err(|error| format!("must be JSON: {error}")),
    }
}

/// The value, if it is of the key's kind.
fn checked(key: &Key, value: &Value) -> Result<Value, String> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let fits = match key.kind {
        Kind::Text | Kind::Maybe => value.as_str().is_some_and(|text| !text.trim().is_empty()),
        Kind::Folder | Kind::Mount => value.is_string(),
        Kind::OneOf(names) => value.as_str().is_some_and(|text| names.contains(&text)),
        Kind::Switch => value.is_boolean(),
        Kind::Count(min, max) => value.as_u64().is_some_and(|count| (min..=max).contains(&count)),
        Kind::Share => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
        Kind::List | Kind::MaybeList => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        Kind::Texts => value.as_object().is_some_and(|texts| texts.values().all(Value::is_string)),
        Kind::Object | Kind::MaybeObject => value.is_object(),
    };
    if !fits {
        return Err(format!("must be {}", wanted(key.kind)));
    }
    if matches!(key.kind, Kind::Mount) && value == "/" { Ok(json!("")) } else { providers_checked(key, value) }
}

/// Providers are read as a whole, so that their own unknown keys are found with the others.
fn providers_checked(key: &Key, value: &Value) -> Result<Value, String> {
    if key.path == "providers" {
        let wrong = |(id, value): (&String, &Value)| {
            ProviderConfig::deserialize_from(value).err().map(|error| format!("of `{id}`: {error}"))
        };
        let problems: Vec<String> = value.as_object().into_iter().flatten().filter_map(wrong).collect();
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
    }
    Ok(value.clone())
}

impl ProviderConfig {
    fn deserialize_from(value: &Value) -> Result<Self, serde_json::Error> {
        serde::Deserialize::deserialize(value)
    }
}

fn wanted(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Maybe => "a text that is not empty".to_owned(),
        Kind::Folder | Kind::Mount => "a path".to_owned(),
        Kind::OneOf(names) => format!("one of {}", names.join(", ")),
        Kind::Switch => "true or false".to_owned(),
        Kind::Count(min, max) if max > u64::from(u32::MAX) => format!("an integer of at least {min}"),
        Kind::Count(min, max) => format!("an integer from {min} to {max}"),
        Kind::Share => "a number from 0 to 1".to_owned(),
        Kind::List | Kind::MaybeList => "a list of texts".to_owned(),
        Kind::Texts => "an object whose values are texts".to_owned(),
        Kind::Object | Kind::MaybeObject => "an object".to_owned(),
    }
}

/// Every key with the value that holds and where it came from.
fn with_defaults(given: &Given, env: &BTreeMap<String, String>) -> Vec<(&'static str, Value, Source)> {
    let text = |path: &str| given.get(path).and_then(|(value, _)| value.as_str());
    let context = Context {
        local: text("environment") == Some("local"),
        locale: host_locale(env),
        export_path: json!(text("export_path").unwrap_or("app/Studio")),
    };
    let value = |key: &Key| match given.get(key.path) {
        Some((value, source)) => (key.path, value.clone(), *source),
        None => (key.path, (key.default)(&context), Source::Default),
    };
    KEYS.iter().map(value).collect()
}

fn host_locale(env: &BTreeMap<String, String>) -> &'static str {
    let set = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().filter_map(|name| env.get(*name)).find(|text| !text.is_empty());
    if set.is_some_and(|locale| locale.to_ascii_lowercase().starts_with("pt")) { "pt_BR" } else { "en" }
}

/// Dotted keys as nested objects.
fn nested(origin: &[(&'static str, Value, Source)]) -> Value {
    let mut tree = Map::new();
    for (path, value, _) in origin {
        put(&mut tree, path, value);
    }
    Value::Object(tree)
}

fn put(tree: &mut Map<String, Value>, path: &str, value: &Value) {
    match path.split_once('.') {
        None => drop(tree.insert(path.to_owned(), value.clone())),
        Some((name, rest)) => {
            if let Value::Object(inner) = tree.entry(name).or_insert_with(|| json!({})) {
                put(inner, rest, value);
            }
        }
    }
}
