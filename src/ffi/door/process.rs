//! Owns the engines of a process: all of them for `shutdown`, and those that are shared by name.

use std::collections::HashMap;
use std::sync::{Arc, Once, Weak};
use std::time::{Duration, Instant};

use super::callback::may_wait;
use super::engine::Engine;
use super::logging;
use super::super::fault::{Code, Fault};
use super::super::fork::{self, PerProcess};
use crate::store::db::fork as gate;
use crate::sync::Mutex;

#[derive(Default)]
struct Registry {
    engines: Vec<Weak<Engine>>,
    shared: HashMap<String, Arc<Engine>>,
}

static PREPARED: Once = Once::new();

static REGISTRY: PerProcess<Mutex<Registry>> = PerProcess::new(Mutex::default);

/// All engines, and the names of those that nobody has used, which a child takes over.
#[derive(Default)]
pub(in crate::ffi) struct ForkState {
    engines: Vec<Arc<Engine>>,
    shared: HashMap<String, Arc<Engine>>,
}

/// Opens an engine and remembers it.
pub(in crate::ffi) fn open(config: &[u8]) -> Result<Arc<Engine>, Fault> {
    fork::watch();
    let engine = {
        // A fork waits meanwhile: what is made once for the process would stay half made in the child.
        let _not_forking = gate::enter();
        PREPARED.call_once(prepare);
        Engine::open(config)?
    };
    let mut registry = REGISTRY.get().lock();
    registry.engines.retain(|known| known.strong_count() > 0);
    registry.engines.push(Arc::downgrade(&engine));
    Ok(engine)
}

/// Makes what libraries and routes make once, with their first use.
fn prepare() {
    crate::model::prepare();
    crate::engine::prepare();
    crate::studio::prepare();
    crate::http::prepare();
    drop(jiff::tz::TimeZone::get("UTC"));
    drop(jsonschema::draft202012::new(&serde_json::json!({"type": "object"})));
}

/// The engine of that name in this process; the first caller's configuration opens it. Another configuration is refused: two applications
/// of one process must not get each other's data. Without one, it is the engine as it is.
pub(in crate::ffi) fn shared(name: &str, config: &[u8]) -> Result<Arc<Engine>, Fault> {
    let known = || REGISTRY.get().lock().shared.get(name).filter(|engine| !engine.is_closed()).cloned();
    let same = |engine: Arc<Engine>| if config.is_empty() || engine.is_opened_with(config) { Ok(engine) } else { Err(opened_otherwise(name)) };
    if let Some(engine) = known() {
        return same(engine);
    }
    let fresh = open(config)?;
    let mut registry = REGISTRY.get().lock();
    match registry.shared.get(name).filter(|engine| !engine.is_closed()) {
        Some(first) => same(Arc::clone(first)),
        None => {
            registry.shared.insert(name.to_owned(), Arc::clone(&fresh));
            Ok(fresh)
        }
    }
}

fn opened_otherwise(name: &str) -> Fault {
    let text = format!("the engine `{name}` is open in this process with another configuration; nothing was opened. Close it first, or use another name");
    Fault::new(Code::Conflict, &text)
}

/// Forgets a closed engine's name.
pub(super) fn forget(engine: &Engine) {
    REGISTRY.get().lock().shared.retain(|_, known| !std::ptr::eq(Arc::as_ptr(known), engine));
}

/// Closes every engine and stops sending log lines; afterwards no callback is running unless one overran the time. Inside a callback
/// it waits for none.
pub(in crate::ffi) fn shutdown(timeout: Duration) {
    let (until, waits) = (Instant::now() + timeout, may_wait().is_ok());
    let engines: Vec<_> = REGISTRY.get().lock().engines.iter().filter_map(Weak::upgrade).collect();
    std::thread::scope(|threads| {
        for engine in &engines {
            threads.spawn(move || engine.close_by(until, waits).is_ok());
        }
    });
    logging::set_log_by(until, None);
}

/// Before a fork, in the forking thread. Holds engines in use too, so that none is dropped meanwhile.
pub(in crate::ffi) fn fork_state() -> ForkState {
    let registry = REGISTRY.get().lock();
    let shared = registry.shared.iter().filter(|(_, engine)| engine.is_untouched());
    ForkState {
        engines: registry.engines.iter().filter_map(Weak::upgrade).collect(),
        shared: shared.map(|(name, engine)| (name.clone(), Arc::clone(engine))).collect(),
    }
}

/// In the child: a registry of its own.
pub(in crate::ffi) fn inherit(mut left: ForkState) {
    // One that was in use stays the parent's.
    let (ours, parents): (Vec<_>, Vec<_>) = left.engines.drain(..).partition(|engine| engine.adopt());
    let (shared, others): (HashMap<_, _>, HashMap<_, _>) = left.shared.drain().partition(|(_, engine)| engine.is_untouched());
    std::mem::forget((parents, others));
    let engines = ours.iter().map(Arc::downgrade).collect();
    // The child's handles keep them; these counts were the forking thread's.
    std::mem::forget(ours);
    REGISTRY.renew(Mutex::new(Registry { engines, shared }));
    logging::forget();
}
