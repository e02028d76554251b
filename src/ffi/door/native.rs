//! Owns the native interface for Rust programs: the JSON requests of the C functions, on a studio of the program.
//!
//! The facade has a method for each capability; this is for programs that receive an operation or a run as data.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use serde_json::Value;

use super::super::fault::Fault;
use super::requests::Ready;
use super::source::Chunk;
use super::{ops, requests};
use crate::model::telling::Frame;
use crate::studio::Studio;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// One of the negative codes of `wfstudio.h`.
    pub code: i32,
    /// The problem document.
    pub problem: Value,
}

/// One event of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its position, for readers that reconnect.
    pub id: String,
    /// Its name.
    pub name: &'static str,
    /// Its members.
    pub data: Value,
}

/// The events of a run or of an answer, until the run pauses or ends.
pub struct Events {
    studio: Studio,
    ready: Ready,
    frames: VecDeque<Frame>,
    over: bool,
}

/// One operation by name: what `studio_call` does.
///
/// # Errors
/// Every refusal, with the code of the C functions.
pub async fn call(studio: &Studio, op: &str, request: &Value) -> Result<Value, Refused> {
    let answer = ops::call(studio, op, request.to_string().as_bytes()).await.map_err(|fault| refused(studio, fault))?;
    requests::value(&answer).map_err(|fault| refused(studio, fault))
}

/// Runs a workflow, or an agent's chat turn: what `studio_run` does.
///
/// # Errors
/// Every refusal; then no run is made.
pub async fn run(studio: &Studio, request: &Value) -> Result<Events, Refused> {
    events_of(studio, opened(studio, request, false).await)
}

/// Answers a pause: what `studio_resume` does.
///
/// # Errors
/// Every refusal; a refused answer changes nothing.
pub async fn resume(studio: &Studio, request: &Value) -> Result<Events, Refused> {
    events_of(studio, opened(studio, request, true).await)
}

async fn opened(studio: &Studio, request: &Value, resumes: bool) -> Result<Ready, Fault> {
    let request = requests::object(request.to_string().as_bytes())?;
    if resumes { requests::resume(studio, request).await } else { requests::run(studio, request).await }
}

fn refused(studio: &Studio, fault: Fault) -> Refused {
    let Fault { code, problem, .. } = fault.in_language_of(studio.config());
    Refused { code, problem }
}

fn events_of(studio: &Studio, ready: Result<Ready, Fault>) -> Result<Events, Refused> {
    let ready = ready.map_err(|fault| refused(studio, fault))?;
    Ok(Events { studio: studio.clone(), ready, frames: VecDeque::new(), over: false })
}

impl Events {
    /// The id of the run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.ready.behind.run
    }

    /// Cancels the run; the stream delivers its end.
    ///
    /// # Errors
    /// When the run is over, or the store cannot be used.
    pub async fn cancel(&mut self) -> Result<(), Refused> {
        let cancelled = self.studio.cancel(&self.ready.behind.scope, &self.ready.behind.run).await;
        cancelled.map(drop).map_err(|error| refused(&self.studio, error.into()))
    }
}

impl Stream for Events {
    type Item = Result<Event, Refused>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Poll::Ready(Some(Ok(event(&frame))));
            }
            if self.over {
                return Poll::Ready(None);
            }
            match ready!(self.ready.source.as_mut().poll_next(context)) {
                None => {
                    self.over = true;
                    return Poll::Ready(None);
                }
                Some(Ok(chunk)) => {
                    if let Chunk::Frames(frames) = chunk {
                        self.frames.extend(frames);
                    }
                }
                Some(Err(fault)) => {
                    let refused = refused(&self.studio, fault);
                    return Poll::Ready(Some(Err(refused)));
                }
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let behind = &mut self.ready.behind;
        let Some(fence) = behind.cancel_on_leave.filter(|_| !self.over) else { return };
        let (studio, scope, run) = (self.studio.clone(), behind.scope.clone(), std::mem::take(&mut behind.run));
        if let Ok(runtime) = self.studio.runtime() {
            drop(runtime.spawn(async move { studio.cancel_left(&scope, &run, fence).await.is_ok() }));
        }
    }
}

fn event(frame: &Frame) -> Event {
    let (mut id, mut data) = (Vec::new(), Vec::new());
    frame.write_id(&mut id);
    frame.write_data(&mut data);
    let id = String::from_utf8(id).unwrap_or_default();
    Event { id, name: frame.event(), data: serde_json::from_slice(&data).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use futures_util::StreamExt as _;
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::config::{Config, ConfigSources};
    use crate::host::{Host, HostCall, HostFailure};

    /// Takes every call and answers none.
    struct Silent;

    impl Host for Silent {
        fn call(&self, _: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
            Box::pin(std::future::pending())
        }
    }

    fn open(folder: &Path) -> Studio {
        let json = json!({"database": {"path": folder.join("studio.sqlite")}, "timeouts": {"cancel_grace_ms": 1}});
        let config = Config::load(ConfigSources { json: Some(json), ..ConfigSources::default() }).expect("a configuration");
        let studio = Studio::open(config).expect("a studio");
        let declared = json!({"ops": ["tool.call"], "tools": [{"name": "pay"}]});
        studio.set_host(Arc::new(Silent), serde_json::from_value(declared).expect("a declaration"));
        studio
    }

    async fn save(studio: &Studio, name: &str, sketch: &str) {
        let graph = crate::model::sketch::graph(sketch).expect("a sketch");
        call(studio, "workflow.save", &json!({"name": name, "graph": graph})).await.expect("a workflow");
    }

    #[test]
    fn a_run_is_asked_for_as_data_and_tells_its_events() {
        let folder = tempfile::tempdir().expect("a folder");
        let studio = open(folder.path());
        studio.runtime().expect("a runtime").block_on(async {
            save(&studio, "Says", "start -> stop").await;
            let events = run(&studio, &json!({"workflow": "says", "message": "hi"})).await.expect("a run");
            let over = events.run().to_owned();
            let told: Vec<Event> = events.map(|event| event.expect("an event")).collect().await;
            assert_eq!(
                (told.first().map(|event| event.name), told.last().map(|event| event.name)),
                (Some("thread"), Some("trace_completed"))
            );
            assert_eq!((told[0].id.as_str(), &told[0].data["trace_id"]), ("1", &json!(over)));
            let code = |refused: Option<Refused>| refused.map(|refused| (refused.code, refused.problem["code"].to_string()));
            assert_eq!(code(run(&studio, &json!({"workflow": "none", "message": "hi"})).await.err()), Some((-2, "\"not_found\"".into())));
            assert_eq!(code(run(&studio, &json!([])).await.err()), Some((-1, "\"invalid_call\"".into())));
            assert_eq!(code(call(&studio, "nothing", &Value::Null).await.err()), Some((-2, "\"not_found\"".into())));
            assert!(resume(&studio, &json!({"trace_id": over, "message": "more"})).await.is_err());
        });
    }

    #[test]
    fn a_run_that_must_not_outlive_its_reader_is_cancelled_when_it_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let studio = open(folder.path());
        studio.runtime().expect("a runtime").block_on(async {
            save(&studio, "Pays", "start -> tool_1{tool_ref: \"host:pay\"} -> stop").await;
            for (leaving, ended) in [("cancel", "cancelled"), ("continue", "running")] {
                let request = json!({"workflow": "pays", "message": "hi", "on_disconnect": leaving});
                let mut events = run(&studio, &request).await.expect("a run");
                while events.next().await.is_some_and(|event| event.is_ok_and(|event| event.name != "step_started")) {}
                let request = json!({"trace_id": events.run()});
                drop(events);
                let mut status = Value::Null;
                for _ in 0..6000 {
                    status = call(&studio, "trace.get", &request).await.expect("a trace")["trace"]["status"].take();
                    if status == ended {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                assert_eq!(status, ended);
            }
        });
    }
}
