//! Owns the link to one server: a connection that is reopened when lost, at a limited rate, and calls on it.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::live::{CallError, Live, ServerTool};
use super::server::{Ready, ServerAddress, unavailable};
use super::server_call::{Replied, ServerCall};
use super::{content, open};
use crate::model::event::Fault;
use crate::sync::Mutex;
use crate::tools::ToolReply;
use crate::tools::guard::Guard;

/// A program is started this often within the time below; then it is left alone.
const STARTS: usize = 4;
const STARTS_WITHIN: Duration = Duration::from_secs(300);
/// How long a program may stay silent after a call was given up; longer while it works for others.
const SILENCE: Duration = Duration::from_secs(5);
const SILENCE_AT_WORK: Duration = Duration::from_secs(60);

/// The way to one server.
pub(super) struct Link {
    ready: Ready,
    live: Mutex<Option<Arc<Live>>>,
    /// Only one opens it.
    opening: tokio::sync::Mutex<()>,
    /// The last time that it could not be opened.
    failed: Mutex<Option<(Instant, Fault)>>,
    starts: Mutex<VecDeque<Instant>>,
    used: Mutex<Instant>,
    users: AtomicUsize,
    /// Told when nobody uses it any more.
    freed: Arc<Notify>,
}

/// As long as somebody uses it.
pub(super) struct Use(Arc<Link>);

impl Drop for Use {
    fn drop(&mut self) {
        *self.0.used.lock() = Instant::now();
        if self.0.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.freed.notify_waiters();
        }
    }
}

impl Deref for Use {
    type Target = Arc<Link>;

    fn deref(&self) -> &Arc<Link> {
        &self.0
    }
}

impl Link {
    pub(super) fn new(ready: Ready, freed: Arc<Notify>) -> Self {
        let (live, opening, failed, starts, users) = Default::default();
        Self { ready, live, opening, failed, starts, used: Mutex::new(Instant::now()), users, freed }
    }

    /// Somebody uses it from now on.
    pub(super) fn enter(self: &Arc<Self>) -> Use {
        self.users.fetch_add(1, Ordering::AcqRel);
        Use(Arc::clone(self))
    }

    /// Whose connection it is.
    pub(super) fn tenant(&self) -> &str {
        &self.ready.tenant
    }

    /// Nobody waits for it.
    pub(super) fn is_free(&self) -> bool {
        self.users.load(Ordering::Acquire) == 0
    }

    /// When it was used last.
    pub(super) fn used(&self) -> Instant {
        *self.used.lock()
    }

    /// The tools of the server.
    ///
    /// # Errors
    /// `mcp_unavailable`.
    pub(super) async fn tools(&self, guard: &Guard) -> Result<Arc<[ServerTool]>, Fault> {
        let live = self.open(guard).await?;
        let text = match live.tools().await {
            Ok(tools) => return Ok(tools),
            Err(text) => text,
        };
        // It may have died, or been started again, since it was used last. Calls that others wait for are not cut.
        if !live.is_dead() && self.users.load(Ordering::Acquire) > 1 {
            return Err(unavailable(&self.ready.slug, &self.masked(&text)));
        }
        self.leave(&live);
        let live = self.open(guard).await?;
        let failed = |again: String| if again == text { self.masked(&text) } else { self.masked(&format!("{text}; then {again}")) };
        live.tools().await.map_err(|again| unavailable(&self.ready.slug, &failed(again)))
    }

    /// Calls a tool. What could not reach the server is tried once more on a new connection; what may have reached it never is.
    pub(super) async fn call(self: &Arc<Self>, guard: &Guard, call: &ServerCall) -> ToolReply {
        let mut unreached = String::new();
        for _ in 0..2 {
            let live = match self.open(guard).await {
                Ok(live) => live,
                Err(fault) => return ToolReply::undone(fault),
            };
            // From here on, also between the list and the call: one that is not let in meanwhile does not end the connection.
            let _request = live.request();
            // Headers that repeat arguments are made from the list.
            if live.known().is_none() {
                let _called_without = live.tools().await;
            }
            let mut watch = Watch { link: Some((Arc::clone(self), Arc::clone(&live))) };
            let called = live.call(call).await;
            watch.link = None;
            match called {
                Ok(Replied::Result(result)) => {
                    let (text, is_error) = (self.masked(&content::text_of(&result)), result.is_error.unwrap_or(false));
                    let mut files = content::files_of(&result);
                    files.iter_mut().filter_map(|file| file.name.as_mut()).for_each(|name| *name = self.masked(name));
                    return ToolReply { text, is_error, files, ..ToolReply::default() };
                }
                // It is stored until the answer comes, and a mask in it would be of no use to the server.
                Ok(Replied::Asked(asked)) if asked.state.as_ref().is_some_and(|state| self.masked(state) != *state) => {
                    return ToolReply::error(self.sentence("wants a secret of its connection back with a person's answer; the studio does not store it, so nobody was asked"));
                }
                Ok(Replied::Asked(mut asked)) => {
                    for question in &mut asked.questions {
                        question.message = self.masked(&question.message);
                        question.schema = self.ready.masked_schema(&question.schema);
                    }
                    return ToolReply { asked: Some(Box::new(asked)), ..ToolReply::default() };
                }
                Err(CallError::Refused(text)) => return ToolReply::error(self.sentence(&text)),
                Err(CallError::Unread(text)) => return ToolReply::unanswered(self.sentence(&format!("{text}; it is not known what the call did"))),
                Err(CallError::Lost(text)) => return self.lost(&live, &text).await,
                Err(CallError::Unreached(text) | CallError::Forgotten(text)) => {
                    self.leave(&live);
                    unreached = text;
                }
            }
        }
        ToolReply::undone(unavailable(&self.ready.slug, &self.masked(&format!("{unreached}; the call was not made"))))
    }

    async fn lost(&self, live: &Arc<Live>, text: &str) -> ToolReply {
        let words = match &live.program {
            Some((_, words)) => Some(words.to_the_end().await).filter(|words| !words.is_empty()),
            None => None,
        };
        if live.is_dead() || live.program.is_some() {
            self.leave(live);
        }
        let words = words.map(|words| format!("; it said: {words}")).unwrap_or_default();
        ToolReply::unanswered(self.sentence(&format!("{text}; it is not known whether the call ran{words}")))
    }

    fn sentence(&self, text: &str) -> String {
        unavailable(&self.ready.slug, &self.masked(text)).message
    }

    fn masked(&self, text: &str) -> String {
        self.ready.masked(text)
    }

    fn current(&self) -> Option<Arc<Live>> {
        self.live.lock().as_ref().filter(|live| !live.is_dead()).cloned()
    }

    async fn open(&self, guard: &Guard) -> Result<Arc<Live>, Fault> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let asked = Instant::now();
        let _turn = self.opening.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        // Other calls that waited for the same connection get the same error, instead of trying again one after the other.
        if let Some((_, fault)) = self.failed.lock().as_ref().filter(|(at, _)| *at >= asked) {
            return Err(fault.clone());
        }
        self.may_start()?;
        let opened = open::open(&self.ready, guard).await.map(Arc::new);
        let before = match &opened {
            Ok(live) => self.live.lock().replace(Arc::clone(live)),
            Err(fault) => {
                *self.failed.lock() = Some((Instant::now(), fault.clone()));
                None
            }
        };
        if let Some(dead) = before {
            dead.kill();
        }
        opened
    }

    fn may_start(&self) -> Result<(), Fault> {
        if !matches!(self.ready.server_address, ServerAddress::Program(_)) {
            return Ok(());
        }
        let (mut starts, now) = (self.starts.lock(), Instant::now());
        while starts.front().is_some_and(|start| now.duration_since(*start) >= STARTS_WITHIN) {
            starts.pop_front();
        }
        if let Some(first) = starts.front().filter(|_| starts.len() >= STARTS) {
            let wait = STARTS_WITHIN.saturating_sub(now.duration_since(*first)).as_secs();
            let text = format!("was started {STARTS} times within {} s and is started again in {wait} s", STARTS_WITHIN.as_secs());
            return Err(unavailable(&self.ready.slug, &text));
        }
        starts.push_back(now);
        Ok(())
    }

    /// Gives up a connection; the next use opens another one. Requests that are under way on it go on to their end.
    fn leave(&self, live: &Arc<Live>) {
        let left = self.live.lock().take_if(|current| Arc::ptr_eq(current, live));
        if let Some(left) = left {
            tokio::spawn(async move { left.close_after_requests().await });
        }
    }

    /// Ends it in good order.
    pub(super) async fn close(&self) {
        let live = self.live.lock().clone();
        if let Some(live) = live {
            live.close().await;
        }
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        if let Some(live) = self.live.lock().as_ref() {
            live.kill();
        }
    }
}

/// A call while it is under way. Dropped earlier, the server is looked after: a program that stays silent is ended.
struct Watch {
    link: Option<(Arc<Link>, Arc<Live>)>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some((link, live)) = self.link.take().filter(|(_, live)| live.program.is_some()) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let limit = if link.is_free() { SILENCE } else { SILENCE_AT_WORK };
                if !live.reacts(limit).await {
                    live.kill();
                    link.leave(&live);
                }
            });
        }
    }
}
