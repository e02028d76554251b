//! Owns searches in a base: the query, its vector, and the passages found.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::Knowledge;
use super::base::{Base, Mode};
use super::codes::{self, Query};
use super::pgvector;
use super::rank::{self, Best};
use super::words::{self, Language};
use crate::knowledge::vector_cache::VectorCache;
use crate::model::chat::Tokens;
use crate::model::filter::Filter;
use crate::model::node::rerank::Rerank;
use crate::model::trace_context::TraceContext;
use crate::providers::{EmbedRequest, Made, ProviderFailure};
use crate::store::knowledge::editions::{Edition, Embedder};
use crate::store::knowledge::passages::Passage;
use crate::store::knowledge::readings::LiveReading;
use crate::store::knowledge::{editions, fulltext, nearest, passages, readings};
use crate::store::{StoreError, Tx};
use crate::tools::SpentList;
use crate::tools::knowledge_search::{Chunk, Found, Search, SearchError, SearchQuery};

/// How many of the most alike are looked at exactly, and how many each list gives to the other.
const CANDIDATES: usize = 100;
/// The most hits by words that are looked through for those of the wanted documents.
const LOOKED_THROUGH: usize = 200_000;
/// How often a question is asked anew because the base was reindexed meanwhile.
const MOVES: usize = 3;
/// The most characters of a question that are looked for; what follows them is not.
const QUERY_CHARACTERS: usize = 8_000;

/// Why a question has no answer.
#[derive(Clone, Debug)]
pub enum SearchFailure {
    /// There is no such base.
    Missing(String),
    /// The question is wrong: the field, and a sentence.
    Wrong(&'static str, String),
    /// The embeddings could not be made.
    Provider(ProviderFailure),
    /// The store could not be read.
    Store(StoreError),
}

impl From<StoreError> for SearchFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SearchFailure> for SearchError {
    fn from(failure: SearchFailure) -> Self {
        match failure {
            SearchFailure::Missing(name) => Self::Missing(name),
            SearchFailure::Wrong(field, text) => Self::Failed(format!("{field}: {text}")),
            SearchFailure::Provider(failure) => Self::Failed(failure.fault.message),
            SearchFailure::Store(error) => Self::Failed(error.to_string()),
        }
    }
}

/// A question with everything that it left to the base filled in.
#[derive(Clone, Debug)]
pub struct Question {
    /// The base.
    pub base: Base,
    /// The text.
    pub query: String,
    mode: Mode,
    top_k: usize,
    threshold: Option<f64>,
    filter: Filter,
    rerank: Option<Rerank>,
    edition: Option<Edition>,
}

impl Question {
    fn new(base: Base, edition: Option<Edition>, asked: &SearchQuery) -> Result<Self, SearchFailure> {
        let usual = &base.retrieval;
        let mode = match asked.mode.as_deref() {
            None => usual.mode,
            Some(name) => Mode::named(name).ok_or_else(|| SearchFailure::Wrong("mode", "must be one of hybrid, vector, text".to_owned()))?,
        };
        let filter = Filter::parse(asked.filter.as_ref().unwrap_or(&usual.filter));
        let filter = filter.map_err(|(key, text)| SearchFailure::Wrong("filter", format!("`{key}`: {text}")))?;
        let rerank = Rerank::parse(asked.rerank.as_ref().unwrap_or(&usual.rerank));
        let rerank = rerank.map_err(|(key, text)| SearchFailure::Wrong("rerank", format!("`{key}` {text}")))?;
        Ok(Self {
            query: asked.query.chars().take(QUERY_CHARACTERS).collect(),
            mode,
            top_k: asked.top_k.unwrap_or(usual.top_k).clamp(1, 100) as usize,
            threshold: asked.threshold.or(usual.threshold),
            filter,
            rerank,
            edition,
            base,
        })
    }

    /// What makes the vector that it needs, and for which edition; none when it needs none.
    pub fn embedder(&self) -> Option<(i64, &Embedder)> {
        let asks = self.mode != Mode::Text && !self.query.trim().is_empty();
        self.edition.as_ref().filter(|_| asks).map(|edition| (edition.no, &edition.embedder))
    }

    /// The reranker and the edition; none without a reranker.
    pub fn reranker(&self) -> Option<(i64, &Rerank)> {
        let edition = self.edition.as_ref().filter(|_| !self.query.trim().is_empty())?;
        Some((edition.no, self.rerank.as_ref()?))
    }

    /// It asked for so many passages, whatever their score.
    pub(super) fn wider(&self, candidates: u32) -> Self {
        Self { top_k: self.top_k.max(candidates as usize), threshold: None, ..self.clone() }
    }

    /// The best of passages that have their score and their order.
    pub(super) fn best_of(&self, mut chunks: Vec<Chunk>) -> Found {
        chunks.retain(|chunk| self.threshold.is_none_or(|least| chunk.score >= least));
        chunks.truncate(self.top_k);
        self.found(chunks)
    }

    fn found(&self, results: Vec<Chunk>) -> Found {
        let top_score = results.iter().map(|chunk| chunk.score).fold(0.0, f64::max);
        let context = context(results.iter().map(|chunk| chunk.content.as_str()));
        Found { knowledge_base_id: self.base.id.to_string(), context, top_score, results, warnings: Vec::new() }
    }
}

impl Knowledge {
    /// Finds the base of a question and fills in what it leaves open.
    ///
    /// # Errors
    /// There is no such base, the question is wrong, or the store failed.
    pub async fn question(&self, tenant: &str, asked: &SearchQuery) -> Result<Question, SearchFailure> {
        let (scope, name, config) = (tenant.to_owned(), asked.knowledge_base.clone(), Arc::clone(&self.config));
        let found = self.store.read(move |tx| {
            let Some(base) = Base::find(tx, &scope, &name, &config)? else { return Ok(None) };
            let edition = editions::of_base(tx, &scope, &base.id)?.into_iter().find(|edition| edition.current);
            Ok(Some((base, edition)))
        });
        let (base, edition) = found.await?.ok_or_else(|| SearchFailure::Missing(asked.knowledge_base.clone()))?;
        Question::new(base, edition, asked)
    }

    /// The vector of a question.
    pub async fn embed(
        &self,
        tenant: &str,
        embedder: &Embedder,
        query: &str,
        trace: Option<Arc<TraceContext>>,
        made: Made<'_>,
    ) -> Result<(Vec<f32>, Option<Tokens>), ProviderFailure> {
        let request = EmbedRequest {
            model: embedder.model.clone(),
            texts: vec![query.to_owned()],
            query: true,
            dimensions: embedder.dimensions,
            tenant: tenant.to_owned(),
            trace,
        };
        let mut embedded = self.providers.get(&embedder.provider)?.embed_telling(&request, made).await?;
        Ok((embedded.vectors.pop().unwrap_or_default(), embedded.tokens))
    }

    /// The passages that answer a question, best first. None when the base was reindexed since it was asked: then it is to be asked anew.
    ///
    /// # Errors
    /// The store failed, or the vector does not fit those of the base.
    pub async fn find(&self, question: &Question, vector: Option<Vec<f32>>) -> Result<Option<Found>, SearchFailure> {
        let empty = Found { knowledge_base_id: question.base.id.to_string(), ..Found::default() };
        if question.edition.is_none() || question.query.trim().is_empty() {
            return Ok(Some(empty));
        }
        Ok(self.chunks(question.clone(), vector).await?.map(|results| question.found(results)))
    }

    /// The passages that a question finds.
    pub(super) async fn chunks(&self, question: Question, vector: Option<Vec<f32>>) -> Result<Option<Vec<Chunk>>, SearchFailure> {
        // The server was asked to compare the vectors.
        let asked = Arc::new(AtomicBool::new(false));
        let look = |least: Option<u64>| {
            let (vector_cache, question, vector, asked) = (Arc::clone(&self.vector_cache), question.clone(), vector.clone(), Arc::clone(&asked));
            self.store.read(move |tx| Look { tx, vector_cache: &vector_cache, question: &question, least, asked: &asked }.results(vector.clone()))
        };
        let least = pgvector::least(self.config.rag.pgvector);
        match look(least).await {
            // The extension may be removed at any time, or be of a version that does not know what is asked of it.
            Err(error) if asked.load(Ordering::Relaxed) && error != StoreError::Closed => {
                tracing::warn!(%error, "a search with pgvector failed; it is repeated without pgvector");
                look(None).await?
            }
            found => found?,
        }
    }

    /// Answers a question; what its embeddings took is added to `spent`, also when they failed.
    ///
    /// # Errors
    /// As [`Knowledge::question`], [`Knowledge::embed`] and [`Knowledge::find`].
    pub async fn ask(&self, tenant: &str, asked: &SearchQuery, spent: &SpentList) -> Result<Found, SearchFailure> {
        for _ in 0..MOVES {
            let question = self.question(tenant, asked).await?;
            let vector = match question.embedder() {
                Some((_, embedder)) => Some(self.embed_metered(tenant, embedder, (&question.query, asked.trace.clone()), spent).await?),
                None => None,
            };
            let trace = asked.trace.clone();
            if let Some(found) = self.find_in_order(tenant, &question, vector, (trace, spent)).await? {
                return Ok(found);
            }
        }
        Err(SearchFailure::Wrong("knowledge_base_id", "the base was reindexed several times during the search; there is no result; search again".to_owned()))
    }

    async fn embed_metered(
        &self,
        tenant: &str,
        embedder: &Embedder,
        (query, trace): (&str, Option<Arc<TraceContext>>),
        spent: &SpentList,
    ) -> Result<Vec<f32>, SearchFailure> {
        let at = spent.begin(&embedder.provider, &embedder.model, false);
        let made = self.embed(tenant, embedder, query, trace, &|| spent.made(at)).await;
        let (Ok((_, tokens)) | Err(ProviderFailure { tokens, .. })) = &made;
        let counts = tokens.is_some() || made.as_ref().map_or_else(|failure| failure.cut, |_| true);
        spent.end(at, *tokens, counts);
        made.map(|(vector, _)| vector).map_err(SearchFailure::Provider)
    }
}

impl Search for Knowledge {
    fn search<'a>(&'a self, tenant: &'a str, query: &'a SearchQuery, spent: &'a SpentList) -> BoxFuture<'a, Result<Found, SearchError>> {
        Box::pin(async move { self.ask(tenant, query, spent).await.map_err(SearchError::from) })
    }
}

/// Passages as a model reads them: `[n]` is what it cites.
pub fn context<'t>(contents: impl Iterator<Item = &'t str>) -> String {
    let blocks: Vec<String> = (1..).zip(contents).map(|(n, content)| format!("[{n}] {content}")).collect();
    blocks.join("\n---\n")
}

/// One look into the store for one question.
struct Look<'l, 't> {
    tx: &'l mut Tx<'t>,
    vector_cache: &'l VectorCache,
    question: &'l Question,
    /// More bytes of compact copies than this are left to the database.
    least: Option<u64>,
    /// Set when the server is asked to compare vectors.
    asked: &'l AtomicBool,
}

impl Look<'_, '_> {
    /// None when another edition has become the current one: the vector may be of another kind.
    fn results(mut self, vector: Option<Vec<f32>>) -> Result<Result<Option<Vec<Chunk>>, SearchFailure>, StoreError> {
        let asked = self.question.edition.as_ref();
        let edition = asked.map_or(Ok(None), |asked| editions::get(self.tx, asked.no))?;
        let Some(edition) = edition.filter(|edition| edition.current) else { return Ok(Ok(None)) };
        let live = self.vector_cache.live(self.tx, &edition)?;
        let wanted: HashMap<i64, &LiveReading> =
            live.iter().filter(|reading| self.question.filter.fits(&reading.metadata)).map(|reading| (reading.no, reading)).collect();
        let alike = match vector.filter(|_| !wanted.is_empty()) {
            Some(vector) => match self.alike(&edition, &wanted, &codes::unit(vector))? {
                Ok(alike) => alike,
                Err(failure) => return Ok(Err(failure)),
            },
            None => Vec::new(),
        };
        let order = match self.question.mode {
            Mode::Vector => alike.iter().map(|(key, _)| *key).collect(),
            Mode::Text => self.worded(&edition, &live, &wanted)?,
            Mode::Hybrid => {
                let keys: Vec<i64> = alike.iter().map(|(key, _)| *key).collect();
                rank::fuse(&keys, &self.worded(&edition, &live, &wanted)?)
            }
        };
        self.chunks(&order, &alike.into_iter().collect(), &wanted).map(|chunks| Ok(Some(chunks)))
    }

    /// The passages whose vectors are most alike, with their exact likeness.
    fn alike(
        &mut self,
        edition: &Edition,
        wanted: &HashMap<i64, &LiveReading>,
        vector: &[f32],
    ) -> Result<Result<Vec<(i64, f32)>, SearchFailure>, StoreError> {
        let length = passages::vector_bytes(self.tx, edition.no)?.unwrap_or(0) / 4;
        if length != vector.len() as u64 {
            let told = format!(
                "the model `{}` now gives vectors of length {}, and those of the base have {length}; reindex the base",
                edition.embedder.model,
                vector.len()
            );
            return Ok(Err(SearchFailure::Wrong("knowledge_base_id", told)));
        }
        let (query, most) = (Query::new(vector), CANDIDATES.max(self.question.top_k * 2));
        let (mut keys, rest) = self.alike_in_database(edition, wanted, vector, most)?;
        let mut best = Best::new(most);
        for reading in wanted.values().filter(|reading| rest.as_ref().is_none_or(|rest| rest.contains(&reading.no))) {
            for run in self.vector_cache.runs(self.tx, edition.no, reading)?.iter() {
                query.compare(&run.codes, |place, likeness| best.show(passages::key(reading.no, run.first + place), likeness));
            }
        }
        keys.extend(best.in_order().into_iter().map(|(key, _)| key));
        let mut exact = Vec::new();
        passages::vectors(self.tx, &keys, &mut |key, bytes| {
            let likeness = codes::likeness(vector, bytes);
            if likeness > 0.0 {
                exact.push((key, likeness.min(1.0)));
            }
        })?;
        exact.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        Ok(Ok(exact))
    }

    /// The passages that the database finds most alike, and the readings that it could not look through; none: all of them.
    fn alike_in_database(
        &mut self,
        edition: &Edition,
        wanted: &HashMap<i64, &LiveReading>,
        vector: &[f32],
        most: usize,
    ) -> Result<(Vec<i64>, Option<HashSet<i64>>), StoreError> {
        let (length, passages) = (vector.len() as u64, wanted.values().map(|reading| reading.passages).sum::<u64>());
        let is_large = self.least.is_some_and(|least| length <= nearest::LONGEST && passages * (length + 4) > least);
        let Some(table) = is_large.then(|| nearest::table(self.tx)).transpose()?.flatten() else { return Ok((Vec::new(), None)) };
        self.asked.store(true, Ordering::Relaxed);
        let rest = nearest::missing(self.tx, edition.no)?;
        let copied: Vec<i64> = wanted.keys().copied().filter(|reading| !rest.contains(reading)).collect();
        let found = if copied.is_empty() { Vec::new() } else { nearest::find(self.tx, &table, edition.no, &copied, vector, most)? };
        Ok((found, Some(rest)))
    }

    /// The passages that hold the question's words.
    fn worded(&mut self, edition: &Edition, live: &[LiveReading], wanted: &HashMap<i64, &LiveReading>) -> Result<Vec<i64>, StoreError> {
        let most = CANDIDATES.max(self.question.top_k * 2);
        let question = &self.question.query;
        let terms = match edition.language.as_deref() {
            Some(name) => Language::named(name).map(|language| language.asked(question)).unwrap_or_default(),
            None => words::asked_of_database(question),
        };
        // Words of what is not wanted stand in the same index: of documents that are being read, that failed half-way, that were deleted just now.
        let left_out = live.iter().filter(|reading| !wanted.contains_key(&reading.no)).map(|reading| reading.passages).sum::<u64>();
        let others = usize::try_from(left_out + readings::unseen(self.tx, edition.no)?).unwrap_or(usize::MAX);
        let mut found = fulltext::find(self.tx, edition.index(), &terms, most.saturating_add(others).min(LOOKED_THROUGH))?;
        found.retain(|key| wanted.contains_key(&passages::place(*key).0));
        found.truncate(most);
        Ok(found)
    }

    fn chunks(
        &mut self,
        order: &[i64],
        scores: &HashMap<i64, f32>,
        wanted: &HashMap<i64, &LiveReading>,
    ) -> Result<Vec<Chunk>, StoreError> {
        let mut chunks = Vec::new();
        for key in order {
            let score = scores.get(key).map_or(0.0, |score| rounded(*score));
            if self.question.threshold.is_some_and(|least| score < least) {
                continue;
            }
            let (no, position) = passages::place(*key);
            let Some(reading) = wanted.get(&no) else { continue };
            let Some(passage) = passages::get(self.tx, *key)? else { continue };
            chunks.push(chunk(reading, position, passage, score));
            if chunks.len() == self.question.top_k {
                break;
            }
        }
        Ok(chunks)
    }
}

fn chunk(reading: &LiveReading, position: u64, passage: Passage, score: f64) -> Chunk {
    let name = format!("{}:{position}", reading.no);
    Chunk {
        id: uuid::Uuid::new_v5(&reading.document.0, name.as_bytes()).to_string(),
        document_id: reading.document.to_string(),
        content: passage.text,
        score,
        source_type: reading.source_type.clone(),
        source_name: reading.name.clone(),
        position,
        page: passage.place.page,
        heading: passage.place.heading.as_deref().map(str::to_owned),
        sheet: passage.place.sheet.as_deref().map(str::to_owned),
        metadata: match &reading.metadata {
            Value::Object(fields) => fields.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        },
    }
}

/// A score has no more than six significant digits.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e6).round() / 1e6
}
