//! Owns builder tools: JavaScript functions of users, in a sandbox.

#[cfg(all(feature = "fuzzing", feature = "script"))]
pub mod fuzzing;
#[cfg(feature = "script")]
mod places;
#[cfg(feature = "script")]
mod sandbox;
#[cfg(feature = "script")]
mod thread;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Tool;

/// How long a script may run.
pub const LIMIT: Duration = Duration::from_secs(5);

/// Makes builder tools; all of one studio share the places where scripts run.
#[derive(Clone, Default)]
pub struct Builders {
    #[cfg(feature = "script")]
    places: places::Places,
}

#[cfg(feature = "script")]
impl Builders {
    /// The tool of a stored configuration, and how long a call may take with the wait for a place.
    pub fn tool(&self, config: &Value, own: Option<Duration>) -> (Arc<dyn Tool>, Duration) {
        let limit = own.unwrap_or(LIMIT).min(LIMIT);
        let code = config.get("code").and_then(Value::as_str).unwrap_or_default();
        let tool = thread::Script { code: code.into(), limit, places: self.places.clone() };
        let whole = tool.whole();
        (Arc::new(tool), whole)
    }
}

/// What is wrong with the code of a tool, if anything is. Nothing of it runs.
#[cfg(feature = "script")]
pub fn code_problem(code: &str) -> Option<String> {
    thread::code_problem(code)
}

#[cfg(not(feature = "script"))]
mod absent {
    use futures_util::future::BoxFuture;

    use super::{Arc, Builders, Duration, LIMIT, Tool, Value};
    use crate::tools::{ToolInvocation, ToolReply};

    const TEXT: &str = "this studio was built without the feature `script`; builder tools do not run in it";

    struct Absent;

    impl Tool for Absent {
        fn call(&self, _: ToolInvocation) -> BoxFuture<'static, ToolReply> {
            Box::pin(async { ToolReply::error(TEXT) })
        }
    }

    impl Builders {
        /// A tool that says that it cannot run here.
        pub fn tool(&self, _: &Value, _: Option<Duration>) -> (Arc<dyn Tool>, Duration) {
            (Arc::new(Absent), LIMIT)
        }
    }

    /// That it cannot run here.
    pub fn code_problem(_: &str) -> Option<String> {
        Some(TEXT.to_owned())
    }
}
#[cfg(not(feature = "script"))]
pub use absent::code_problem;
