//! Owns what servers may ask of us: nothing. Sampling and roots are refused, questions to people declined; changes are noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, ErrorData, Implementation, ProtocolVersion,
};
#[expect(deprecated, reason = "older servers ask for roots")]
use rmcp::model::ListRootsResult;
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};

/// Our side of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    /// The server said that its tools changed.
    pub(super) stale: Arc<AtomicBool>,
}

/// The newest revision that begins with a handshake.
pub(super) const HANDSHAKE: ProtocolVersion = ProtocolVersion::LATEST_WITH_INITIALIZE;
/// The newest revision.
pub(super) const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::new(ClientCapabilities::default(), Implementation::new("workflow-studio", env!("CARGO_PKG_VERSION")));
        config.protocol_version = HANDSHAKE;
        config
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.stale.store(true, Ordering::Release);
    }

    async fn create_elicitation(&self, _: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    #[expect(deprecated, reason = "older servers ask for roots")]
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "roots are not offered", None))
    }
}
