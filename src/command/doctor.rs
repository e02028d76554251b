//! Owns `studio:doctor`: one line per check.

use super::{Arguments, Call, Exit, Outcome};
use crate::studio::{Examination, Level};

/// Prints `ok`, `warn` and `fail` lines; any `fail` is exit 1.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let examination = Examination { online: arguments.switch("online")?, verify: arguments.switch("verify")? };
    arguments.end()?;
    let found = call.patiently(Box::pin(call.studio.doctor(examination)), String::new).await;
    for check in &found.0 {
        if !call.quiet || check.level > Level::Fine {
            call.tell(&format!("{:<4} {}: {}", check.level.as_str(), check.name, check.text));
        }
    }
    call.give(&found.json());
    Ok(if found.level() == Level::Fail { Exit::Failed } else { Exit::Done })
}
