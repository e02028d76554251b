//! Owns the built-in tools: calculator, calendar, demo.

mod calculator;
mod calendar;
mod demo;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{BoundTool, Tool, ToolInvocation, ToolReply, ToolSource, Wanted};
use crate::clock::Clock;
use crate::model::event::Fault;
use crate::providers::ToolOffer;

/// They compute; more than this means a fault of ours.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The built-in tools that are switched on.
pub struct Toolkits {
    enabled: Vec<String>,
    place: Arc<Place>,
}

/// Where a built-in tool runs: its time and time zone.
struct Place {
    clock: Arc<dyn Clock>,
    timezone: String,
}

struct Built {
    toolkit: &'static str,
    name: &'static str,
    description: &'static str,
    idempotent: bool,
    schema: fn() -> Value,
    run: fn(&Value, &Place) -> ToolReply,
}

const BUILT: [&Built; 5] = [&calculator::CALCULATE, &calendar::NOW, &calendar::ADD, &calendar::DIFFERENCE, &demo::ISSUE_REFUND];

impl Toolkits {
    /// These toolkits; unknown keys give no tools.
    #[must_use]
    pub fn new(enabled: &[impl AsRef<str>], clock: Arc<dyn Clock>, timezone: &str) -> Self {
        let enabled = enabled.iter().map(|key| key.as_ref().to_owned()).collect();
        Self { enabled, place: Arc::new(Place { clock, timezone: timezone.to_owned() }) }
    }

    /// Every tool that is switched on, with its toolkit's key.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, BoundTool)> {
        let enabled = BUILT.into_iter().filter(|built| self.enabled.iter().any(|key| key == built.toolkit));
        enabled.map(|built| (built.toolkit, self.bound(built)))
    }

    fn bound(&self, built: &'static Built) -> BoundTool {
        let offer = ToolOffer {
            name: built.name.to_owned(),
            description: built.description.to_owned(),
            input_schema: (built.schema)(),
        };
        BoundTool {
            offer,
            require_approval: false,
            idempotent: built.idempotent,
            timeout: TIMEOUT,
            fixed: Map::new(),
            config: Map::new(),
            tool: Arc::new(Runner { built, place: self.place.clone() }),
        }
    }
}

impl ToolSource for Toolkits {
    fn scheme(&self) -> &'static str {
        "toolkit"
    }

    fn bind<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Result<Vec<BoundTool>, Fault>> {
        let (toolkit, tool) = wanted.key.split_once('/').map_or((wanted.key, None), |(key, tool)| (key, Some(tool)));
        let found = self.all().filter(|(key, bound)| *key == toolkit && tool.is_none_or(|tool| bound.offer.name == tool));
        let found = found.map(|(_, bound)| bound).collect();
        Box::pin(async move { Ok(found) })
    }
}

struct Runner {
    built: &'static Built,
    place: Arc<Place>,
}

impl Tool for Runner {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let reply = (self.built.run)(&call.arguments, &self.place);
        Box::pin(async move { reply })
    }
}

/// A text argument; empty when it is missing or something else.
fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or("")
}

fn failed(text: impl Into<String>) -> ToolReply {
    let text: String = text.into();
    ToolReply::error(serde_json::json!({ "error": text }).to_string())
}

#[cfg(test)]
fn try_out(built: &Built, arguments: &Value) -> String {
    struct Fixed;
    impl Clock for Fixed {
        fn now(&self) -> crate::model::Timestamp {
            crate::model::Timestamp(1_763_676_000_000)
        }
        fn id(&self) -> crate::model::Id {
            crate::model::Id::v7(0, 0, 0)
        }
        fn random(&self, _: &mut [u8]) {}
    }
    let place = Place { clock: Arc::new(Fixed), timezone: "UTC".into() };
    let reply = (built.run)(arguments, &place);
    format!("{}{}", if reply.is_error { "error " } else { "" }, reply.text)
}
