//! Owns the limits on a server's requests: queued answers, and requests in a time.
//!
//! Each request of a server is answered by a separate task. A server that asks faster than it reads answers would fill the memory of the host. So
//! nothing more is read from it while many answers are queued, and a connection that stays in this state is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio::time::Instant;

/// What a server may ask of us.
#[derive(Clone, Copy)]
struct Bounds {
    /// Requests that wait for our answer.
    waiting: usize,
    /// How long the server may leave our answers unread once so many wait.
    patience: Duration,
    /// Requests that are taken within the time below; the next ones wait until it is over.
    requests: usize,
    within: Duration,
}

const BOUNDS: Bounds = Bounds { waiting: 32, patience: Duration::from_secs(5), requests: 2000, within: Duration::from_secs(10) };

/// A transport on which a server cannot ask more than is answered.
pub(super) struct Bounded<T> {
    inner: T,
    answers: Arc<Answers>,
    /// A request that was read and is not yet passed on, and since when.
    held: Option<(ServerJsonRpcMessage, Instant)>,
    /// When requests were last counted anew, and how many came since.
    window: (Instant, usize),
    bounds: Bounds,
}

/// Requests that were passed on and are not answered yet.
#[derive(Default)]
struct Answers {
    waiting: AtomicUsize,
    sent: Notify,
}

impl Answers {
    /// An answer left, or cannot leave any more.
    fn over(&self) {
        let _none_waited = self.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, |waiting| waiting.checked_sub(1));
        self.sent.notify_one();
    }
}

impl<T> Bounded<T> {
    /// The bound around a transport.
    pub(super) fn new(inner: T) -> Self {
        Self { inner, answers: Arc::default(), held: None, window: (Instant::now(), 0), bounds: BOUNDS }
    }

    /// Waits until a request may be passed on. False when the server reads no answers: the connection is over.
    async fn room(&mut self, since: Instant) -> bool {
        let Bounds { waiting, patience, requests, within } = self.bounds;
        let over = self.window.0 + within;
        if self.window.1 >= requests && Instant::now() < over {
            tokio::time::sleep_until(over).await;
        }
        if Instant::now() >= over {
            self.window = (Instant::now(), 0);
        }
        let until = since.max(self.window.0) + patience;
        let is_full = || self.answers.waiting.load(Ordering::Acquire) >= waiting;
        while is_full() {
            if tokio::time::timeout_at(until, self.answers.sent.notified()).await.is_err() && is_full() {
                return false;
            }
        }
        true
    }
}

/// Ends a request's wait for its answer, however its sending ends.
struct Over(Arc<Answers>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over();
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Bounded<T> {
    type Error = T::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answers = matches!(item, ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_));
        let over = answers.then(|| Over(Arc::clone(&self.answers)));
        let sent = self.inner.send(item);
        async move {
            let sent = sent.await;
            drop(over);
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        if self.held.is_none() {
            let message = self.inner.receive().await?;
            if !matches!(message, ServerJsonRpcMessage::Request(_)) {
                return Some(message);
            }
            self.held = Some((message, Instant::now()));
        }
        // What was read stays held should somebody else be listened to meanwhile.
        let since = self.held.as_ref().map(|(_, since)| *since)?;
        if !self.room(since).await {
            tracing::warn!("an MCP server sends requests and does not read the answers; its connection is closed");
            return None;
        }
        self.window.1 += 1;
        self.answers.waiting.fetch_add(1, Ordering::AcqRel);
        self.held.take().map(|(message, _)| message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::*;

    /// A server that never stops asking, and reads answers or does not.
    struct Asking {
        reads: bool,
        next: usize,
    }

    impl Transport<RoleClient> for Asking {
        type Error = Infallible;

        fn send(&mut self, _: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            let reads = self.reads;
            async move { if reads { Ok(()) } else { std::future::pending().await } }
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            self.next += 1;
            Some(serde_json::from_value(json!({"jsonrpc": "2.0", "id": self.next, "method": "ping"})).expect("a request"))
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn answer(id: usize) -> ClientJsonRpcMessage {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}})).expect("an answer")
    }

    const SMALL: Bounds = Bounds { waiting: 4, patience: Duration::from_millis(50), requests: 100, within: Duration::from_millis(200) };

    #[tokio::test]
    async fn a_server_that_reads_no_answers_is_given_up() {
        let mut bounded = Bounded { bounds: SMALL, ..Bounded::new(Asking { reads: false, next: 0 }) };
        let (mut taken, mut sending) = (0, tokio::task::JoinSet::new());
        while bounded.receive().await.is_some() {
            taken += 1;
            sending.spawn(bounded.send(answer(taken)));
        }
        assert_eq!(taken, SMALL.waiting);
    }

    #[tokio::test]
    async fn requests_that_are_answered_go_on_at_a_bounded_pace() {
        let mut bounded = Bounded { bounds: SMALL, ..Bounded::new(Asking { reads: true, next: 0 }) };
        let begun = Instant::now();
        for id in 0..=SMALL.requests {
            assert!(bounded.receive().await.is_some());
            let Ok(()) = bounded.send(answer(id)).await;
        }
        assert!(begun.elapsed() >= SMALL.within);
    }
}
