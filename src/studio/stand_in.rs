//! Owns nothing: the facade's signatures until the real one is merged.
#![expect(missing_docs, reason = "a stand-in")]
use std::sync::Arc;
use serde_json::Value;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::error::Result;
use crate::host::{Host, HostDeclaration, HostDoor};
use crate::store::{Store, StoreSettings};
pub struct World { pub config: Arc<Config>, pub clock: Arc<dyn Clock>, pub store: Store, pub host: HostDoor }
#[derive(Clone)]
pub struct Studio(Arc<World>);
#[derive(Clone, Default)]
pub struct Scope { pub tenant: Arc<str>, pub user: Option<Value> }
impl Studio {
    pub fn open(config: Config) -> Result<Self> { Self::open_with(config, Arc::new(SystemClock::default())) }
    pub fn open_with(config: Config, clock: Arc<dyn Clock>) -> Result<Self> {
        let settings = config.database_file().map_or_else(StoreSettings::in_memory, StoreSettings::file);
        Ok(Self(Arc::new(World { config: Arc::new(config), clock, store: Store::open(settings), host: HostDoor::default() })))
    }
    pub fn config(&self) -> &Config { &self.0.config }
    pub fn world(&self) -> &Arc<World> { &self.0 }
    pub fn set_host(&self, host: Arc<dyn Host>, declaration: HostDeclaration) { self.0.host.set(host, declaration); }
}
