//! Owns the checks of the doctor outside the database: files, prices, secrets, providers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Diagnosis, Studio};
use crate::config::Config;
use crate::model::prices::PriceTable;
use crate::model::secret;
use crate::secrets::Secrets;
use crate::store::upkeep::health;
use crate::studio::prices::price_file;

/// Definitions that are read at once.
const DEFINITIONS: usize = 200;

/// Folders that must be written, files that must be read.
pub(super) fn files(studio: &Studio, found: &mut Diagnosis) {
    let config = studio.config();
    if let Some(file) = config.database_file() {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        writable("the database's folder", &folder, found);
    }
    if let Some(folder) = config.attachments_folder() {
        let existing = folder.ancestors().find(|part| part.is_dir()).map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        writable("the folder of uploaded files", &existing, found);
    }
    templates(config, found);
}

/// Tries it: rights, quotas and read-only mounts all show.
fn writable(what: &str, folder: &Path, found: &mut Diagnosis) {
    let probe = folder.join(format!(".studio-{}.probe", std::process::id()));
    let tried = std::fs::OpenOptions::new().write(true).create_new(true).open(&probe).and_then(|mut file| {
        use std::io::Write as _;
        file.write_all(&[0; 4096])
    });
    let _gone = std::fs::remove_file(&probe);
    match tried {
        Ok(()) => found.fine("files", format!("{what} `{}` can be written", folder.display())),
        Err(error) => found.fail("files", format!("{what} `{}` cannot be written: {error}", folder.display())),
    }
}

/// Invalid template files, which lists of templates skip.
fn templates(config: &Config, found: &mut Diagnosis) {
    if !config.templates_enabled {
        return;
    }
    for folder in super::super::templates::folders(config) {
        found.fine("templates", format!("`{}`: {} templates", folder.path.display(), folder.count()));
        for problem in folder.problems {
            found.warn("templates", problem);
        }
    }
}

/// A table of prices in another currency counts for nothing.
pub(super) fn prices(studio: &Studio, found: &mut Diagnosis) {
    let usage = &studio.config().usage;
    let file = usage.prices_path.as_ref().and_then(|path| price_file(path).ok());
    let own = [("usage.prices", usage.prices.clone()), ("usage.prices_path", file)];
    let mut other = false;
    for (key, table) in own.iter().filter_map(|(key, table)| Some((key, PriceTable::parse(table.as_ref()?).ok()?))) {
        if table.currency() != usage.currency {
            other = true;
            found.warn("prices", format!("`{key}` is in {}, costs are in {}: none of its rows counts", table.currency(), usage.currency));
        }
    }
    if PriceTable::bundled().currency() != usage.currency {
        other = true;
        found.warn("prices", format!("the bundled prices are in {}, costs are in {}: only your own rows count", PriceTable::bundled().currency(), usage.currency));
    }
    if !other {
        found.fine("prices", format!("in {}", usage.currency));
    }
}

/// Providers that are used where nothing else is said, and those that the configuration names.
pub(super) async fn credentials(studio: &Studio, found: &mut Diagnosis) {
    let (world, config) = (studio.world(), studio.config());
    let (usual, model) = world.providers.default_model("").await;
    let mut used: BTreeSet<String> = config.providers.keys().cloned().collect();
    used.extend(config.memory.summarizer.provider.clone());
    used.extend(config.rag.embeddings_provider.clone());
    used.insert(usual.clone());
    for provider in used {
        let names = config.secrets_of(&provider);
        let name = (!names.is_empty()).then(|| names.join(", "));
        let present = world.providers.is_configured(&provider, "").await;
        match (present, name) {
            (true, Some(name)) => found.fine("credentials", format!("`{provider}`: {name} is set")),
            (true, None) => found.fine("credentials", format!("`{provider}` needs none")),
            (false, Some(name)) => found.warn("credentials", format!("`{provider}`: {name} is not set; its models cannot be called")),
            (false, None) => found.warn("credentials", format!("`{provider}` is not configured; its models cannot be called")),
        }
    }
    if usual == "script" {
        found.warn("credentials", format!("no model is configured: `{usual}` plays `{model}`; set OPENAI_API_KEY or `default_provider`"));
    }
}

/// Secrets that stored definitions name, of every tenant.
pub(super) async fn secrets_of_definitions(studio: &Studio, found: &mut Diagnosis) {
    let (mut after, mut named) = (0, BTreeSet::new());
    loop {
        let listed = studio.world().store.read(move |tx| health::definitions(tx, after, DEFINITIONS)).await;
        let definitions = match listed {
            Ok(definitions) => definitions,
            Err(error) => return found.fail("credentials", error.to_string()),
        };
        let Some((last, ..)) = definitions.last() else { break };
        after = *last;
        for (_, tenant, slug, body) in definitions {
            let names = body.split('"').filter(|text| secret::is_reference(text));
            named.extend(names.map(|name| (tenant.clone(), name.to_owned(), slug.clone())));
        }
    }
    for (tenant, name, slug) in named {
        let secrets = Secrets::new(Arc::clone(&studio.world().config), studio.world().host.clone());
        if secrets.find(&name, &tenant).await.is_some() {
            continue;
        }
        found.warn("credentials", format!("`{slug}` needs `{name}`, which has no value"));
    }
}

/// Asks configured providers for anything at all.
pub(super) async fn providers(studio: &Studio, found: &mut Diagnosis) {
    let providers = &studio.world().providers;
    let ids: Vec<String> = providers.list().map(|(id, _)| id.to_owned()).collect();
    for id in ids {
        if !providers.is_configured(&id, "").await {
            continue;
        }
        match providers.reach(&id).await {
            None => {}
            Some(Ok(status)) if status < 500 => found.fine("providers", format!("`{id}` answers")),
            Some(Ok(status)) => found.warn("providers", format!("`{id}` answers with status {status}")),
            Some(Err(why)) if id == "ollama" => found.warn("providers", format!("`{id}`: {why}")),
            Some(Err(why)) => found.fail("providers", format!("`{id}`: {why}")),
        }
    }
}

/// Receivers of spans: their keys, and failed deliveries of this process.
pub(super) async fn observability(studio: &Studio, found: &mut Diagnosis) {
    let counts = studio.observability();
    for (at, (target, problem)) in studio.world().observer.problems().await.into_iter().enumerate() {
        let (dropped, last) = (counts[at]["dropped"].as_u64().unwrap_or(0), counts[at]["last_error"].as_str());
        match (problem, last) {
            (Some(problem), _) => found.warn("observability", format!("{target}: {problem}; it receives no runs")),
            (None, Some(last)) => found.warn("observability", format!("{target}: {last}; {dropped} spans were not delivered and are lost")),
            (None, None) => found.fine("observability", format!("{target} receives runs")),
        }
    }
}
