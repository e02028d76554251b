//! Owns the arguments of a command: its name, its options, its operands.

use std::collections::BTreeMap;

use super::help;
use crate::error::Error;

/// Options that take no value, of all commands.
const SWITCHES: [&str; 14] = [
    "json", "quiet", "once", "stop-when-empty", "pretend", "dry-run", "clock-is-right", "all", "online", "verify", "force", "with-views", "json-file",
    "stdout",
];

/// What a command was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    words: Vec<String>,
    options: BTreeMap<String, String>,
}

impl Arguments {
    /// Takes apart what was typed; `studio:` before the name of a command may be left out.
    ///
    /// # Errors
    /// An option without its value, or given twice.
    pub fn parse(typed: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let mut found = Self::default();
        let mut typed = typed.into_iter();
        while let Some(word) = typed.next() {
            if matches!(word.as_str(), "--help" | "-h") {
                found.words.insert(0, "help".to_owned());
            } else if matches!(word.as_str(), "--version" | "-V") {
                found.words.insert(0, "version".to_owned());
            } else if let Some(option) = word.strip_prefix("--") {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name.to_owned(), value.to_owned()),
                    None if SWITCHES.contains(&option) => (option.to_owned(), String::new()),
                    None => {
                        let value = typed.next().filter(|value| !value.starts_with("--"));
                        (option.to_owned(), value.ok_or_else(|| found.lacks_value(option))?)
                    }
                };
                if found.options.insert(name.clone(), value).is_some() {
                    return Err(super::usage(format!("`--{name}` is given twice")));
                }
            } else if word.starts_with('-') && word.len() == 2 {
                return Err(super::usage(format!("there is no option `{word}`; options begin with two hyphens (`studio help` lists them)")));
            } else {
                found.words.push(word);
            }
        }
        Ok(found)
    }

    /// An option at the end, or before another one.
    fn lacks_value(&self, option: &str) -> Error {
        match help::options_of(self.command()) {
            Some(known) if !known.contains(&option) => self.unknown(option),
            Some(_) => super::usage(format!("`--{option}` needs a value")),
            None => super::usage(format!("`--{option}` needs a value, or is not known")),
        }
    }

    fn unknown(&self, option: &str) -> Error {
        let meant = help::options_of(self.command()).and_then(|known| help::nearest(option, known.into_iter()));
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `--{meant}`?"));
        super::usage(format!("`{0}` has no option `--{option}`{meant} (`studio help {0}` lists its options)", self.command()))
    }

    /// The name of the command.
    pub fn command(&self) -> &str {
        self.words.first().map_or("help", |name| name.strip_prefix("studio:").unwrap_or(name))
    }

    /// Takes the first word after the name.
    pub(super) fn word(&mut self) -> Option<String> {
        (self.words.len() > 1).then(|| self.words.remove(1))
    }

    /// Takes an option with a value.
    pub(super) fn value(&mut self, name: &str) -> Option<String> {
        self.options.remove(name)
    }

    /// The value of an option that is taken later.
    pub(super) fn peek(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Takes an option that is a number of at least 1.
    pub(super) fn count(&mut self, name: &str) -> Result<Option<u64>, Error> {
        let Some(text) = self.value(name) else { return Ok(None) };
        match text.parse() {
            Ok(count) if count > 0 => Ok(Some(count)),
            Ok(_) | Err(_) => Err(super::usage(format!("`--{name}` is a number of at least 1, not `{text}`"))),
        }
    }

    /// Takes an option without a value.
    pub(super) fn switch(&mut self, name: &str) -> Result<bool, Error> {
        match self.options.remove(name).as_deref() {
            None => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            Some(other) => Err(super::usage(format!("`--{name}` takes no value, not `{other}`"))),
        }
    }

    /// Everything was understood; a command without further words.
    pub(super) fn end(self) -> Result<(), Error> {
        if let Some((name, _)) = self.options.first_key_value() {
            return Err(self.unknown(name));
        }
        match self.words.get(1) {
            Some(word) => Err(super::usage(format!("`{}` does not take `{word}`", self.command()))),
            None => Ok(()),
        }
    }
}
