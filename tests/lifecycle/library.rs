//! Owns the game of knowledge: two tenants add, remove and ask for documents; what is found is what is there, of that tenant.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use wfstudio::studio::{Resource, Scope, Studio};

use super::chance::Chance;
use super::engine::{Engine, Limits};
use super::host::{Book, Manners};
use super::model::{Fault, Ignored};
use super::shrink::Played;

/// What is done; numbers point into what is there.
#[derive(Clone, Debug)]
pub enum Deed {
    Make { tenant: u64 },
    /// Of a tenant's bases 0 is the newest, of their documents too.
    Remove { tenant: u64, base: u64 },
    Add { engine: u64, tenant: u64, base: u64, passages: u64 },
    Delete { engine: u64, tenant: u64, base: u64, document: u64 },
    Ask { engine: u64, tenant: u64, base: u64, document: u64, mode: u64 },
    /// What was deleted is swept away.
    Sweep,
    /// An engine is opened instead of another.
    Open { engine: u64 },
}

pub fn deeds(seed: u64, count: usize) -> Vec<Deed> {
    let mut chance = Chance::new(seed ^ 0x11b);
    let first = [Deed::Make { tenant: 0 }, Deed::Make { tenant: 1 }];
    let rest = (2..count.max(2)).map(|_| {
        let (engine, tenant) = (chance.below(2), chance.below(2));
        let (base, document) = (chance.below(2) * chance.below(8), chance.below(2) * chance.below(4));
        match chance.below(20) {
            0 | 1 => Deed::Make { tenant },
            2 => Deed::Remove { tenant, base },
            3..=7 => Deed::Add { engine, tenant, base, passages: 1 + chance.below(4) },
            8..=10 => Deed::Delete { engine, tenant, base, document },
            11 | 12 => Deed::Sweep,
            13 if document > 0 => Deed::Open { engine },
            _ => Deed::Ask { engine, tenant, base, document, mode: chance.below(3) },
        }
    });
    first.into_iter().chain(rest).collect()
}

/// A document that is there.
#[derive(Clone)]
struct Document {
    id: String,
    name: String,
    /// One word of each passage that stands nowhere else.
    words: Vec<String>,
}

type Bases = Vec<(String, Vec<Document>)>;

struct Library {
    engines: Vec<Engine>,
    limits: Limits,
    book: Arc<Book>,
    tenants: [Bases; 2],
    made: u64,
    story: Vec<String>,
    folder: tempfile::TempDir,
}

fn scope(tenant: u64) -> Scope {
    Scope { tenant: format!("t{tenant}").into(), user: None }
}

fn text_of(word: &str) -> String {
    format!("The word {word} stands here among others that many documents have, and {word} again.")
}

/// The place of the n-th newest.
fn place(number: u64, count: usize) -> Option<usize> {
    (count > 0).then(|| count - 1 - usize::try_from(number).unwrap_or(0) % count)
}

impl Library {
    fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let fast = std::path::Path::new("/dev/shm");
        let folder = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() }.expect("a folder");
        let book = Arc::new(Book::new(Manners { seed, waits: 0, fails: 0, counts_ids: false }));
        let mut library =
            Self { engines: Vec::new(), limits: Limits::of(&mut chance), book, tenants: [Vec::new(), Vec::new()], made: 0, story: Vec::new(), folder };
        (0..2).for_each(|no| library.open(no));
        library
    }

    fn open(&mut self, no: usize) {
        let engine = Engine::open(no, self.folder.path(), &self.limits, &Arc::default(), &self.book);
        self.engines.insert(no.min(self.engines.len()), engine);
    }

    fn studio(&self, engine: u64) -> Studio {
        self.engines[usize::try_from(engine).unwrap_or(0) % 2].studio.clone()
    }

    async fn act(&mut self, deed: &Deed) -> Result<(), Fault> {
        match *deed {
            Deed::Make { tenant } => {
                self.made += 1;
                let body = json!({"name": format!("Base {}", self.made), "chunking": {"max_words": 16, "overlap_words": 0}});
                let made = self.studio(0).create(&scope(tenant), Resource::KnowledgeBase, &body).await.map_err(broken)?;
                self.tenants[usize::try_from(tenant).unwrap_or(0)].push((made["id"].as_str().expect("an id").to_owned(), Vec::new()));
            }
            Deed::Remove { tenant, base } => {
                let bases = &mut self.tenants[usize::try_from(tenant).unwrap_or(0)];
                if let Some(at) = place(base, bases.len()).filter(|_| bases.len() > 1) {
                    let (id, _) = bases.remove(at);
                    self.studio(0).delete(&scope(tenant), Resource::KnowledgeBase, &id, &json!({}), None, true).await.map_err(broken)?;
                }
            }
            Deed::Add { engine, tenant, base, passages } => self.add(engine, tenant, base, passages).await?,
            Deed::Delete { engine, tenant, base, document } => {
                let studio = self.studio(engine);
                let bases = &mut self.tenants[usize::try_from(tenant).unwrap_or(0)];
                let Some(at) = place(base, bases.len()) else { return Ok(()) };
                let (base, documents) = &mut bases[at];
                let Some(at) = place(document, documents.len()) else { return Ok(()) };
                let gone = documents.remove(at);
                studio.delete_document(&scope(tenant), base, &gone.id).await.map_err(broken)?;
            }
            Deed::Ask { engine, tenant, base, document, mode } => self.ask(engine, tenant, base, document, mode).await?,
            Deed::Sweep => {
                let store = self.studio(0).world().store.clone();
                let refused = |error: wfstudio::store::StoreError| Fault { rule: "refused", text: error.to_string() };
                while store.write(|tx| wfstudio::store::knowledge::readings::sweep(tx, 1000)).await.map_err(refused)? {}
            }
            Deed::Open { engine } => {
                let no = usize::try_from(engine).unwrap_or(0) % 2;
                let closed = self.engines.remove(no);
                closed.studio.shutdown(std::time::Duration::from_secs(1)).await;
                drop(closed);
                self.open(no);
            }
        }
        Ok(())
    }

    async fn add(&mut self, engine: u64, tenant: u64, base: u64, passages: u64) -> Result<(), Fault> {
        let studio = self.studio(engine);
        self.made += 1;
        let name = format!("tenant{tenant}-document{}", self.made);
        let words: Vec<String> = (0..passages).map(|at| format!("zw{}q{at}", self.made)).collect();
        let text: Vec<String> = words.iter().map(|word| text_of(word)).collect();
        let bases = &mut self.tenants[usize::try_from(tenant).unwrap_or(0)];
        let Some(at) = place(base, bases.len()) else { return Ok(()) };
        let (base, documents) = &mut bases[at];
        let added = studio.add_text(&scope(tenant), base, &json!({"name": name, "text": text.join("\n\n")})).await.map_err(broken)?;
        if added["status"] != "ready" && added["status"] != "completed" && added["status"] != "indexed" {
            return Err(Fault { rule: "document", text: format!("a document was added and is {added}") });
        }
        documents.push(Document { id: added["id"].as_str().expect("an id").to_owned(), name, words });
        Ok(())
    }

    /// Asks for the words of a document, which is found, and for those of all others, which are not.
    async fn ask(&mut self, engine: u64, tenant: u64, base: u64, document: u64, mode: u64) -> Result<(), Fault> {
        let studio = self.studio(engine);
        let bases = &self.tenants[usize::try_from(tenant).unwrap_or(0)];
        let Some(at) = place(base, bases.len()) else { return Ok(()) };
        let (base, documents) = &bases[at];
        let mode = ["hybrid", "vector", "text"][usize::try_from(mode).unwrap_or(0) % 3];
        let wanted = place(document, documents.len()).map(|at| &documents[at]);
        let word = wanted.map_or("zw0q0", |document| document.words.last().map_or("", String::as_str));
        let body = json!({"query": text_of(word), "mode": mode, "top_k": 100});
        let found = studio.search(&scope(tenant), base, &body).await.map_err(broken)?;
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for chunk in found["results"].as_array().into_iter().flatten() {
            let content = chunk["content"].as_str().unwrap_or_default();
            let owner = documents.iter().find(|document| chunk["document_id"] == json!(document.id));
            let own = owner.is_some_and(|document| chunk["source_name"] == json!(document.name) && document.words.iter().any(|word| content.contains(&format!("{word} "))));
            if !own {
                return Err(Fault { rule: "foreign", text: format!("tenant {tenant} asks base {base} by {mode} and is told {chunk}; there are {:?}", names(documents)) });
            }
            *seen.entry(content.to_owned()).or_default() += 1;
        }
        let there = |word: &String| seen.keys().any(|content| content.contains(&format!("{word} ")));
        // Every vector is somewhere near; words find what holds them.
        let missing = match mode {
            "text" => wanted.filter(|_| !there(&word.to_owned())).map(|_| word.to_owned()),
            _ => documents.iter().flat_map(|document| &document.words).find(|word| !there(word)).cloned(),
        };
        match missing.or_else(|| seen.iter().find(|(_, count)| **count > 1).map(|(content, _)| format!("{content} (twice)"))) {
            Some(word) => Err(Fault { rule: "found", text: format!("tenant {tenant} asks base {base} by {mode} for `{word}`, which is not found once: {found}") }),
            None => Ok(()),
        }
    }
}

fn names(documents: &[Document]) -> Vec<&str> {
    documents.iter().map(|document| document.name.as_str()).collect()
}

fn broken(error: wfstudio::Error) -> Fault {
    Fault { rule: "refused", text: format!("{} {:?}", error.message, Value::Object(error.members)) }
}

pub async fn play(seed: u64, wanted: Vec<(usize, Deed)>, ignored: Ignored) -> Played {
    let mut library = Library::of(seed);
    let mut fault = None;
    for (at, deed) in &wanted {
        library.story.push(format!("{at}: {deed:?}"));
        fault = library.act(deed).await.err().filter(|fault| !ignored.0.contains(fault.rule));
        if fault.is_some() {
            break;
        }
    }
    let story = std::mem::take(&mut library.story);
    for engine in std::mem::take(&mut library.engines) {
        engine.die().await;
    }
    Played { fault, story, deeds: wanted.len(), calls: 0 }
}
