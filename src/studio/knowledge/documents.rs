//! Owns the documents of knowledge bases: adding, listing and reindexing them, and searches in a base.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::knowledge::SearchFailure;
use crate::knowledge::base::Base;
use crate::knowledge::text::DocumentKind;
use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};
use crate::store::Tx;
use crate::store::knowledge::documents::{DocumentRow, DocumentState};
use crate::store::knowledge::readings::Wanted;
use crate::store::knowledge::{documents as table, editions, readings};
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::must_find;
use crate::studio::definitions::resource::Resource;
use crate::studio::lists::{ListQuery, Page};
use crate::studio::reach::{Refusal, keep_answer};
use crate::studio::runs::summaries::add_usage;
use crate::studio::{Scope, Studio, Upload};
use crate::tools::SpentList;
use crate::tools::knowledge_search::SearchQuery;

/// The most characters of a question.
const QUESTION: usize = 20_000;

/// A document to add.
struct Incoming {
    name: String,
    source_type: &'static str,
    kind: DocumentKind,
    metadata: Map<String, Value>,
    bytes: Vec<u8>,
}

impl Incoming {
    /// From `{name, text, mime_type?, metadata?}`.
    fn of_text(body: &Value) -> Result<Self> {
        let mut problems = Problems::default();
        let mut fields = Fields::new(object_of(body)?, &mut problems);
        let name = fields.required("name", 255).unwrap_or_default().to_owned();
        let bytes = fields.required("text", usize::MAX).unwrap_or_default().as_bytes().to_vec();
        let kind = match fields.text("mime_type", 255).map(DocumentKind::of_mime) {
            None => DocumentKind::sniff(b"", None, &name).unwrap_or(DocumentKind::Plain),
            Some(Some(kind)) if kind.is_text() => kind,
            Some(_) => {
                fields.wrong("mime_type", "must be text/plain, text/markdown, text/csv or text/html; send other documents as a file");
                DocumentKind::Plain
            }
        };
        let metadata = fields.object("metadata");
        problems.into_result()?;
        Ok(Self { name, source_type: "manual", kind, metadata, bytes })
    }

    fn of_file(file: &Upload, metadata: Option<&Value>) -> Result<Self> {
        let name = file.name.as_deref().and_then(crate::model::parts::sniff::plain_name).unwrap_or_else(|| "document".to_owned());
        if file.bytes.is_empty() {
            return Err(Error::field("file", "file is empty"));
        }
        let kind = DocumentKind::sniff(&file.bytes, file.mime_type.as_deref(), &name);
        let kind = kind.map_err(|told| Error::new(Kind::UnsupportedMediaType, format!("{told}; nothing was stored")))?;
        let metadata = match metadata {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(fields)) => fields.clone(),
            Some(_) => return Err(Error::field("metadata", "metadata must be an object")),
        };
        Ok(Self { name, source_type: "file", kind, metadata, bytes: file.bytes.to_vec() })
    }

    fn check_size(&self, limit_kb: u64) -> Result<()> {
        if self.bytes.len() as u64 <= limit_kb.saturating_mul(1024) {
            return Ok(());
        }
        let text = format!("the document has more than {limit_kb} KiB (`rag.max_document_kb`); nothing was stored");
        Err(Error::new(Kind::BodyTooLarge, text).with("limit_kb", limit_kb))
    }

    fn row(&self, base: Id, id: Id, now: Timestamp) -> DocumentRow {
        DocumentRow {
            no: 0,
            id,
            base,
            name: self.name.clone(),
            source_type: self.source_type.to_owned(),
            mime_type: self.kind.mime().to_owned(),
            size: self.bytes.len() as u64,
            metadata: Value::Object(self.metadata.clone()),
            created_at: now,
            updated_at: now,
            usage: Usage::default(),
            state: DocumentState::default(),
        }
    }
}

pub(super) fn must_find_base(tx: &mut Tx<'_>, tenant: &str, name: &str, config: &Config) -> Result<Base, Refusal> {
    let found = Base::find(tx, tenant, name, config)?;
    found.ok_or_else(|| Error::not_found(Resource::KnowledgeBase.word(), name).into())
}

pub(super) fn must_find_document(tx: &mut Tx<'_>, tenant: &str, base: &Base, name: &str) -> Result<DocumentRow, Refusal> {
    let missing = || Refusal::from(Error::not_found("document", name));
    let id: Id = name.parse().map_err(|_| missing())?;
    table::get(tx, tenant, &base.id, &id)?.ok_or_else(missing)
}

/// Asks for a document to be read into every edition of its base, which is refused when the base was deleted meanwhile; one that was changed
/// meanwhile is read as it is now.
fn ask(tx: &mut Tx<'_>, tenant: &str, base: &Base, document: i64, (config, due): (&Config, Timestamp)) -> Result<(), Refusal> {
    let now;
    let base = if tx.is_file() {
        base
    } else {
        editions::alone(tx, &base.id)?;
        now = must_find_base(tx, tenant, &base.id.to_string(), config)?;
        &now
    };
    for edition in editions::for_writing(tx, tenant, &base.id, &base.embedder, &base.language)? {
        readings::ask(tx, &wanted(tenant, base, document, edition.no, due))?;
    }
    Ok(())
}

const fn wanted<'a>(tenant: &'a str, base: &'a Base, document: i64, edition: i64, due: Timestamp) -> Wanted<'a> {
    Wanted { tenant, base: &base.id, document, edition, max_words: base.max_words, overlap_words: base.overlap_words, due }
}

/// Begins to read all documents of a base anew, beside what is searched now.
fn ask_all(tx: &mut Tx<'_>, tenant: &str, base: &Base, due: Timestamp) -> Result<Vec<Id>, Refusal> {
    // A document that is added meanwhile is among them, or finds the new edition.
    editions::alone(tx, &base.id)?;
    let documents = table::numbers(tx, tenant, &base.id)?;
    for edition in editions::of_base(tx, tenant, &base.id)?.into_iter().filter(|edition| !edition.current || documents.is_empty()) {
        editions::close(tx, edition.no)?;
    }
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let next = editions::build(tx, tenant, &base.id, &base.embedder, &base.language)?;
    let mut ids = Vec::with_capacity(documents.len());
    for document in documents {
        readings::ask(tx, &wanted(tenant, base, document, next.no, due))?;
        ids.extend(table::by_no(tx, document)?.map(|document| document.id));
    }
    Ok(ids)
}

/// A document as it is answered.
fn show(row: &DocumentRow, currency: &str) -> Value {
    let mut shown = Map::new();
    shown.insert("id".into(), row.id.to_string().into());
    shown.insert("knowledge_base_id".into(), row.base.to_string().into());
    shown.insert("name".into(), row.name.as_str().into());
    shown.insert("source_type".into(), row.source_type.as_str().into());
    shown.insert("mime_type".into(), row.mime_type.as_str().into());
    shown.insert("size_bytes".into(), row.size.into());
    shown.insert("status".into(), row.state.status.into());
    shown.insert("error".into(), row.state.error.clone().into());
    shown.insert("chunk_count".into(), row.state.chunks.into());
    shown.insert("metadata".into(), row.metadata.clone());
    add_usage(&mut shown, &row.usage, currency);
    shown.insert("created_at".into(), row.created_at.rfc3339().into());
    shown.insert("updated_at".into(), row.updated_at.rfc3339().into());
    Value::Object(shown)
}

/// Puts what a base holds where it is shown.
pub(in crate::studio) fn count(tx: &mut Tx<'_>, tenant: &str, base: Id, config: &Config, shown: &mut Map<String, Value>) -> Result<(), Refusal> {
    let figures = table::figures(tx, tenant, &base)?;
    let written = Base::find(tx, tenant, &base.to_string(), config)?;
    let current = editions::of_base(tx, tenant, &base)?.into_iter().find(|edition| edition.current);
    let stale = match current {
        Some(edition) => !written.is_some_and(|base| edition.serves(&base.embedder, &base.language)) && readings::any(tx, edition.no)?,
        None => false,
    };
    shown.insert("document_count".into(), figures.documents.into());
    shown.insert("chunk_count".into(), figures.chunks.into());
    shown.insert("size_bytes".into(), figures.bytes.into());
    shown.insert("needs_reindex".into(), stale.into());
    Ok(())
}

/// Reads `{query, top_k?, threshold?, mode?, rerank?, filter?}`.
fn question(base: &str, body: &Value) -> Result<SearchQuery> {
    let mut problems = Problems::default();
    let mut fields = Fields::new(object_of(body)?, &mut problems);
    let query = fields.required("query", QUESTION).unwrap_or_default().to_owned();
    let top_k = fields.integer("top_k", 1..=100).and_then(|top_k| u32::try_from(top_k).ok());
    let threshold = fields.number("threshold", 0.0..=1.0).and_then(Value::as_f64);
    let mode = fields.choice("mode", &["hybrid", "vector", "text"]).map(str::to_owned);
    let filter = fields.value("filter").is_some().then(|| fields.filter("filter"));
    let rerank = fields.value("rerank").is_some().then(|| fields.rerank("rerank").as_object().cloned().unwrap_or_default());
    problems.into_result()?;
    Ok(SearchQuery { knowledge_base: base.to_owned(), query, top_k, threshold, mode, rerank, filter, trace: None })
}

fn refusal(failure: SearchFailure) -> Error {
    match failure {
        SearchFailure::Missing(name) => Error::not_found(Resource::KnowledgeBase.word(), &name),
        SearchFailure::Wrong(field, text) => Error::field(field, format!("{field}: {text}")),
        SearchFailure::Provider(failure) => {
            let text = format!("the question could not be embedded ({}): {}", failure.fault.code.as_str(), failure.fault.message);
            Error::new(Kind::UpstreamFailed, text)
        }
        SearchFailure::Store(error) => error.into(),
    }
}

impl Studio {
    /// The documents of a base, newest first.
    pub async fn documents(&self, scope: &Scope, base: &str, query: ListQuery) -> Result<Page> {
        // Who looks at documents after a restart wants those read that were not read before.
        self.runtime()?;
        let (tenant, base, config) = (Arc::clone(&scope.tenant), base.to_owned(), Arc::clone(&self.world().config));
        let after = query.after.as_deref().map(str::parse).transpose();
        let after = after.map_err(|_| Error::field("cursor", "cursor is not one that this list gave"))?;
        self.reading(move |tx| {
            let base = must_find_base(tx, &tenant, &base, &config)?;
            let rows = table::list(tx, &tenant, &base.id, query.q.as_deref(), after, query.limit + 1)?;
            Ok(Page::of(rows, query.limit, |row| row.no.to_string(), |row| show(&row, &config.usage.currency)))
        })
        .await
    }

    /// Adds a document from `{name, text, mime_type?, metadata?}`.
    pub async fn add_text(&self, scope: &Scope, base: &str, body: &Value) -> Result<Value> {
        self.add_text_under(None, scope, base, body).await
    }

    /// Adds a document and stores the answer under the key of the request.
    pub(crate) async fn add_text_under(&self, key: Option<RequestKey>, scope: &Scope, base: &str, body: &Value) -> Result<Value> {
        let incoming = self.read_for(scope, Resource::KnowledgeBase, base, Incoming::of_text(body)).await?;
        self.add_document(key, scope, base, incoming).await
    }

    /// Adds a document from a file.
    pub async fn add_file(&self, scope: &Scope, base: &str, file: &Upload, metadata: Option<&Value>) -> Result<Value> {
        self.add_file_under(None, scope, base, file, metadata).await
    }

    /// Adds a file and stores the answer under the key of the request.
    pub(crate) async fn add_file_under(&self, key: Option<RequestKey>, scope: &Scope, base: &str, file: &Upload, metadata: Option<&Value>) -> Result<Value> {
        let incoming = self.read_for(scope, Resource::KnowledgeBase, base, Incoming::of_file(file, metadata)).await?;
        self.add_document(key, scope, base, incoming).await
    }

    async fn add_document(&self, key: Option<RequestKey>, scope: &Scope, base: &str, incoming: Incoming) -> Result<Value> {
        let world = self.world();
        incoming.check_size(world.config.rag.max_document_kb)?;
        let (tenant, config, name) = (Arc::clone(&scope.tenant), Arc::clone(&world.config), base.to_owned());
        let (id, now, due) = (world.clock.id(), world.clock.now(), self.reading_due().await?);
        let made = self.writing(move |tx| {
            let base = must_find_base(tx, &tenant, &name, &config)?;
            let no = table::insert(tx, &tenant, &incoming.row(base.id, id, now), &incoming.bytes)?;
            ask(tx, &tenant, &base, no, (&*config, due))?;
            if key.is_some() {
                let row = table::by_no(tx, no)?;
                keep_answer(tx, &tenant, key.as_ref(), now, || row.map_or(Value::Null, |row| show(&row, &config.usage.currency)))?;
            }
            Ok(base.id)
        });
        let base_id = made.await?;
        self.read_documents(scope, base_id, vec![id]).await?;
        self.document(scope, base, &id.to_string()).await
    }

    /// From when on the worker may begin. What is read by the request itself it may have when that did not.
    async fn reading_due(&self) -> Result<Timestamp> {
        let world = self.world();
        world.store.know_time().await?;
        Ok(if world.config.rag.async_ingest { world.knowledge.common_time() } else { world.knowledge.lease() })
    }

    /// Starts the indexing of documents: by the worker, or at once if configured.
    async fn read_documents(&self, scope: &Scope, base: Id, documents: Vec<Id>) -> Result<()> {
        let world = Arc::clone(self.world());
        if world.config.rag.async_ingest {
            self.runtime()?;
            world.knowledge.wake();
            return Ok(());
        }
        let tenant = Arc::clone(&scope.tenant);
        self.on_runtime(async move {
            for document in documents {
                world.knowledge.read_now(&tenant, base, document, world.owner()).await?;
            }
            Ok(())
        })
        .await
    }

    /// One document.
    pub async fn document(&self, scope: &Scope, base: &str, id: &str) -> Result<Value> {
        let (tenant, config) = (Arc::clone(&scope.tenant), Arc::clone(&self.world().config));
        let (base, id) = (base.to_owned(), id.to_owned());
        self.reading(move |tx| {
            let base = must_find_base(tx, &tenant, &base, &config)?;
            Ok(show(&must_find_document(tx, &tenant, &base, &id)?, &config.usage.currency))
        })
        .await
    }

    /// Deletes a document; its passages are found no more.
    pub async fn delete_document(&self, scope: &Scope, base: &str, id: &str) -> Result<()> {
        let (tenant, config) = (Arc::clone(&scope.tenant), Arc::clone(&self.world().config));
        let (base, id) = (base.to_owned(), id.to_owned());
        self.writing(move |tx| {
            let base = must_find_base(tx, &tenant, &base, &config)?;
            let document = must_find_document(tx, &tenant, &base, &id)?;
            Ok(table::delete(tx, &tenant, &base.id, document.no)?)
        })
        .await
    }

    /// Reads a document anew. What was read before is found until that is done.
    pub async fn reindex_document(&self, scope: &Scope, base: &str, id: &str) -> Result<Value> {
        let (tenant, config, due) = (Arc::clone(&scope.tenant), Arc::clone(&self.world().config), self.reading_due().await?);
        let (name, document) = (base.to_owned(), id.to_owned());
        let asked = self.writing(move |tx| {
            let base = must_find_base(tx, &tenant, &name, &config)?;
            let document = must_find_document(tx, &tenant, &base, &document)?;
            ask(tx, &tenant, &base, document.no, (&*config, due))?;
            Ok((base.id, document.id))
        });
        let (base_id, document) = asked.await?;
        self.read_documents(scope, base_id, vec![document]).await?;
        self.document(scope, base, id).await
    }

    /// Reads all documents of a base anew, with the embeddings that it has now. Searches see the whole of it at once, when it is done.
    pub async fn reindex_base(&self, scope: &Scope, base: &str) -> Result<Value> {
        let (tenant, config, due) = (Arc::clone(&scope.tenant), Arc::clone(&self.world().config), self.reading_due().await?);
        let (name, catalog) = (base.to_owned(), self.catalog());
        let asked = self.writing(move |tx| {
            let found = must_find(tx, &tenant, &catalog, Resource::KnowledgeBase, &name)?;
            let base = must_find_base(tx, &tenant, &found.id.to_string(), &config)?;
            Ok((base.id, ask_all(tx, &tenant, &base, due)?))
        });
        let (base_id, documents) = asked.await?;
        self.read_documents(scope, base_id, documents).await?;
        self.get(scope, Resource::KnowledgeBase, base).await
    }

    /// Answers a question to a base: `{knowledge_base_id, query, chunk_count, top_score, results}`.
    pub async fn search(&self, scope: &Scope, base: &str, body: &Value) -> Result<Value> {
        let asked = self.read_for(scope, Resource::KnowledgeBase, base, question(base, body)).await?;
        let (world, tenant) = (Arc::clone(self.world()), Arc::clone(&scope.tenant));
        self.on_runtime(async move {
            let of_no_run = SpentList::default();
            let found = world.knowledge.ask(&tenant, &asked, &of_no_run).await.map_err(refusal)?;
            let mut answer = json!({
                "knowledge_base_id": found.knowledge_base_id, "query": asked.query, "chunk_count": found.results.len(),
                "top_score": found.top_score, "results": found.results,
            });
            if !found.warnings.is_empty() {
                answer["warnings"] = json!(found.warnings);
            }
            Ok(answer)
        })
        .await
    }
}
