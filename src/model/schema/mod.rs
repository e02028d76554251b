//! Owns JSON Schemas in use: the cost of compiling one and of checking a value. The validator cannot be interrupted, so both costs are computed
//! before it starts.

mod cost;
mod measure;

use std::fmt::{self, Write};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use measure::Measured;

/// More problems than these help nobody.
const PROBLEMS: usize = 10;
/// Letters of one problem.
const TEXT_LIMIT: usize = 300;
/// Bytes that one compiled pattern may take, and what a search with it may remember.
const PATTERN: usize = 1 << 20;
const SEARCH: usize = 512 << 10;
/// Steps that one check may take.
const STEPS: u64 = 5_000_000;
/// Checks of more steps say that a value does not fit, and not where: each problem takes memory.
const EXPLAINED: u64 = 200_000;
/// Deeper ones are compiled and checked with a stack of their own.
const SHALLOW: usize = 32;
const STACK: usize = 64 << 20;

/// A compiled schema.
pub struct Schema {
    validator: Validator,
    /// Steps for each part of a value; none for schemas whose steps depend on the value's depth.
    width: Option<u64>,
    depth: usize,
    written: Value,
}

impl Schema {
    /// Compiles a schema; references outside of it are never followed, patterns run in linear time.
    ///
    /// # Errors
    /// What is wrong with it, or that it is too large.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let Measured { width, depth, plain } = measure::measured(schema)?;
        let build = || {
            let patterns = PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(SEARCH);
            jsonschema::options().with_pattern_options(patterns).build(schema).map_err(|problem| first_letters(&problem))
        };
        let validator = with_stack_for(depth, build)??;
        Ok(Self { validator, width: plain.then_some(width), depth, written: schema.clone() })
    }

    /// What is wrong with a value; nothing when it fits.
    pub fn problems(&self, value: &Value) -> Vec<String> {
        let parts = cost::parts(value);
        let flat = self.width.map(|width| width.saturating_mul(parts)).filter(|steps| *steps <= STEPS);
        let (steps, depth) = match flat {
            Some(steps) => (steps, self.depth),
            None => match cost::of(&self.written, value) {
                Some(found) => (found.steps, found.depth.max(self.depth)),
                None => (u64::MAX, 0),
            },
        };
        if steps > STEPS {
            return vec!["cannot be checked: the value is too large for its schema".to_owned()];
        }
        let check = || if steps > EXPLAINED { self.fits(value) } else { self.explained(value) };
        with_stack_for(depth, check).unwrap_or_else(|why| vec![why])
    }

    fn fits(&self, value: &Value) -> Vec<String> {
        if self.validator.is_valid(value) { Vec::new() } else { vec!["does not fit its schema; it is too large to say where".to_owned()] }
    }

    fn explained(&self, value: &Value) -> Vec<String> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let problems = self.validator.iter_errors(value).take(PROBLEMS).map(|problem| {
            let (path, text) = (problem.instance_path().to_string(), first_letters(&problem));
            if path.is_empty() { text } else { format!("{path}: {text}") }
        });
        problems.collect()
    }
}

/// Why a schema cannot be used, if it cannot.
pub fn fault(schema: &Value) -> Option<String> {
    Schema::compile(schema).err()
}

/// Runs work that calls itself so deeply.
fn with_stack_for<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    if depth <= SHALLOW {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let spawned = std::thread::Builder::new().name("studio-schema".to_owned()).stack_size(STACK).spawn_scoped(scope, work);
        let thread = spawned.map_err(|error| format!("cannot be checked now: no thread could be started: {error}"))?;
        thread.join().map_err(|_| "cannot be checked: the validator failed".to_owned())
    })
}

/// The first letters of something that shows itself, of which the rest is never made.
fn first_letters(shown: &dyn fmt::Display) -> String {
    struct First(String, usize);
    impl Write for First {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for letter in text.chars() {
                self.1 = self.1.checked_sub(1).ok_or(fmt::Error)?;
                self.0.push(letter);
            }
            Ok(())
        }
    }
    let mut first = First(String::new(), TEXT_LIMIT);
    let _full = write!(first, "{shown}");
    first.0
}

#[cfg(test)]
mod tests;
