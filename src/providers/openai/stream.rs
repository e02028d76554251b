//! Owns the reply from a chat completion, streamed or whole.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::FAMILY;
use super::answer::{self, Fragments};
use super::dialect::Dialect;
use super::leading_thought::Leading;
use super::own;
use crate::model::chat::Tokens;
use crate::model::parts::{NewFile, Part};
use crate::model::usage::Picos;
use crate::providers::sources::Sources;
use crate::providers::reply::{self, Parts};
use crate::providers::wire::{self, Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, Named, ProviderFailure, refusal, thoughts};

/// What is read of a piece of an answer.
pub(super) struct Frame<'t> {
    text: &'t str,
    /// The one that counts.
    choice: Option<Choice>,
    /// The places of usage; if a server sends it twice, both are the same.
    usages: [Option<Value>; 3],
    /// Where some servers list the pages that the answer rests on.
    pages: [Option<Value>; 2],
    /// Where they report an error within an answer.
    errors: [Option<Value>; 2],
    /// It is an error as a whole.
    is_error: bool,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<Value>,
    message: Option<Value>,
    delta: Option<Value>,
    #[serde(rename = "finish_reason")]
    finish: Option<Value>,
    usage: Option<Value>,
}

/// A frame as it is written. Members that no provider of this family sends are ignored.
#[derive(Deserialize, Default)]
struct Written {
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    x_groq: Option<GroqMember>,
    search_results: Option<Value>,
    citations: Option<Value>,
    error: Option<Value>,
    object: Option<Value>,
}

/// Frames that may have no names before the first that has: those with what a filter found.
const LOOKS: u8 = 4;

/// The names in a frame. All frames say them, and one is enough.
#[derive(Deserialize, Default)]
struct Names {
    id: Option<Value>,
    model: Option<Value>,
}

/// Groq's own member of a frame.
#[derive(Deserialize)]
struct GroqMember {
    usage: Option<Value>,
    error: Option<Value>,
}

impl<'t> wire::Frame<'t> for Frame<'t> {
    fn read(text: &'t str) -> serde_json::Result<Self> {
        let is_object = text.trim_start().starts_with('{');
        // Text that is JSON but no object holds nothing.
        let written: Written = if is_object { serde_json::from_str(text)? } else { Written::default() };
        let mut choice = written.choices.and_then(|choices| choices.into_iter().next());
        let choice_usage = choice.as_mut().and_then(|choice| choice.usage.take());
        let (groq_usage, groq_error) = written.x_groq.map_or((None, None), |groq| (groq.usage, groq.error));
        Ok(Self {
            text,
            choice,
            usages: [written.usage, groq_usage, choice_usage],
            pages: [written.search_results, written.citations],
            errors: [written.error, groq_error],
            is_error: written.object.is_some_and(|object| object == "error"),
        })
    }
}

/// An answer as far as it came.
pub(super) struct CompletionState<'a> {
    dialect: &'a Dialect,
    text: String,
    refusal: String,
    thought: String,
    /// What the text begins with may be thought, too.
    leading: Leading,
    /// What was thought there.
    tagged: String,
    /// It goes back so.
    echoes_tags: bool,
    encrypted: bool,
    sources: Sources,
    files: Vec<NewFile>,
    own: Map<String, Value>,
    calls: Fragments,
    finish: Option<String>,
    tokens: Option<Tokens>,
    named: Named,
    /// Frames that were looked at for names.
    looked: u8,
    /// Several answers were asked for.
    among: bool,
    /// Its pieces are called deltas: a message beside them or behind them repeats them.
    by_delta: bool,
    cost: Option<Picos>,
    spoke: bool,
    over: bool,
}

impl Reading for CompletionState<'_> {
    type Frame<'t> = Frame<'t>;

    fn take(&mut self, frame: &Frame<'_>, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.take_frame(frame)?;
        match &frame.choice {
            Some(choice) if self.among && choice.index.as_ref().and_then(Value::as_u64).unwrap_or(0) > 0 => Ok(()),
            Some(choice) => {
                self.by_delta |= choice.delta.is_some();
                let message = choice.message.as_ref().filter(|message| !self.by_delta && message.is_object());
                self.take_choice(choice, choice.delta.as_ref().or(message), deltas)
            }
            None => Ok(()),
        }
    }

    fn take_whole(&mut self, body: &Frame<'_>, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.take_frame(body)?;
        let choice = body.choice.as_ref().ok_or_else(|| malformed("it holds no choice"))?;
        let message = choice.message.as_ref().filter(|message| message.is_object()).ok_or_else(|| malformed("it holds no message"))?;
        self.take_choice(choice, Some(message), deltas)?;
        self.end_text(deltas);
        Ok(())
    }

    fn take_done(&mut self, deltas: Deltas<'_>) {
        self.over = true;
        if self.dialect.ends_with_marker {
            self.end_text(deltas);
        }
    }

    fn over(&self) -> bool {
        self.over
    }

    /// Not every server sends `[DONE]`, and an interrupted one may send it anyway.
    fn may_end(&self) -> bool {
        self.finish.is_some() || (self.over && self.dialect.ends_with_marker)
    }

    fn call_bytes(&self) -> usize {
        self.calls.bytes()
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn cost(&self) -> Option<Picos> {
        self.cost
    }

    fn end(mut self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        if self.text.is_empty() && !self.refusal.is_empty() {
            return Err(reply::filtered(&self.refusal));
        }
        if !self.spoke {
            return Err(malformed("it holds no choice"));
        }
        let finish = match self.finish.as_deref() {
            None | Some("stop" | "eos") => Finish::Stop,
            Some("length" | "model_length") => Finish::Length,
            Some("tool_calls" | "function_call") => Finish::ToolCalls,
            Some("content_filter") => Finish::ContentFilter,
            Some("error" | "insufficient_system_resource") => return Err(reply::broken_off()),
            Some(_) => Finish::Other,
        };
        if let Some(tagged) = self.leading.tagged().filter(|_| self.echoes_tags) {
            own::keep_tag(&mut self.own, tagged);
        }
        let own = (!self.own.is_empty()).then_some(Value::Object(self.own));
        let mut thoughts = thoughts::reasoning_parts(&(self.thought + &self.tagged));
        thoughts.extend((self.encrypted && thoughts.is_empty()).then(|| Part::reasoning("")));
        let parts = Parts { text: self.text, calls: self.calls.calls(), thoughts, sources: self.sources, files: self.files, own, tokens: self.tokens, named: self.named, cost: self.cost, finish, explanation: self.refusal };
        parts.into_reply(FAMILY, request)
    }
}

/// Pictures of one answer that are looked at; fewer are kept.
const PICTURES: usize = 64;

impl<'a> CompletionState<'a> {
    pub(super) fn new(dialect: &'a Dialect, model: &str) -> Self {
        let (own, calls) = (Map::new(), Fragments::default());
        let (text, refusal, thought, tagged) = (String::new(), String::new(), String::new(), String::new());
        let (leading, echoes_tags) = (Leading::of(dialect), dialect.echoes_tags(model));
        let (sources, files, named) = (Sources::default(), Vec::new(), Named::default());
        let (encrypted, spoke, over, among, by_delta, looked) = (false, false, false, false, false, 0);
        let (finish, tokens, cost) = (None, None, None);
        Self {
            dialect, text, refusal, thought, leading, tagged, echoes_tags, encrypted, sources, files, own, calls, finish, tokens, named, looked, among, by_delta,
            cost, spoke, over,
        }
    }

    /// Of several answers the first one counts.
    pub(super) fn among(mut self, several: bool) -> Self {
        self.among = several;
        self
    }

    /// What a frame holds beside its choice: an error, or the usage so far, of which the last report counts.
    fn take_frame(&mut self, frame: &Frame<'_>) -> Result<(), ProviderFailure> {
        if self.looked < LOOKS && self.named.id.is_none() {
            self.looked += 1;
            let names = serde_json::from_str::<Names>(frame.text).unwrap_or_default();
            self.named.take(names.id.as_ref(), names.model.as_ref());
        }
        frame.pages.iter().for_each(|pages| self.sources.listed(pages.as_ref()));
        let usage = frame.usages.iter().flatten().find_map(answer::tokens);
        self.tokens = usage.or(self.tokens);
        self.cost = frame.usages.iter().flatten().find_map(|usage| reply::dollars(usage.get("cost")?)).or(self.cost);
        if let Some(error) = frame.errors.iter().flatten().find(|error| !error.is_null()) {
            return Err(refusal::read_inside(error));
        }
        if frame.is_error {
            let error = serde_json::from_str(frame.text).map_err(|problem| malformed(&problem.to_string()))?;
            return Err(refusal::read_inside(&error));
        }
        Ok(())
    }

    /// Pictures come whole, in a message or in a piece of one; the same one may come again at the end.
    fn add_pictures(&mut self, message: &Value) {
        let images = message.get("images").and_then(Value::as_array).into_iter().flatten();
        for url in images.filter_map(|image| reply::at(image, &["image_url", "url"])?.as_str()).take(PICTURES) {
            if self.files.len() >= PICTURES {
                break;
            }
            if let Some(file) = NewFile::of_data_url(url).filter(|file| !self.files.contains(file)) {
                self.files.push(file);
            }
        }
    }

    /// Takes what came of the text: what is thought in it, and what is said.
    fn tell(&mut self, (thought, said): (String, String), deltas: Deltas<'_>) {
        if !thought.is_empty() {
            self.tagged.push_str(&thought);
            deltas(Delta::Reasoning(thought));
        }
        if !said.is_empty() {
            self.text.push_str(&said);
            deltas(Delta::Text(said));
        }
    }

    /// The text is over. A thought without an end that is the whole of a complete answer is no thought: it is what the person gets.
    fn end_text(&mut self, deltas: Deltas<'_>) {
        let rest = self.leading.end();
        self.tell(rest, deltas);
        let complete = matches!(self.finish.as_deref(), None | Some("stop" | "eos"));
        let alone = self.text.is_empty() && self.refusal.is_empty() && self.calls.is_empty() && self.files.is_empty();
        if self.leading.is_open() && complete && alone {
            self.leading.give_up();
            let answer = std::mem::take(&mut self.tagged);
            self.tell((String::new(), answer), deltas);
        }
    }

    fn take_choice(&mut self, choice: &Choice, message: Option<&Value>, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.spoke = true;
        if let Some(finish) = choice.finish.as_ref().and_then(Value::as_str).filter(|finish| !finish.is_empty()) {
            self.finish = Some(finish.to_owned());
        }
        let Some(message) = message else {
            if self.finish.is_some() {
                self.end_text(deltas);
            }
            return Ok(());
        };
        let details = thoughts::of_details(message.get("reasoning_details"));
        self.encrypted |= details.1;
        let thought = Some(answer::thought(message, self.dialect.reasoning_field.as_deref())).filter(|thought| !thought.is_empty()).unwrap_or(details.0);
        if !thought.is_empty() {
            self.thought.push_str(&thought);
            deltas(Delta::Reasoning(thought));
        }
        self.add_pictures(message);
        self.sources.annotated(message.get("annotations"));
        let text = answer::content(message.get("content"));
        if !text.is_empty() {
            let taken = self.leading.take(text);
            self.tell(taken, deltas);
        }
        self.refusal.push_str(answer::text(message.get("refusal")));
        for echo in &*self.dialect.echo {
            own::keep(&mut self.own, echo, message);
        }
        match message.get("tool_calls").filter(|calls| !calls.is_null()) {
            Some(calls) => self.calls.take(Some(calls))?,
            None => self.calls.take_old(message.get("function_call")),
        }
        if self.finish.is_some() {
            self.end_text(deltas);
        }
        Ok(())
    }
}
