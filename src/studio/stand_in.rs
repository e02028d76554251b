//! Owns nothing: the facade's signatures until the real one is merged.
#![expect(missing_docs, reason = "a stand-in")]
use std::sync::Arc;
use serde_json::Value;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::host::{Host, HostDeclaration, HostDoor};
use crate::model::prices::PriceTable;
use crate::providers::outbound::Outbound;
use crate::providers::registry::Providers;
use crate::store::file_room::FileRoom;
use crate::store::{Store, StoreSettings};
pub struct World { pub config: Arc<Config>, pub clock: Arc<dyn Clock>, pub store: Store, pub host: HostDoor, pub files: Option<FileRoom>, pub providers: Providers, pub prices: Arc<PriceTable> }
#[derive(Clone)]
pub struct Studio(Arc<World>);
#[derive(Clone, Default)]
pub struct Scope { pub tenant: Arc<str>, pub user: Option<Value> }
#[derive(Default)]
pub struct Options { pub clock: Option<Arc<dyn Clock>> }
impl Studio {
    pub fn open_with(config: Config, options: Options) -> Result<Self> {
        let clock = options.clock.unwrap_or_else(|| Arc::new(SystemClock::default()));
        let settings = config.database_file().map_or_else(StoreSettings::in_memory, StoreSettings::file);
        let files = config.attachments_folder().map(FileRoom::new);
        let (config, host) = (Arc::new(config), HostDoor::default());
        let providers = Providers::new(&config, Arc::new(Outbound::direct(clock.clone())), host.clone()).map_err(|p| Error::field("providers", p.join("; ")))?;
        Ok(Self(Arc::new(World { config, clock, store: Store::open(settings), host, files, providers, prices: Arc::new(PriceTable::bundled()) })))
    }
    pub fn config(&self) -> &Config { &self.0.config }
    pub fn world(&self) -> &Arc<World> { &self.0 }
    pub fn set_host(&self, host: Arc<dyn Host>, declaration: HostDeclaration) { self.0.host.set(host, declaration); }
}
