//! Owns the places in log entries that contain values of people, models and tools.

use std::sync::Arc;

use super::{MASK, Masks};
use crate::model::parts::Source;
use crate::model::event::{
    Answer, CallFinished, CallOutcome, Created, Event, Fault, PauseReason, PureOutcome, Resumed, Retried, StepCompleted, ToolOutcome,
};

impl Masks {
    /// An entry as it may be stored and sent.
    #[must_use]
    pub fn event(&mut self, event: &Event) -> Event {
        let mut masked = event.clone();
        let before = self.known.len();
        self.mask(&mut masked);
        if self.known.len() > before {
            // What was learned late in the entry may be early in it, too.
            masked.clone_from(event);
            self.mask(&mut masked);
        }
        masked
    }

    fn mask(&mut self, event: &mut Event) {
        match event {
            Event::Created(created) => self.created(Arc::make_mut(created)),
            Event::Resumed(resumed) => self.resumed(resumed),
            Event::Retried(retried) => self.retried(retried),
            Event::Requeued { fault, .. }
            | Event::StepRetrying { fault, .. }
            | Event::StepFailed { fault, .. }
            | Event::Failed { fault, .. } => self.fault(fault),
            Event::StepRan(ran) => match &mut ran.outcome {
                PureOutcome::Left { change, .. } => self.change(change),
                PureOutcome::Failed(fault) => self.fault(fault),
            },
            Event::StepCompleted(done) => self.completed(done),
            Event::ToolsCalled { calls, .. } => calls.iter_mut().for_each(|call| self.call(call)),
            Event::CallStarted(call) => {
                if call.arguments.is_some() && let Some(arguments) = &mut Arc::make_mut(call).arguments {
                    self.value(arguments);
                }
                if !call.options.is_empty() {
                    Arc::make_mut(call).options.values_mut().for_each(|value| self.value(value));
                }
            }
            Event::CallFinished(call) => self.finished(call),
            Event::Measured(measured) => self.value(&mut measured.output),
            Event::Paused(pause) => match &mut pause.reason {
                PauseReason::Human { prompt, question, .. } => {
                    self.text(prompt);
                    question.iter_mut().for_each(|question| self.value(&mut question.schema));
                }
                PauseReason::Approval { calls, message, fixed, .. } => {
                    fixed.values_mut().for_each(|fixed| self.fields(fixed));
                    calls.iter_mut().for_each(|call| self.call(call));
                    self.text(message);
                }
            },
            Event::Completed { output, reply } => {
                self.fields(Arc::make_mut(output));
                reply.iter_mut().for_each(|reply| self.text(reply));
            }
            Event::Began
            | Event::TakenOver { .. }
            | Event::ClockJumped { .. }
            | Event::StepStarted(_)
            | Event::PromptBuilt { .. }
            | Event::ModelFallback(_)
            | Event::CheckpointHit { .. }
            | Event::BranchStarted { .. }
            | Event::BranchEnded
            | Event::Rested { .. }
            | Event::Cancelled { .. } => {}
        }
    }

    /// How a run was made.
    pub fn created(&mut self, created: &mut Created) {
        self.fields(&mut created.state);
        created.user.iter_mut().for_each(|user| self.value(user));
        created.context.iter_mut().for_each(|context| self.value(context));
        created.instructions.iter_mut().for_each(|text| self.text(text));
        self.text(&mut created.message);
    }

    fn resumed(&mut self, resumed: &mut Resumed) {
        match &mut resumed.answer {
            Answer::Human { message, .. } => self.text(message),
            Answer::Question { message, said } => {
                self.text(message);
                self.value(&mut said.answer);
            }
            Answer::Approval { decisions } => {
                for decision in decisions {
                    decision.arguments.iter_mut().for_each(|arguments| self.value(arguments));
                    decision.message.iter_mut().for_each(|message| self.text(message));
                }
            }
        }
    }

    fn retried(&mut self, retried: &mut Retried) {
        self.fields(&mut retried.state);
        for answer in &mut retried.in_doubt {
            answer.result.iter_mut().for_each(|result| self.text(result));
        }
    }

    fn completed(&mut self, done: &mut StepCompleted) {
        self.change(&mut done.change);
        done.error.iter_mut().for_each(|fault| self.fault(fault));
        if let Some(turn) = &mut done.turn {
            turn.messages.iter_mut().for_each(|message| self.message(message));
            turn.summary.iter_mut().for_each(|summary| self.text(&mut summary.text));
        }
    }

    fn finished(&mut self, call: &mut CallFinished) {
        call.sources.iter_mut().flat_map(Source::texts).for_each(|text| self.text(text));
        call.warnings.iter_mut().for_each(|warning| self.text(&mut warning.message));
        call.files.iter_mut().for_each(|file| self.text(&mut file.name));
        call.structured.iter_mut().for_each(|value| self.value(value));
        match &mut call.outcome {
            CallOutcome::Message(_) => {}
            CallOutcome::Tool(outcome) => self.outcome(outcome),
            CallOutcome::Asked(asked) => {
                asked.state.iter_mut().for_each(|state| self.text(state));
                for question in &mut asked.questions {
                    self.text(&mut question.message);
                    self.value(&mut question.schema);
                }
            }
            CallOutcome::Value(value) => self.value(value),
            CallOutcome::Failed(fault) => self.fault(fault),
        }
    }

    fn outcome(&mut self, outcome: &mut ToolOutcome) {
        self.value(&mut outcome.inputs);
        self.text(&mut outcome.result);
        outcome.files.iter_mut().for_each(|file| self.text(&mut file.name));
    }

    /// Why something failed.
    pub fn fault(&mut self, fault: &mut Fault) {
        self.text(&mut fault.message);
        fault.validation_errors.iter_mut().for_each(|error| self.text(error));
        fault.calls.iter_mut().for_each(|call| self.value(&mut call.arguments));
    }

    /// A person's answer to a prompt whose key is named.
    pub fn answer(&mut self, answer: &mut Answer) {
        if let Answer::Human { message, .. } = answer {
            self.learn_text(message);
            if !message.is_empty() {
                MASK.clone_into(message);
            }
        }
    }
}
