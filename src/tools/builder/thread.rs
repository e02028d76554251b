//! Owns the thread of a script: the caller gets an answer in time even if the script does not stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;

use super::places::{Place, Places, Watch};
use super::sandbox::{self, Failed, Limit};
use crate::json::{self, Unread};
use crate::tools::{Tool, ToolInvocation, ToolReply};

/// How long a call waits for a place.
const WAIT: Duration = Duration::from_secs(10);
/// How long a script may take to stop before it is abandoned.
const GRACE: Duration = Duration::from_millis(100);
/// Parsing takes less than this, or the code is none.
const PARSING: Duration = Duration::from_secs(2);

/// One stored script.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) code: Arc<str>,
    pub(super) limit: Duration,
    pub(super) places: Places,
}

/// A running script. Dropping it stops and abandons the script.
struct Work {
    answer: oneshot::Receiver<Result<String, Failed>>,
    unwanted: Arc<AtomicBool>,
    watch: Option<Watch>,
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            self.unwanted.store(true, Ordering::Relaxed);
            watch.give_up();
        }
    }
}

impl Script {
    /// How long a call may take: the wait for a place, the script, the moment in which it is stopped.
    pub(super) fn whole(&self) -> Duration {
        WAIT + self.limit + GRACE * 2
    }

    async fn answer(&self, tenant: &Arc<str>, input: String) -> ToolReply {
        let place = match self.places.take(tenant, WAIT).await {
            Ok(place) => place,
            Err(text) => return ToolReply::error(text),
        };
        let mut work = match self.start(input, place) {
            Ok(work) => work,
            Err(error) => return ToolReply::error(format!("the system gave no thread for the script: {error}")),
        };
        let Ok(answer) = tokio::time::timeout(self.limit + GRACE, &mut work.answer).await else { return self.late() };
        work.watch = None;
        match answer {
            Ok(Ok(json)) => reply(&json),
            Ok(Err(Failed::Late)) => self.late(),
            Ok(Err(Failed::Threw(text))) => ToolReply::error(text),
            Err(_) => ToolReply::error("the script was stopped by a fault of the studio"),
        }
    }

    fn start(&self, input: String, place: Place) -> std::io::Result<Work> {
        let (sender, answer) = oneshot::channel();
        let unwanted = Arc::new(AtomicBool::new(false));
        let work = Work { answer, unwanted: Arc::clone(&unwanted), watch: Some(place.watch()) };
        let (code, limit) = (Arc::clone(&self.code), self.limit);
        let body = move || {
            let result = sandbox::run(&code, &input, &Limit { until: Instant::now() + limit, unwanted });
            drop(place);
            let _nobody_waits_any_more = sender.send(result);
        };
        std::thread::Builder::new().name("studio-script".into()).stack_size(sandbox::THREAD_STACK).spawn(body)?;
        Ok(work)
    }

    fn late(&self) -> ToolReply {
        ToolReply::error(format!("the script ran longer than {} ms and was stopped", self.limit.as_millis()))
    }
}

/// The answer that a script's JSON is.
pub(super) fn reply(json: &str) -> ToolReply {
    match json::read::<Value>(json.as_bytes()) {
        Ok(value) => ToolReply::value(&value),
        Err(Unread::Heavy) => ToolReply::error("the result has too many values; return fewer of them, or one text"),
        Err(Unread::Wrong(_)) => ToolReply::error("the result is nested too deeply to be read"),
    }
}

impl Tool for Script {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let script = self.clone();
        Box::pin(async move { script.answer(&call.tenant, call.arguments.to_string()).await })
    }
}

/// What is wrong with the body of a function, if anything is: parsed on a thread of its own, which has the stack for it.
pub(super) fn code_problem(code: &str) -> Option<String> {
    let code = code.to_owned();
    let limit = Limit { until: Instant::now() + PARSING, unwanted: Arc::default() };
    let parsing = std::thread::Builder::new().name("studio-script".into()).stack_size(sandbox::THREAD_STACK);
    match parsing.spawn(move || sandbox::problem(&code, limit)) {
        Ok(thread) => thread.join().unwrap_or_else(|_| Some("could not be read".into())),
        Err(error) => Some(format!("could not be read, the system gave no thread: {error}")),
    }
}
