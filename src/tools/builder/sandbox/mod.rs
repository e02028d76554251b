//! Owns the sandbox of one script: a separate JavaScript engine with limits on time, memory and stack, without I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rquickjs::context::intrinsic::{Date, Eval, Json, MapSet, Promise as Promises, RegExp, RegExpCompiler, TypedArrays};
use rquickjs::promise::PromiseState;
use rquickjs::{Array, CaughtError, Context, Ctx, Function, Promise, Runtime};
use sha2::{Digest, Sha256};

/// What a script may allocate.
const MEMORY: usize = 64 << 20;
/// What a script may nest; the thread has more, for what is native.
const STACK: usize = 1 << 20;
/// The stack of a script's thread.
pub(super) const THREAD_STACK: usize = 4 << 20;
/// The longest text of a failure.
const ERROR_LENGTH: usize = 2000;
const PRELUDE: &str = include_str!("../prelude.js");

/// What a script can use of its language. No proxies, no clock of its own, no threads.
type Language = (Date, Eval, RegExpCompiler, RegExp, Json, MapSet, TypedArrays, Promises);

/// When a script ends, whether it wants to or not.
#[derive(Clone)]
pub(super) struct Limit {
    pub(super) until: Instant,
    /// Nobody waits for the result any more.
    pub(super) unwanted: Arc<AtomicBool>,
}

impl Limit {
    fn is_over(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// Why a script gave no result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// It was stopped at its limit of time.
    Late,
    /// It threw, or cannot run; the text says what.
    Threw(String),
}

/// Runs the body of a function of `input`, both given as text; the result as JSON.
pub(super) fn run(code: &str, input: &str, limit: &Limit) -> Result<String, Failed> {
    let context = open(limit.clone()).map_err(Failed::Threw)?;
    let result = context.with(|ctx| evaluate(&ctx, code, input, limit).map_err(|error| error_text(&ctx, error)));
    match result {
        _ if limit.is_over() => Err(Failed::Late),
        Ok(Ok(json)) => Ok(json),
        Ok(Err(text)) | Err(text) => Err(Failed::Threw(text)),
    }
}

/// What is wrong with the body of a function, if anything is. Nothing of it runs.
pub(super) fn problem(code: &str, limit: Limit) -> Option<String> {
    let context = match open(limit) {
        Ok(context) => context,
        Err(text) => return Some(text),
    };
    // Code that closes the braces around it, to run when it is read, leaves the label, whose name it cannot hold.
    let label = Sha256::digest(code).iter().fold("end_".to_owned(), |label, byte| format!("{label}{byte:02x}"));
    let labelled = format!("{label}: {{\n{code}\n;break {label}; }}");
    context.with(|ctx| function(&ctx, &labelled).err().map(|error| error_text(&ctx, error)))
}

fn open(limit: Limit) -> Result<Context, String> {
    let failed = |_| "there is no memory for a script".to_owned();
    let runtime = Runtime::new().map_err(failed)?;
    runtime.set_memory_limit(MEMORY);
    runtime.set_max_stack_size(STACK);
    runtime.set_interrupt_handler(Some(Box::new(move || limit.is_over())));
    Context::custom::<Language>(&runtime).map_err(failed)
}

/// The code as a function. It may wait for promises.
fn function<'js>(ctx: &Ctx<'js>, code: &str) -> rquickjs::Result<Function<'js>> {
    ctx.eval(format!("(async function (input) {{\n{code}\n}})"))
}

fn evaluate(ctx: &Ctx<'_>, code: &str, input: &str, limit: &Limit) -> rquickjs::Result<Result<String, String>> {
    let guarded: Function<'_> = ctx.eval(PRELUDE)?;
    let promise: Promise<'_> = guarded.call((function(ctx, code)?, input))?;
    while promise.state() == PromiseState::Pending && !limit.is_over() && ctx.execute_pending_job() {}
    let Some(answer) = promise.result::<Array<'_>>() else { return Ok(Err("the result is a promise that nothing keeps".into())) };
    let answer = answer?;
    let (fine, text): (bool, String) = (answer.get(0)?, answer.get(1)?);
    Ok(if fine { Ok(text) } else { Err(text) })
}

fn error_text(ctx: &Ctx<'_>, error: rquickjs::Error) -> String {
    let text = match CaughtError::from_error(ctx, error) {
        CaughtError::Exception(exception) => exception.message().unwrap_or_else(|| "the script failed".into()),
        CaughtError::Value(_) => "the script threw something that is no error, or ran out of its 64 MiB of memory".into(),
        CaughtError::Error(error) => error.to_string(),
    };
    text.chars().take(ERROR_LENGTH).collect()
}

#[cfg(test)]
mod tests;
