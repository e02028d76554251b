//! Owns the operations on runs: start, answer, retry, cancel, follow, delete.

pub(in crate::studio) mod checkpoints;
pub(in crate::studio) mod truncation;
pub mod pinning;
pub mod requests;
pub(in crate::studio) mod run_lists;
pub(in crate::studio) mod standing;
pub(in crate::studio) mod summaries;
pub(in crate::studio) mod tool_trial;
pub(in crate::studio) mod traces;
pub(in crate::studio) mod trial;
pub(in crate::studio) mod work;

use std::sync::Arc;

use serde_json::Value;

use super::facade::{Scope, Studio};
use super::reach::Refusal;
use crate::engine::{Again, EventStream, Follow, From, NewRun, Reply, Started};
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::chat::Attachment;
use crate::model::event::{Decision, EntityKind, Pause};
use crate::model::run::Status;
use crate::store::Tx;
use crate::store::runs::{self, RunRow, delete};
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::definitions::resource::Resource;
use crate::studio::runs::requests::{AttachmentInput, ResumeRequest, RetryRequest, RunRequest};
use crate::studio::threads::attachments::{known_files, remove_files};

/// An answer with its files as they are kept.
fn reply_of(body: ResumeRequest, attachments: Vec<Attachment>) -> Reply {
    let decision = |given: crate::studio::runs::requests::DecisionInput| Decision {
        call_id: given.call_id,
        approved: given.approved,
        arguments: given.arguments,
        message: given.message,
    };
    Reply {
        node_id: body.node_id,
        pause_id: body.pause_id,
        approval: body.approval,
        message: body.message,
        attachments,
        decisions: body.decisions.map(|given| given.into_iter().map(decision).collect()),
        key: body.key,
        trace: body.trace,
    }
}

/// Refuses the body of an answer that does not fit its pause. Whether its files are there is not looked at.
///
/// # Errors
/// Those of an answer that is given.
pub fn must_fit(pause: &Pause, body: &Value) -> Result<()> {
    let body = ResumeRequest::parse(body)?;
    let named = |file: &AttachmentInput| Attachment {
        kind: file.kind.clone(),
        mime_type: file.mime_type.clone().unwrap_or_default(),
        storage_key: file.storage_key.clone(),
        name: file.name.clone(),
        size: None,
    };
    let files = body.attachments.iter().map(named).collect();
    crate::engine::must_fit(pause, &reply_of(body, files))
}

impl Studio {
    /// Starts a run of a workflow, or a chat turn of an agent.
    ///
    /// # Errors
    /// Every refusal of the contract; then no run is made.
    pub async fn start(&self, scope: &Scope, entity: EntityKind, id: &str, body: RunRequest, queued: bool) -> Result<Started> {
        self.must_be_async(queued)?;
        let (studio, scope, id) = (self.clone(), scope.clone(), id.to_owned());
        let work = Box::pin(async move {
            let (source, attachments) = studio.source(&scope, entity, &id, &body).await?;
            let new = NewRun {
                tenant: Arc::clone(&scope.tenant),
                user: scope.user.clone(),
                entity,
                entity_id: source.id,
                entity_name: source.name.clone(),
                revision: source.revision,
                pinned: source.pinned.clone(),
                message: body.message,
                state: body.state,
                attachments,
                thread: body.thread_id,
                queued,
                cancel_on_disconnect: body.cancel_on_disconnect,
                instructions: body.instructions,
                context: body.context,
                parameters: body.parameters,
                key: body.key,
                replaces: body.replaces,
                trace: body.trace,
            };
            crate::engine::create(studio.world(), new).await
        });
        self.here_first(work).await?.stored().await
    }

    fn must_be_async(&self, queued: bool) -> Result<()> {
        if queued && !self.config().async_runs_enabled {
            let text = "queued runs are off; nothing was done; set `async_runs_enabled`, or start the run as a stream";
            return Err(Error::new(Kind::AsyncDisabled, text));
        }
        Ok(())
    }

    /// Refuses a run that there is not.
    pub async fn must_know_run(&self, scope: &Scope, run: &str) -> Result<()> {
        let (asker, run) = (scope.clone(), run.to_owned());
        self.reading(move |tx| known_run(tx, &asker, &run).map(drop)).await
    }

    /// Refuses a workflow or an agent that there is not.
    pub async fn must_know_entity(&self, scope: &Scope, entity: EntityKind, id: &str) -> Result<()> {
        let resource = match entity {
            EntityKind::Workflow => Resource::Workflow,
            EntityKind::Agent => Resource::Agent,
        };
        self.get(scope, resource, id).await.map(drop)
    }

    /// Answers a pause.
    ///
    /// # Errors
    /// Every refusal of the contract; a refused answer changes nothing.
    pub async fn resume(&self, scope: &Scope, run: &str, body: ResumeRequest, queued: bool) -> Result<Started> {
        self.must_be_async(queued)?;
        let (studio, scope, run) = (self.clone(), scope.clone(), run.to_owned());
        self.on_runtime(async move {
            let (asker, given, id) = (scope.clone(), body.attachments.clone(), run.clone());
            let attachments = studio.reading(move |tx| files_for(tx, &asker, &id, &given)).await?;
            let done = crate::engine::resume(studio.world(), &scope.tenant, &run, &reply_of(body, attachments), queued).await;
            studio.with_status(&scope, &run, done).await
        })
        .await
    }

    /// Tries a failed run again.
    ///
    /// # Errors
    /// Every refusal of the contract; a refused retry changes nothing.
    pub async fn retry(&self, scope: &Scope, run: &str, body: RetryRequest, queued: bool) -> Result<Started> {
        self.must_be_async(queued)?;
        let (studio, scope, run) = (self.clone(), scope.clone(), run.to_owned());
        self.on_runtime(async move {
            let again = Again { from_step: body.from_step_id, state: body.state, in_doubt: body.in_doubt, key: body.key, trace: body.trace };
            let done = crate::engine::retry(studio.world(), &scope.tenant, &run, &again, queued).await;
            studio.with_status(&scope, &run, done).await
        })
        .await
    }

    /// Cancels a run. `running` means that its owner still has to notice.
    ///
    /// # Errors
    /// An unknown run, a child run, a run that is over.
    pub async fn cancel(&self, scope: &Scope, run: &str) -> Result<(Id, Status)> {
        let (studio, scope, run) = (self.clone(), scope.clone(), run.to_owned());
        self.on_runtime(async move {
            let done = crate::engine::cancel(studio.world(), &scope.tenant, &run).await;
            studio.with_status(&scope, &run, done).await
        })
        .await
    }

    /// The fence under which this process drives a run: what [`Self::cancel_left`] is given when the reader of its stream leaves.
    pub(crate) fn fence_here(&self, run: &str) -> Option<i64> {
        crate::engine::fence_here(self.world(), run)
    }

    /// Cancels a run whose reader has left, unless it paused or somebody else continued it since.
    pub(crate) async fn cancel_left(&self, scope: &Scope, run: &str, fence: i64) -> Result<()> {
        let (studio, tenant, run) = (self.clone(), Arc::clone(&scope.tenant), run.to_owned());
        self.on_runtime(async move { crate::engine::cancel_left(studio.world(), &tenant, &run, fence).await }).await
    }

    /// Cancels a run that is paused under this fence; false when somebody answered, cancelled or removed it since.
    pub(crate) async fn cancel_paused(&self, scope: &Scope, run: Id, fence: i64, kept: Option<(RequestKey, Value)>) -> Result<bool> {
        let (studio, tenant) = (self.clone(), Arc::clone(&scope.tenant));
        self.on_runtime(async move { crate::engine::cancel_paused(studio.world(), &tenant, run, fence, kept).await }).await
    }

    /// Adds the run's state to a refusal, also if a concurrent request was first.
    pub(super) async fn with_status<T>(&self, scope: &Scope, run: &str, done: Result<T>) -> Result<T> {
        let error = match done {
            Err(error) if error.kind == Kind::InvalidState && !error.members.contains_key("run_status") => error,
            done => return done,
        };
        let (asker, run) = (scope.clone(), run.to_owned());
        let status = self.reading(move |tx| Ok(known_run(tx, &asker, &run)?.status)).await;
        Err(match status {
            Ok(status) => error.with("run_status", status),
            Err(_) => error,
        })
    }

    /// Follows a run from a position; none if it has paused or ended and nothing follows.
    pub async fn events(&self, scope: &Scope, run: &str, from: From, follow: Follow) -> Result<Option<EventStream>> {
        self.runtime()?;
        EventStream::open(self.world(), &scope.tenant, run, from, follow).await
    }

    /// Removes a run that is over, with all that belongs to it.
    ///
    /// # Errors
    /// An unknown run; one that is not over.
    pub async fn delete_run(&self, scope: &Scope, run: &str) -> Result<()> {
        let id: Id = run.parse().map_err(|_| Error::not_found("run", run))?;
        let tenant = Arc::clone(&scope.tenant);
        let keys = self
            .writing(move |tx| {
                let row = runs::get(tx, &tenant, &id)?.ok_or_else(|| Error::not_found("run", &id.to_string()))?;
                let over = Status::named(&row.status).is_some_and(Status::terminal);
                if !over || row.parent.is_some() {
                    let text = if row.parent.is_some() {
                        "a child run cannot be deleted alone; delete its parent run".to_owned()
                    } else {
                        format!("the run is {}; cancel it first", row.status)
                    };
                    return Err(Error::new(Kind::InvalidState, text).with("run_status", row.status.as_str()).into());
                }
                if !delete::claim(tx, &tenant, &id)? {
                    let now = runs::get(tx, &tenant, &id)?.ok_or_else(|| Error::not_found("run", &id.to_string()))?;
                    let text = "somebody continued the run meanwhile; nothing was deleted";
                    return Err(Error::new(Kind::InvalidState, text).with("run_status", now.status).into());
                }
                Ok(delete::delete(tx, &tenant, &id)?)
            })
            .await?;
        remove_files(self, &scope.tenant, keys).await;
        Ok(())
    }
}

fn known_run(tx: &mut Tx<'_>, scope: &Scope, run: &str) -> Result<RunRow, Refusal> {
    let unknown = || Error::not_found("run", run);
    let id: Id = run.parse().map_err(|_| unknown())?;
    Ok(runs::get(tx, &scope.tenant, &id)?.ok_or_else(unknown)?)
}

/// The files of an answer to a run, which must be there.
fn files_for(tx: &mut Tx<'_>, scope: &Scope, run: &str, given: &[AttachmentInput]) -> Result<Vec<Attachment>, Refusal> {
    known_run(tx, scope, run)?;
    files_of(tx, scope, given)
}

pub(super) fn files_of(tx: &mut Tx<'_>, scope: &Scope, given: &[AttachmentInput]) -> Result<Vec<Attachment>, Refusal> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    Ok(known_files(tx, scope, given)??)
}
