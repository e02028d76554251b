//! Owns the delivery of runs to other systems: collected without waiting, buffered within limits, sent by background tasks.

mod address;
mod buffer;
mod conventions;
mod delivery;
mod inspector;
mod install;
mod langfuse;
mod messages;
mod metrics;
mod otlp;
mod piece;
mod target;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};

use crate::config::Config;
use crate::providers::trust::Trust;
use crate::secrets::Secrets;
use metrics::Metrics;
use target::{Language, Target};

pub use install::{Installed, Preset, install, write as write_file};
pub use piece::{Content, End, Piece, RunFacts, TOOL_ERROR, Work, root_id, span_id};

/// What the tasks have to count what they did not send.
const COUNTING: Duration = Duration::from_millis(500);

/// Everything that is sent to other systems. Without any system it costs nothing.
pub struct Observer {
    targets: Vec<Arc<Target>>,
    metrics: Option<(Arc<Target>, Arc<Metrics>)>,
    content: bool,
    traces: bool,
}

impl Observer {
    /// What the configuration names; nothing is opened yet.
    #[must_use]
    pub fn new(config: &Config, secrets: &Secrets) -> Self {
        // A file that cannot be read was refused when the studio opened.
        let trust = Trust::of(config).unwrap_or_default();
        let opened = |place| Arc::new(Target::new(place, secrets.clone(), trust.clone()));
        let places = target::configured(config);
        let content = places.iter().any(|place| place.content);
        let traces = places.iter().any(|place| place.language != Language::Inspector);
        let metrics = target::of_metrics(config).map(|place| (opened(place), Arc::default()));
        Self { targets: places.into_iter().map(opened).collect(), metrics, content, traces }
    }

    /// A system is configured.
    pub fn watches(&self) -> bool {
        !self.targets.is_empty()
    }

    /// A system receives content: texts of models, tools and people.
    pub fn wants_content(&self) -> bool {
        self.content
    }

    /// Spans are sent in OpenTelemetry's form, so a call can pass its span on as parent.
    pub fn traces(&self) -> bool {
        self.traces
    }

    /// Takes a piece that ended. It never waits: what finds no room is counted.
    pub fn take(&self, piece: Piece) {
        if let Some((_, metrics)) = &self.metrics {
            metrics.take(&piece);
        }
        let piece = Arc::new(piece);
        for target in &self.targets {
            target.take(&piece);
        }
    }

    /// The tasks that send; each ends after `close`.
    #[must_use]
    pub fn tasks(&self) -> Vec<BoxFuture<'static, ()>> {
        let task = |target: &Arc<Target>| -> BoxFuture<'static, ()> {
            target.begin();
            Box::pin(delivery::work(Arc::clone(target)))
        };
        let mut tasks: Vec<_> = self.targets.iter().map(task).collect();
        if let Some((target, metrics)) = &self.metrics {
            target.begin();
            tasks.push(Box::pin(metrics::work(Arc::clone(target), Arc::clone(metrics))));
        }
        tasks
    }

    /// Sends what waits, for at most so long; what is left then is counted as dropped.
    pub async fn close(&self, limit: Duration) {
        let finish = || join_all(self.all().map(|target| target.finish()));
        let finished = tokio::time::timeout(limit, finish()).await;
        self.all().for_each(|target| target.end());
        if finished.is_err() {
            // Each task gives up its request now and counts it.
            let _counted = tokio::time::timeout(COUNTING, finish()).await;
        }
        self.all().for_each(|target| target.report());
    }

    /// For each configured system: why nothing can be sent to it, as far as that is known without a request.
    pub async fn problems(&self) -> Vec<(&'static str, Option<String>)> {
        let looked = self.targets.iter().map(|target| async move { (target.place.name, target.headers().await.err()) });
        join_all(looked).await
    }

    /// What became of the pieces so far, for each configured system.
    pub fn counts(&self) -> Value {
        self.all().map(|target| json!(target.counts())).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Target>> {
        self.targets.iter().chain(self.metrics.as_ref().map(|(target, _)| target))
    }
}
