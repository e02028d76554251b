//! Owns the requests that servers may send: questions to a person if the host answers them; sampling and roots are refused.

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, ProtocolVersion, RequestId,
};
#[expect(deprecated, reason = "older servers ask for roots")]
use rmcp::model::ListRootsResult;
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;

use super::changes::Changes;
use super::elicitation::{Asker, Opened, declined};
use super::server::Ready;
use super::server_call::{Form, ServerCall};

/// Our side of a connection.
#[derive(Clone)]
pub(super) struct Client {
    /// What the server said of its tools.
    pub(super) changes: Changes,
    ready: Ready,
    /// The server learned, when the connection was opened, that it may ask.
    may_be_asked: bool,
}

/// The newest revision that begins with a handshake.
pub(super) const HANDSHAKE: ProtocolVersion = ProtocolVersion::LATEST_WITH_INITIALIZE;
/// The newest revision.
pub(super) const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

impl Client {
    pub(super) fn new(ready: &Ready, changes: Changes) -> Self {
        Self { changes, ready: ready.clone(), may_be_asked: ready.elicitation.is_answered() }
    }

    /// A call begins, and may ask until what this gives is dropped.
    pub(super) fn open<'a>(&'a self, call: &'a ServerCall) -> Opened<'a> {
        self.ready.elicitation.open(&call.key, &call.asker)
    }

    /// What the host says to a question of a call; links are not opened.
    pub(super) async fn ask(&self, asker: &Asker, wanted: &ElicitRequestParams) -> Value {
        match self.form(wanted) {
            Some(form) => self.ready.elicitation.ask(asker, form).await,
            None => declined(),
        }
    }

    async fn answer(&self, id: &RequestId, wanted: &ElicitRequestParams) -> Value {
        self.ready.elicitation.answer(id, self.form(wanted)).await
    }

    fn form(&self, wanted: &ElicitRequestParams) -> Option<Form> {
        let form = Form::of(wanted).filter(|form| self.may_be_asked && form.fits())?;
        Some(Form { schema: self.ready.masked_schema(&form.schema), message: self.ready.masked(form.message) })
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut able = ClientCapabilities::default();
        able.elicitation = self.may_be_asked.then(|| ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let mut config = ClientConfig::new(able, Implementation::new("workflow-studio", env!("CARGO_PKG_VERSION")));
        config.protocol_version = HANDSHAKE;
        config
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.add();
    }

    async fn create_elicitation(&self, wanted: ElicitRequestParams, context: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        let answer = tokio::select! {
            answer = self.answer(&context.id, &wanted) => answer,
            () = context.ct.cancelled() => declined(),
        };
        Ok(serde_json::from_value(answer).unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Decline)))
    }

    #[expect(deprecated, reason = "older servers ask for roots")]
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "roots are not offered", None))
    }
}
