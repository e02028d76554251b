//! Owns the entry points of fuzzing to scripts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::sandbox::{self, Limit, THREAD_STACK};
use super::thread;

/// What a script gives within a time, or why it gives nothing; and whether it would be stored.
///
/// # Panics
/// The script's thread panics.
pub fn script(code: &str, input: &str, time: Duration) -> (String, Option<String>) {
    let limit = || Limit { until: Instant::now() + time, unwanted: Arc::default() };
    let run = || match sandbox::run(code, input, &limit()) {
        Ok(json) => thread::reply(&json).text,
        Err(failed) => format!("{failed:?}"),
    };
    let given = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(THREAD_STACK).spawn_scoped(scope, run);
        thread.map(|thread| thread.join().expect("a script does not panic")).unwrap_or_default()
    });
    (given, thread::code_problem(code))
}
