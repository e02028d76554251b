//! Owns the POST routes of the stream adapters: reads a request, starts or answers a run once per key, and streams it.

use axum::response::Response;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::answers::Answered;
use super::ask::Ask;
use super::decide::{self, Answer, Meaning};
use super::response_stream::{self, ResponseStream};
use super::thread::thread_of_chat;
use super::{Protocol, Translator, agui, files, vercel};
use crate::engine::{Follow, From};
use crate::error::{Error, Kind, Result};
use crate::http::call::Call;
use crate::http::cancel_on_drop::CancelOnDrop;
use crate::http::{answer, idempotency};
use crate::model::Id;
use crate::model::event::EntityKind;
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::runs::requests::{ResumeRequest, RunRequest};
use crate::studio::{Scope, Standing, Studio, Turns};

/// What a post is for.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Entity(EntityKind, String),
    Run(String),
}

impl Target {
    /// As keys are kept under.
    const fn route(&self, protocol: Protocol) -> &'static str {
        match (self, protocol) {
            (Self::Entity(EntityKind::Agent, _), Protocol::Vercel) => "agents/stream/vercel",
            (Self::Entity(EntityKind::Agent, _), Protocol::AgUi) => "agents/stream/agui",
            (Self::Entity(EntityKind::Workflow, _), Protocol::Vercel) => "workflows/stream/vercel",
            (Self::Entity(EntityKind::Workflow, _), Protocol::AgUi) => "workflows/stream/agui",
            (Self::Run(_), Protocol::Vercel) => "resume/vercel",
            (Self::Run(_), Protocol::AgUi) => "resume/agui",
        }
    }

    fn name(&self) -> &str {
        let (Self::Entity(_, name) | Self::Run(name)) = self;
        name
    }

    /// Refuses what is asked of something that there is not; the id of an agent or a workflow.
    async fn must_be_there(&self, studio: &Studio, scope: &Scope) -> Result<Option<Id>> {
        match self {
            Self::Entity(entity, id) => studio.entity_id(scope, *entity, id).await.map(Some),
            Self::Run(run) => studio.must_know_run(scope, run).await.map(|()| None),
        }
    }
}

/// A post on its way to being accepted; it goes on when its client leaves.
struct PendingRequest {
    studio: Studio,
    scope: Scope,
    target: Target,
    ask: Result<Ask>,
    key: Option<RequestKey>,
}

/// A run that begins or goes on.
pub(super) struct Accepted {
    ask: Ask,
    /// In the form of [`crate::studio::Started::accepted_json`].
    accepted_json: Value,
    /// Where the run goes on after each of the further answers, which are given in order.
    more: Option<mpsc::Receiver<Result<From>>>,
    cancel_on_drop: Option<CancelOnDrop>,
    /// It was accepted before: its client lost the stream.
    again: bool,
}

impl Accepted {
    fn text(&self, name: &str) -> String {
        self.accepted_json.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn after(&self) -> u64 {
        self.accepted_json.get("after").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Gives the further answers, also when the client leaves now.
    fn and_answers(mut self, answered: Answered, answers: Vec<Answer>) -> Result<Self> {
        let from = From { after: self.after(), ..From::default() };
        self.more = answered.give_all(from, answers, self.cancel_on_drop.as_ref().and_then(CancelOnDrop::fence))?;
        Ok(self)
    }
}

/// Executes a post and streams it.
pub(super) async fn post(call: Call, target: Target) -> Result<Response> {
    let name = call.part("protocol");
    let protocol = Protocol::named(name).ok_or_else(|| Error::not_found("protocol", name))?;
    let no_approvals = call.query("ui") == Some("5");
    let ask = protocol.read(&call.body).map(|ask| Ask { trace: call.trace(), ..ask });
    let key = key(&call, protocol, &target, ask.as_ref().ok())?;
    let slot = call.studio.stream_slot()?;
    let pending = PendingRequest { studio: call.studio.clone(), scope: call.scope.clone(), target, ask, key };
    let accepted = Box::pin(call.studio.on_runtime(pending.accept())).await?;
    let run = accepted.text("trace_id");
    let from = From { after: accepted.after(), ..From::default() };
    let translator = match protocol {
        Protocol::Vercel => of_vercel(&accepted, no_approvals, &call.of_studio()),
        Protocol::AgUi => Box::pin(of_agui(&call.studio, &call.scope, &accepted)).await?,
    };
    let events = call.studio.events(&call.scope, &run, from, Follow::Answer).await?;
    let Some(events) = events else { return Ok(answer::nothing()) };
    let response_stream = ResponseStream::new(call.studio.clone(), call.scope.clone(), run, translator, events);
    response_stream::answer(response_stream.behind(accepted.more), protocol, slot, accepted.cancel_on_drop)
}

/// The key of a post. The client's name of its run is one: a client that lost a stream posts that run again, with what it received of it,
/// so only what the user said counts then.
fn key(call: &Call, protocol: Protocol, target: &Target, ask: Option<&Ask>) -> Result<Option<RequestKey>> {
    let route = target.route(protocol);
    if let Some(key) = idempotency::key_of(&call.headers, route, target.name(), &call.body)? {
        return Ok(Some(key));
    }
    let named = ask.and_then(|ask| Some((ask, ask.run.as_deref()?)));
    Ok(named.map(|(ask, run)| {
        let files: Vec<&str> = ask.said.files.iter().map(|file| file.url.as_str()).collect();
        let answers: Vec<Value> = ask.interrupts.iter().map(|one| json!([one.pause, one.payload.as_ref().map(|payload| [payload])])).collect();
        idempotency::named(route, run, target.name(), &json!([ask.chat, ask.said.text, files, answers, ask.native]))
    }))
}

fn of_vercel(accepted: &Accepted, no_approvals: bool, base: &str) -> Translator {
    let (run, goes_on) = (accepted.text("trace_id"), !accepted.ask.verdicts.is_empty());
    let message_id = (!goes_on).then(|| message_id(&run, accepted.after()));
    Translator::Vercel(Box::new(vercel::Translator::new(run, accepted.text("thread_id"), message_id, no_approvals).at(base)))
}

/// The same for all readers of this part of the run.
pub(super) fn message_id(run: &str, after: u64) -> String {
    format!("{run}-{after}")
}

async fn of_agui(studio: &Studio, scope: &Scope, accepted: &Accepted) -> Result<Translator> {
    let (run, thread) = (accepted.text("trace_id"), accepted.text("thread_id"));
    let thread_id = accepted.ask.chat.clone().unwrap_or(thread);
    let run_id = accepted.ask.run.clone().unwrap_or_else(|| run.clone());
    let mut translator = agui::Translator::new(run.clone(), thread_id, run_id);
    let standing = match studio.standing(scope, &run).await {
        Ok(standing) => standing,
        // A studio that keeps nothing.
        Err(error) if error.kind == Kind::NotFound => {
            translator.messages = Some(Vec::new());
            return Ok(Translator::AgUi(Box::new(translator)));
        }
        Err(error) => return Err(error),
    };
    match standing.entity {
        EntityKind::Workflow => {
            translator.state = Some(standing.state.clone());
            // Partial messages that the client received are sent again.
            let posted = &accepted.ask.posted;
            let last = posted.iter().rposition(|message| message["role"] == "user");
            translator.messages = last.filter(|_| accepted.again).map(|last| posted[..=last].to_vec());
        }
        EntityKind::Agent => {
            let mut messages = agui::of_thread(&response_stream::older_messages(studio, scope, &standing).await?);
            messages.push(json!({"id": format!("{run}-user"), "role": "user", "content": standing.message}));
            translator.messages = Some(messages);
        }
    }
    translator.remember(response_stream::past(studio, scope, &run, accepted.after()).await?);
    Ok(Translator::AgUi(Box::new(translator)))
}

impl PendingRequest {
    async fn accept(self) -> Result<Accepted> {
        let Self { studio, scope, target, ask, key } = self;
        // A missing object is reported before an invalid body.
        let entity = target.must_be_there(&studio, &scope).await?;
        let ask = ask?;
        if let Some(key) = &key
            && let Some(accepted_json) = idempotency::answer_of(&studio, &scope, key).await?
        {
            return replayed(&studio, &scope, ask, accepted_json).await;
        }
        let (kept, by_key) = (key.clone(), key);
        match begin(&studio, &scope, &target, entity, ask, kept).await {
            Ok(accepted) => Ok(accepted),
            Err(error) => Err(match &by_key {
                Some(key) => idempotency::refusal(&studio, &scope, key, error).await,
                None => error,
            }),
        }
    }
}

/// The answer to a post that is sent again: the same part of the run. Of several answers, those that were not given yet are given.
async fn replayed(studio: &Studio, scope: &Scope, ask: Ask, accepted_json: Value) -> Result<Accepted> {
    let first = accepted_json.get("pause_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut more = Vec::new();
    let run = accepted_json.get("trace_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if ask.interrupts.len() + ask.verdicts.len() > 1 {
        more = decide::rest(&ask, &studio.standing(scope, &run).await?, &first);
    }
    Accepted { ask, accepted_json, more: None, cancel_on_drop: None, again: true }
        .and_answers(Answered { studio: studio.clone(), scope: scope.clone(), run }, more)
}

async fn begin(studio: &Studio, scope: &Scope, target: &Target, entity: Option<Id>, ask: Ask, key: Option<RequestKey>) -> Result<Accepted> {
    let (meaning, thread) = match (target, entity) {
        (Target::Entity(..), Some(entity)) => {
            let thread = ask.chat.as_deref().map(|chat| thread_of_chat(&scope.tenant, &entity, chat));
            let newest = match &thread {
                Some(thread) => asked_run(studio, scope, &entity, thread, &ask).await?,
                None => None,
            };
            let turns = match (target, &thread) {
                (Target::Entity(EntityKind::Agent, _), Some(thread)) if ask.regenerates => {
                    studio.turns_on(scope, &entity, thread, ask.message_id.as_deref()).await?
                }
                _ => Turns::default(),
            };
            (decide::meaning(&ask, newest.as_ref(), &turns)?, thread)
        }
        (Target::Entity(..) | Target::Run(_), _) => {
            let standing = studio.standing(scope, target.name()).await?;
            // A child run is answered for through its parent.
            if target.name().parse() != Ok(standing.run) {
                return Err(Error::not_found("run", target.name()));
            }
            (decide::meaning_for(&ask, &standing)?, None)
        }
    };
    match (meaning, target) {
        (Meaning::Begin { replaces }, Target::Entity(kind, id)) => {
            let attached = files::attachments(studio, scope, &ask.said).await?;
            let started = start(studio, scope, (*kind, id), ask, thread, replaces, attached.named.clone(), key).await;
            attached.or_forget(studio, scope, started).await
        }
        (Meaning::Begin { .. }, Target::Run(run)) => Err(Error::not_found("run", run)),
        (Meaning::Tell { run, pause }, _) => {
            let mut body = json!({"pause_id": pause, "message": ask.said.text});
            let attached = files::attachments(studio, scope, &ask.said).await?;
            if let Some(files) = &attached.named {
                body["attachments"] = files.clone();
            }
            let given = give(studio, scope, ask, run, vec![Answer::Resume(body)], key).await;
            attached.or_forget(studio, scope, given).await
        }
        (Meaning::Answer { run, answers }, _) => give(studio, scope, ask, run, answers, key).await,
    }
}

/// The run of a chat that a post is for: the newest one, unless the post answers a pause of another.
async fn asked_run(studio: &Studio, scope: &Scope, entity: &Id, thread: &Id, ask: &Ask) -> Result<Option<Standing>> {
    let newest = studio.newest_on(scope, entity, thread).await?;
    let answered: Vec<&str> = if ask.interrupts.is_empty() {
        ask.verdicts.iter().map(|verdict| verdict.pause.as_str()).filter(|_| !ask.regenerates).collect()
    } else {
        ask.interrupts.iter().map(|interrupt| interrupt.pause.as_str()).collect()
    };
    let Some(pause) = answered.first() else { return Ok(newest) };
    if newest.as_ref().is_none_or(|run| answered.iter().any(|pause| run.knows(pause))) {
        return Ok(newest);
    }
    Ok(studio.paused_at(scope, entity, thread, pause).await?.or(newest))
}

#[expect(clippy::too_many_arguments, reason = "what a turn is made of, each from another place")]
async fn start(
    studio: &Studio,
    scope: &Scope,
    (kind, id): (EntityKind, &str),
    ask: Ask,
    thread: Option<Id>,
    replaces: Option<Id>,
    files: Option<Value>,
    key: Option<RequestKey>,
) -> Result<Accepted> {
    let mut body = Map::new();
    body.insert("message".into(), ask.said.text.clone());
    body.extend(thread.map(|thread| ("thread_id".to_owned(), json!(thread))));
    body.extend(ask.on_disconnect.clone().map(|word| ("on_disconnect".to_owned(), word)));
    body.extend(files.map(|files| ("attachments".to_owned(), files)));
    match kind {
        EntityKind::Workflow => {
            let mut state = ask.state.clone().unwrap_or_else(|| json!({}));
            if let Some(context) = &ask.context {
                state["context"] = context.clone();
            }
            body.insert("state".into(), state);
        }
        EntityKind::Agent if !ask.is_own_state => body.extend(ask.state.clone().map(|state| ("context".to_owned(), state))),
        EntityKind::Agent => {}
    }
    let mut request = RunRequest::parse(&body.into(), kind)?;
    if kind == EntityKind::Agent && ask.context.is_some() {
        request.context.clone_from(&ask.context);
    }
    request.key = key;
    request.trace.clone_from(&ask.trace);
    request.replaces = replaces.filter(|_| kind == EntityKind::Agent);
    let cancels = request.cancel_on_disconnect;
    let started = studio.start(scope, kind, id, request, false).await?;
    let cancel_on_drop = cancels.then(|| CancelOnDrop::new(studio.clone(), scope.clone(), started.run.to_string()));
    Ok(Accepted { ask, accepted_json: started.accepted_json(), more: None, cancel_on_drop, again: false })
}

/// Sends the first of several answers; the others follow when the run has paused again.
async fn give(studio: &Studio, scope: &Scope, ask: Ask, run: String, answers: Vec<Answer>, key: Option<RequestKey>) -> Result<Accepted> {
    let answered = Answered { studio: studio.clone(), scope: scope.clone(), run: run.clone() };
    let mut answers = answers.into_iter();
    let cancels = ask.on_disconnect.as_ref().is_some_and(|word| word == "cancel");
    let accepted_json = match answers.next() {
        Some(Answer::Resume(body)) => {
            let request = ResumeRequest { key, trace: ask.trace.clone(), ..resume_request(body, ask.on_disconnect.as_ref())? };
            studio.resume(scope, &run, request, false).await?.accepted_json()
        }
        Some(Answer::Cancel(pause)) => answered.cancel(&pause, key).await?,
        Some(Answer::Given) | None => return Err(Error::not_found("run", &run)),
    };
    let cancel_on_drop = cancels.then(|| CancelOnDrop::new(studio.clone(), scope.clone(), run));
    Accepted { ask, accepted_json, more: None, cancel_on_drop, again: false }.and_answers(answered, answers.collect())
}

/// The request of an answer.
pub(super) fn resume_request(mut body: Value, on_disconnect: Option<&Value>) -> Result<ResumeRequest> {
    if let (Value::Object(members), Some(word)) = (&mut body, on_disconnect) {
        members.insert("on_disconnect".into(), word.clone());
    }
    ResumeRequest::parse(&body)
}

/// The active turn of a chat from its beginning; none if there is none.
pub(super) async fn reattach(call: Call, kind: EntityKind) -> Result<Response> {
    let entity = call.studio.entity_id(&call.scope, kind, call.part("id")).await?;
    let thread = thread_of_chat(&call.scope.tenant, &entity, call.part("chat"));
    let newest: Option<Standing> = call.studio.newest_on(&call.scope, &entity, &thread).await?;
    let Some(standing) = newest.filter(|run| !run.status.at_rest()) else { return Ok(answer::nothing()) };
    let slot = call.studio.stream_slot()?;
    let run = standing.run.to_string();
    let from = From { after: standing.newest_part, ..From::default() };
    let Some(events) = call.studio.events(&call.scope, &run, from, Follow::Tail).await? else { return Ok(answer::nothing()) };
    let (message_id, thread) = (message_id(&run, standing.newest_part), standing.thread.to_string());
    let translator = vercel::Translator::new(run.clone(), thread, Some(message_id), call.query("ui") == Some("5")).at(&call.of_studio());
    let translator = Translator::Vercel(Box::new(translator));
    let response_stream = ResponseStream::new(call.studio.clone(), call.scope.clone(), run, translator, events);
    response_stream::answer(response_stream, Protocol::Vercel, slot, None)
}
