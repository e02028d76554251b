//! Owns one call to a server: its parameters, whether it may ask a person, and its questions.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientCapabilities, ElicitRequestParams, ElicitationCapability,
    FormElicitationCapability, InputRequest, InputRequiredResult, RequestId, RequestMetaObject, ClientJsonRpcMessage, ClientRequest,
};
use rmcp::service::{Peer, PeerRequestOptions};
use serde_json::{Map, Value};

use super::elicitation::Asker;
use super::live::CallError;
use crate::model::event::{Asked, Question};
use crate::model::trace_context::TraceContext;
use crate::tools::Asking;

/// What names a repeated call, for servers that look at it.
const KEY: &str = "workflow-studio/idempotencyKey";
/// How often one call may ask people.
const ROUNDS: u32 = 8;
/// Questions of one round.
const QUESTIONS: usize = 8;
/// What is kept of a question's text, and the largest form and state.
const MESSAGE: usize = 4000;
const FORM: usize = 32 << 10;
const STATE: usize = 256 << 10;

/// One call of a tool.
pub(super) struct ServerCall {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) key: String,
    pub(super) asker: Asker,
    pub(super) asking: Asking,
    /// The span that it is made in.
    pub(super) trace: Option<Arc<TraceContext>>,
}

/// What a server replied to a call.
pub(super) enum Replied {
    /// What the call gave.
    Result(CallToolResult),
    /// It asks people first.
    Asked(Asked),
}

impl ServerCall {
    /// The parameters of the call, with what people said to what it asked before.
    pub(super) fn params(&self) -> CallToolRequestParams {
        let mut meta = RequestMetaObject::default();
        meta.insert(KEY.to_owned(), self.key.clone().into());
        for (name, value) in self.trace.iter().flat_map(|trace| trace.members()) {
            meta.insert(name.to_owned(), value.into());
        }
        let mut params = CallToolRequestParams::new(self.tool.clone()).with_arguments(self.arguments.clone());
        params.meta = Some(meta);
        if let Asking::Answered { asked, said } = &self.asking {
            params.input_responses = Some(said.clone());
            params.request_state.clone_from(&asked.state);
        }
        params
    }

    /// What is declared with the call: that a person can fill in a form, where the run can wait for one. Only servers without a session
    /// are told so: the question of another one comes while its call is under way, and no such call outlives this process.
    pub(super) fn options(&self, stateless: bool) -> PeerRequestOptions {
        let options = PeerRequestOptions::no_options();
        if !stateless || self.asking == Asking::Never {
            return options;
        }
        let mut able = ClientCapabilities::default();
        able.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let mut meta = RequestMetaObject::default();
        meta.set_client_capabilities(able);
        options.with_meta(meta)
    }

    /// What a person is asked; none when nobody is there, or when something else than forms is wanted.
    ///
    /// # Errors
    /// It asks too much, or too often.
    pub(super) fn asked(&self, wanted: &InputRequiredResult) -> Result<Option<Asked>, CallError> {
        let round = match &self.asking {
            Asking::Never => return Ok(None),
            Asking::Maybe => 1,
            Asking::Answered { asked, .. } => asked.round + 1,
        };
        let requests = wanted.input_requests.iter().flatten();
        let Some(questions) = requests.map(|(key, request)| question(key, request)).collect::<Option<Vec<_>>>() else { return Ok(None) };
        if questions.is_empty() {
            return Ok(None);
        }
        let too_much = |what: &str| Err(CallError::Refused(format!("{what}; nobody was asked")));
        if round > ROUNDS {
            return too_much(&format!("asked people more than {ROUNDS} times for one call"));
        }
        if questions.iter().any(|question| !fits(&question.schema)) || questions.len() > QUESTIONS || wanted.request_state.as_ref().is_some_and(|state| state.len() > STATE) {
            return too_much("asked a person more than is shown at once");
        }
        Ok(Some(Asked { questions, state: wanted.request_state.clone(), round }))
    }
}

/// A form that a person is to fill in.
pub(super) struct Form {
    pub(super) message: String,
    pub(super) schema: Value,
}

impl Form {
    /// The form that is asked for; none when something else is.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
    pub(super) fn of(wanted: &ElicitRequestParams) -> Option<Self> {
        match wanted {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).ok()?;
                Some(Self { message: message.chars().take(MESSAGE).collect(), schema })
            }
            _ => None,
        }
    }

    /// Whether it is shown to people at all.
    pub(super) fn fits(&self) -> bool {
        fits(&self.schema)
    }
}

fn fits(schema: &Value) -> bool {
    schema.to_string().len() <= FORM
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
fn question(key: &str, request: &InputRequest) -> Option<Question> {
    match request {
        InputRequest::Elicitation(request) => {
            Form::of(&request.params).map(|Form { message, schema }| Question { key: key.to_owned(), message, schema })
        }
        _ => None,
    }
}

/// The forms and links of an answer that asks, by their names.
///
/// # Errors
/// It wants something else, which is not given.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
pub(super) fn wanted(asked: &InputRequiredResult) -> Result<Vec<(&String, &ElicitRequestParams)>, CallError> {
    let requests = asked.input_requests.iter().flatten().map(|(key, request)| match request {
        InputRequest::Elicitation(request) => Ok((key, &request.params)),
        _ => Err(CallError::Refused("wants a model's answer or folders of ours for this call, which servers are not given".into())),
    });
    requests.collect()
}

/// What names the call that a message makes, if it makes one.
pub(super) fn key_of(message: &ClientJsonRpcMessage) -> Option<String> {
    meta_of(message)?.get(KEY)?.as_str().map(str::to_owned)
}

/// The headers that carry the span of the call that a message makes.
pub(super) fn trace_of(message: &ClientJsonRpcMessage) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let meta = meta_of(message);
    ["traceparent", "tracestate"].into_iter().filter_map(move |name| {
        let value = HeaderValue::from_str(meta?.get(name)?.as_str()?).ok()?;
        Some((HeaderName::from_static(name), value))
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enums are the protocol library's, which adds to them")]
fn meta_of(message: &ClientJsonRpcMessage) -> Option<&RequestMetaObject> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    match &request.request {
        ClientRequest::CallToolRequest(call) => call.params.meta.as_ref(),
        _ => None,
    }
}

/// A call under way. If it is dropped before its answer came, the server receives a cancellation.
pub(super) struct Underway {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Underway {
    pub(super) fn new(peer: &Peer<RoleClient>, id: RequestId) -> Self {
        Self { peer: peer.clone(), id: Some(id) }
    }

    /// Its answer came, or never will.
    pub(super) fn over(mut self) {
        self.id = None;
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let (peer, reason) = (self.peer.clone(), Some("nobody waits for the result any more".to_owned()));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rmcp::model::{CallToolRequest, JsonRpcRequest};
    use serde_json::json;

    use super::*;
    use crate::model::Id;
    use crate::tools::ToolInvocation;

    #[test]
    fn the_span_of_a_call_goes_along_in_its_meta_and_as_headers() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = TraceContext::parse(parent, Some("a=1")).map(Arc::new);
        for (trace, wanted) in [(trace, vec![("traceparent", parent), ("tracestate", "a=1")]), (None, Vec::new())] {
            let invocation = ToolInvocation {
                name: "find".into(),
                arguments: json!({}),
                call_id: "c1".into(),
                run: Id::v7(1, 2, 3),
                node_id: "n".into(),
                tenant: "".into(),
                user: None,
                config: Map::new(),
                timeout: Duration::from_secs(1),
                asking: Asking::Never,
                trace: trace.clone(),
                spent: crate::tools::SpentList::default(),
                cancelled: tokio_util::sync::CancellationToken::new(),
            };
            let asker = Asker::of(&invocation, "find");
            let call = ServerCall { tool: "find".into(), arguments: Map::new(), key: "k".into(), asker, asking: Asking::Never, trace };
            let params = call.params();
            let meta = |name: &str| params.meta.as_ref().and_then(|meta| meta.get(name)).and_then(Value::as_str).map(str::to_owned);
            assert_eq!(meta("traceparent").as_deref(), wanted.first().map(|(_, value)| *value));
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            let message = ClientJsonRpcMessage::Request(JsonRpcRequest::new(RequestId::Number(1), request));
            let told: Vec<(String, String)> = trace_of(&message).map(|(name, value)| (name.to_string(), value.to_str().expect("a text").to_owned())).collect();
            let told: Vec<(&str, &str)> = told.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(told, wanted);
        }
    }
}
