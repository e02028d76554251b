//! Owns the metrics of all runs: a limited number of histograms, sent periodically and on close.

mod message;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;

use super::conventions::{kind_of_provider, operation};
use super::delivery;
use super::piece::{End, Piece, Work};
use super::target::Target;
use crate::model::Timestamp;
use crate::model::event::EntityKind;
use crate::sync::Mutex;

/// How often they are sent.
const INTERVAL: Duration = Duration::from_secs(60);
/// Histograms that are kept; what finds no room is added to the one of its instrument that stands for all others.
const SERIES: usize = 1024;

/// Pieces of many runs come a little out of order. By more than this, in milliseconds, none does: the clock was set back.
const SET_BACK: u64 = 10_000;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Instrument {
    TokenUsage,
    OperationDuration,
    RunDuration,
}

impl Instrument {
    const ALL: [Self; 3] = [Self::TokenUsage, Self::OperationDuration, Self::RunDuration];

    /// Name, unit, and what it says.
    const fn name_unit_help(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::TokenUsage => ("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used."),
            Self::OperationDuration => ("gen_ai.client.operation.duration", "s", "GenAI operation duration."),
            Self::RunDuration => ("studio.run.duration", "s", "Time that runs were at work, without waiting for people."),
        }
    }

    /// The upper bounds of its buckets, those of the conventions.
    const fn bounds(self) -> &'static [f64] {
        match self {
            Self::TokenUsage => &[
                1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 4_194_304.0, 16_777_216.0, 67_108_864.0,
            ],
            Self::OperationDuration => &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
            Self::RunDuration => &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0],
        }
    }
}

/// Names with what they say: never an id of a run, a thread, a user or a tenant.
type Attributes = Vec<(&'static str, String)>;

#[derive(Clone, Debug)]
struct Histogram {
    count: u64,
    sum: f64,
    least: f64,
    most: f64,
    buckets: Vec<u64>,
}

impl Histogram {
    fn new(bounds: &[f64]) -> Self {
        Self { count: 0, sum: 0.0, least: f64::INFINITY, most: 0.0, buckets: vec![0; bounds.len() + 1] }
    }

    fn add(&mut self, value: f64, bounds: &[f64]) {
        self.count += 1;
        self.sum += value;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        let at = bounds.partition_point(|bound| *bound < value);
        if let Some(bucket) = self.buckets.get_mut(at) {
            *bucket += 1;
        }
    }
}

struct Measured {
    /// Sums of several processes are sums of their own: each engine has a random name, chosen when it first sends metrics, so after a fork.
    instance: OnceLock<String>,
    series: HashMap<(Instrument, Attributes), Histogram>,
    since: Option<Timestamp>,
    until: Timestamp,
    /// Something was measured that was not sent yet.
    has_unsent: bool,
}

/// All histograms, from the beginning on: a request that is lost takes nothing with it.
pub(super) struct Metrics(Mutex<Measured>);

impl Default for Metrics {
    fn default() -> Self {
        Self(Mutex::new(Measured { instance: OnceLock::new(), series: HashMap::new(), since: None, until: Timestamp::default(), has_unsent: false }))
    }
}

impl Metrics {
    /// Measures a piece that ended.
    pub(super) fn take(&self, piece: &Piece) {
        let mut measured = self.0.lock();
        match piece.work {
            Work::Chat | Work::Embedding => measured.call(piece),
            Work::Run => measured.run(piece),
            Work::Agent { .. } | Work::Step { .. } | Work::Tool | Work::Retrieval | Work::Measured => {}
        }
    }

    /// The request with all histograms; none if nothing was measured since the last one.
    fn request(&self, environment: &str) -> Option<Bytes> {
        let mut measured = self.0.lock();
        std::mem::take(&mut measured.has_unsent).then(|| message::request(&measured, environment))
    }

    /// The last request was not taken.
    fn again(&self) {
        self.0.lock().has_unsent = true;
    }
}

impl Measured {
    fn call(&mut self, piece: &Piece) {
        let mut about: Attributes = vec![("gen_ai.operation.name", operation(piece).unwrap_or_default().to_owned())];
        about.extend(kind_of_provider(piece).map(|kind| ("gen_ai.provider.name", kind.to_owned())));
        about.extend(piece.model.iter().map(|model| ("gen_ai.request.model", model.clone())));
        if let Some(usage) = &piece.usage {
            let output = (piece.work == Work::Chat).then_some(("output", usage.tokens.completion));
            for (kind, count) in std::iter::once(("input", usage.tokens.prompt)).chain(output) {
                let about = about.iter().cloned().chain([("gen_ai.token.type", kind.to_owned())]).collect();
                self.add(Instrument::TokenUsage, about, count as f64, piece);
            }
        }
        about.extend(match &piece.end {
            End::Well => None,
            End::Failed { code, .. } => Some(("error.type", code.clone())),
            End::Cut => Some(("error.type", "cancelled".to_owned())),
        });
        self.add(Instrument::OperationDuration, about, seconds(piece), piece);
    }

    fn run(&mut self, piece: &Piece) {
        let status = match &piece.end {
            End::Well => "completed",
            End::Failed { .. } => "failed",
            End::Cut => "cancelled",
        };
        let entity = match piece.run.entity {
            EntityKind::Workflow => "workflow",
            EntityKind::Agent => "agent",
        };
        let about = vec![("studio.run.status", status.to_owned()), ("studio.entity.type", entity.to_owned())];
        self.add(Instrument::RunDuration, about, seconds(piece), piece);
    }

    /// The time that the sums are of.
    fn pass(&mut self, started: Timestamp, ended: Timestamp) {
        // Where a sum begins never changes: collectors take another beginning for a process that began anew.
        let since = *self.since.get_or_insert(started);
        let latest = if self.until.since(ended) > SET_BACK { ended } else { self.until.max(ended) };
        self.until = latest.max(since);
    }

    fn add(&mut self, instrument: Instrument, about: Attributes, value: f64, piece: &Piece) {
        self.pass(piece.started, piece.ended);
        self.has_unsent = true;
        let known = self.series.len() < SERIES || self.series.contains_key(&(instrument, about.clone()));
        let about = if known { about } else { vec![("otel.metric.overflow", "true".to_owned())] };
        let bounds = instrument.bounds();
        self.series.entry((instrument, about)).or_insert_with(|| Histogram::new(bounds)).add(value, bounds);
    }
}

/// The execution time.
fn seconds(piece: &Piece) -> f64 {
    piece.worked_ms.unwrap_or_else(|| piece.ended.since(piece.started)) as f64 / 1000.0
}

/// Tells what is measured, until the target closes.
pub(super) async fn work(target: Arc<Target>, metrics: Arc<Metrics>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = target.closing.cancelled() => {}
        }
        let last = target.closing.is_cancelled();
        if let Some(request) = metrics.request(&target.place.environment)
            && !delivery::tell(&target, request).await
        {
            metrics.again();
        }
        if last {
            break;
        }
    }
    target.over.cancel();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_is_followed_and_pieces_out_of_order_are_not() {
        let metrics = Metrics::default();
        let mut measured = metrics.0.lock();
        let hour = 3_600_000;
        for (started, ended, until) in [
            (hour, hour + 10, hour + 10),
            (hour, hour + 5, hour + 10),
            (hour, 3 * hour, 3 * hour),
            (hour, hour + 20, hour + 20),
            (0, 20, hour),
        ] {
            measured.pass(Timestamp(started), Timestamp(ended));
            assert_eq!((measured.since, measured.until), (Some(Timestamp(hour)), Timestamp(until)), "{started} {ended}");
        }
    }
}
