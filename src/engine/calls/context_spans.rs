//! Owns spans that are no calls: what was left out of a model's context, and other pieces that are measured.

use serde_json::Value;

use crate::engine::drive::context::StepContext;
use crate::model::event::{Event, Fault, Measured};
use crate::model::truncation::Cut;

impl StepContext {
    /// Records a measured piece that is no call, once for each key; nothing when spans are switched off.
    ///
    /// # Errors
    /// When the run is lost.
    pub fn measure(&self, key: &str, kind: &str, name: &str, output: Value) -> Result<(), Fault> {
        let known = || self.open(|step| step.measured.contains(key)).unwrap_or(false);
        if !self.world().config.observability.native_tracing || known() {
            return Ok(());
        }
        let span = self.world().clock.id();
        self.record(Event::Measured(Box::new(Measured {
            step: self.step(),
            span,
            kind: kind.to_owned(),
            name: name.to_owned(),
            output,
            key: key.to_owned(),
        })))
    }

    /// Records what was cut to its budget, once for each key.
    ///
    /// # Errors
    /// When the run is lost.
    pub fn measure_cuts(&self, key: &str, cuts: &[Cut]) -> Result<(), Fault> {
        let mut numbered = cuts.iter().enumerate();
        numbered.try_for_each(|(at, cut)| self.measure(&format!("{key}:{at}"), "context", "context_truncation", cut.span_output.clone()))
    }
}
