//! Owns the stream adapters: routes for third-party chat clients of agents and workflows.
//!
//! Each protocol has a reader of requests and a translator of events, both pure. Shared code: the request ([`ask`]), its execution ([`posts`]),
//! its answers to pauses ([`answers`]), and the response stream ([`response_stream`]).

mod agui;
mod answers;
mod ask;
mod decide;
mod event;
mod files;
mod pauses;
mod posts;
mod response_stream;
mod routes;
mod thread;
mod vercel;

pub(super) use routes::routes;

use serde_json::Value;

use ask::Ask;
use event::PublishedEvent;

/// A protocol that clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Vercel,
    AgUi,
}

impl Protocol {
    /// By its name in paths.
    fn named(name: &str) -> Option<Self> {
        match name {
            "vercel" => Some(Self::Vercel),
            "agui" => Some(Self::AgUi),
            _ => None,
        }
    }

    /// What a body asks for.
    fn read(self, body: &Value) -> crate::error::Result<Ask> {
        match self {
            Self::Vercel => vercel::request::read(body),
            Self::AgUi => agui::request::read(body),
        }
    }
}

/// Reads a body as both protocols do.
#[cfg(feature = "fuzzing")]
pub(super) fn read_any(body: &Value) {
    for protocol in [Protocol::Vercel, Protocol::AgUi] {
        if let Ok(ask) = protocol.read(body) {
            assert!(ask.chat.as_ref().is_none_or(|chat| !chat.is_empty()));
            ask.said.files.iter().for_each(|file| files::read_any(&file.url));
            let native = ask.native.clone().or_else(|| Some(serde_json::json!({"message": ask.said.text})));
            let _refused = native.map(|native| posts::resume_request(native, ask.on_disconnect.as_ref()).is_err());
        }
    }
}

/// How a stream ended, according to its events.
#[derive(Debug)]
enum End {
    Completed(PublishedEvent),
    Failed { code: String, message: String },
    Cancelled,
}

impl End {
    /// The end in an event, if it has one.
    fn of(published: &PublishedEvent) -> Option<Self> {
        match published.event {
            "trace_completed" | "done" => Some(Self::Completed(published.clone())),
            "error" if published.text("code") == "cancelled" => Some(Self::Cancelled),
            "trace_cancelled" => Some(Self::Cancelled),
            "trace_failed" | "error" => Some(Self::failed(published.text("code"), published.text("message"))),
            "run_terminal" => match published.text("status") {
                "completed" => Some(Self::Completed(published.clone())),
                "cancelled" => Some(Self::Cancelled),
                "failed" => {
                    let part = |key| published.get("error").and_then(|error| error.get(key)?.as_str()).unwrap_or_default();
                    Some(Self::failed(part("code"), part("message")))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The events broke off.
    fn broken() -> Self {
        Self::failed("interrupted", response_stream::GOES_ON)
    }

    fn failed(code: &str, message: &str) -> Self {
        Self::Failed { code: code.to_owned(), message: message.to_owned() }
    }
}

/// A translator of either protocol.
enum Translator {
    Vercel(Box<vercel::Translator>),
    AgUi(Box<agui::Translator>),
}

impl Translator {
    fn open(&mut self, out: &mut Vec<Value>) {
        match self {
            Self::Vercel(one) => one.open(out),
            Self::AgUi(one) => one.open(out),
        }
    }

    fn tell(&mut self, published: PublishedEvent, out: &mut Vec<Value>) {
        match self {
            Self::Vercel(one) => one.tell(published, out),
            Self::AgUi(one) => one.tell(published, out),
        }
    }

    /// Why the stream ends without an event that says so.
    fn fail(&mut self, code: &str, message: &str) {
        let end = match self {
            Self::Vercel(one) => &mut one.end,
            Self::AgUi(one) => &mut one.end,
        };
        end.get_or_insert_with(|| End::failed(code, message));
    }

    /// Whether the end contains the usage of the run.
    const fn tells_usage(&self) -> bool {
        matches!(self, Self::AgUi(_))
    }

    fn close(&mut self, usage: &[Value], out: &mut Vec<Value>) {
        match self {
            Self::Vercel(one) => one.close(out),
            Self::AgUi(one) => one.close(usage, out),
        }
    }

    /// What follows the last frame.
    const fn farewell(&self) -> &'static [u8] {
        match self {
            Self::Vercel(_) => b"data: [DONE]\n\n",
            Self::AgUi(_) => b"",
        }
    }
}
