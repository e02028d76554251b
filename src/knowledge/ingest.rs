//! Owns the indexing of a document: its text, passages, and vectors batch by batch; stored batches are not repeated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::words::Language;
use super::worker::Worker;
use super::{Knowledge, chunk, codes, text};
use crate::model::Timestamp;
use crate::model::event::FaultCode;
use crate::model::usage::Usage;
use crate::providers::{EmbedRequest, Embeddings, ProviderFailure};
use crate::store::{StoreError, Tx};
use crate::store::knowledge::editions::{Edition, Embedder};
use crate::store::knowledge::passages::Batch;
use crate::store::knowledge::readings::ReadingRow;
use crate::store::knowledge::{documents, editions, passages, readings};

/// Texts of one embeddings request.
const BATCH: usize = 64;
/// How often a reading is begun again without getting any further.
const TRIES: u32 = 5;

/// What a reading came to while it was worked on.
struct Progress {
    /// How often it was begun without getting any further.
    tries: u32,
    /// What a call took whose vectors were not stored: it counts all the same.
    owed: Option<Usage>,
}

/// Why a reading stopped.
#[derive(Debug)]
enum Stop {
    /// It is not this worker's any more, or not wanted any more.
    Lost,
    /// The engine ends: somebody else goes on.
    Ends,
    /// It may work later.
    Later(String),
    /// It will not work.
    Never(String),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Fenced | StoreError::Closed) { Self::Lost } else { Self::Later(error.to_string()) }
    }
}

impl From<ProviderFailure> for Stop {
    fn from(failure: ProviderFailure) -> Self {
        let passes = matches!(
            failure.fault.code,
            FaultCode::ProviderUnavailable | FaultCode::ProviderTimeout | FaultCode::ProviderRateLimited | FaultCode::ProviderProtocol
        );
        let text = failure.fault.message;
        if passes { Self::Later(text) } else { Self::Never(text) }
    }
}

impl Knowledge {
    /// The clock of leases.
    pub fn common_time(&self) -> Timestamp {
        self.store.time(self.clock.now())
    }

    /// When a lease taken now ends.
    pub fn lease(&self) -> Timestamp {
        let millis = i64::try_from(self.config.runs.lease_seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        Timestamp(self.common_time().0.saturating_add(millis))
    }

    /// Works on a reading that was claimed, and stores how it ended. A worker tries a failure that may pass again later, and gives the
    /// reading back when it stops: behind the vectors under way, as long as there is time for them.
    pub(super) async fn work_on(&self, reading: ReadingRow, worker: Option<&Worker>) {
        let document = reading.document;
        let mut progress = Progress { tries: reading.tries, owed: None };
        let stopped = tokio::select! {
            stopped = self.read_whole(&reading, worker, &mut progress) => stopped,
            Stop::Lost = self.hold(&reading) => Err(Stop::Lost),
        };
        let Progress { tries, owed } = progress;
        let now = self.clock.now();
        let ended = match stopped {
            Ok(()) | Err(Stop::Lost) => return,
            Err(Stop::Ends) => {
                let at = self.common_time();
                self.store.write(move |tx| readings::give_back(tx, &reading, at)).await
            }
            Err(Stop::Later(text)) if worker.is_some() && tries < TRIES => {
                tracing::warn!(reading = reading.no, text, "a document could not be indexed; another attempt follows");
                let at = Timestamp(self.common_time().0 + backoff(tries));
                let put_off = move |tx: &mut Tx<'_>| {
                    readings::put_off(tx, &reading, &text, at)?;
                    owed.map_or(Ok(()), |usage| documents::add_usage(tx, reading.document, &usage, now))
                };
                self.store.write(put_off).await
            }
            Err(Stop::Later(text) | Stop::Never(text)) => {
                let fail = move |tx: &mut Tx<'_>| {
                    readings::fail(tx, &reading, &text, now)?;
                    owed.map_or(Ok(()), |usage| documents::add_usage(tx, reading.document, &usage, now))
                };
                self.store.write(fail).await
            }
        };
        if let (Err(StoreError::Fenced), Some(usage)) = (&ended, owed) {
            self.count(document, usage).await;
        }
        if let Err(error) = ended {
            tracing::warn!(%error, "the end of the indexing of a document was not stored; the document is indexed again when its lease expires");
        }
    }

    /// Keeps the lease; ends when the studio closes.
    async fn hold(&self, reading: &ReadingRow) -> Stop {
        let third = Duration::from_millis((self.config.runs.lease_seconds * 1000 / 3).max(100));
        loop {
            tokio::time::sleep(third).await;
            let (reading, until) = (reading.clone(), self.lease());
            match self.store.write(move |tx| readings::renew(tx, &reading, until)).await {
                Err(StoreError::Closed) => return Stop::Lost,
                // The reading finds out with the next thing that it stores; the call that it waits for is paid for and counted.
                Err(StoreError::Fenced) => return std::future::pending().await,
                Ok(()) | Err(_) => {}
            }
        }
    }

    async fn read_whole(&self, reading: &ReadingRow, worker: Option<&Worker>, progress: &mut Progress) -> Result<(), Stop> {
        if reading.tries > TRIES {
            return Err(Stop::Never(format!("reading this document was begun {} times and never came to an end", reading.tries - 1)));
        }
        let no = reading.edition;
        let edition = self.store.read(move |tx| editions::get(tx, no)).await?.ok_or(Stop::Lost)?;
        let chunks = match reading.chunks {
            Some(chunks) => chunks,
            None => tokio::select! {
                biased;
                () = cancelled(worker.map(|worker| &worker.stopping)) => return Err(Stop::Ends),
                chunks = self.cut(reading) => chunks?,
            },
        };
        let mut done = if reading.chunks.is_some() { reading.done } else { 0 };
        let (row, wanted) = (reading.clone(), edition.clone());
        let earlier = self.store.read(move |tx| readings::with_vectors_for(tx, &row, &wanted)).await?;
        while done < chunks {
            if worker.is_some_and(|worker| worker.stopping.is_cancelled()) {
                return Err(Stop::Ends);
            }
            let kept = match earlier {
                Some(earlier) => self.keep_next(reading, &edition, done, earlier).await?,
                None => 0,
            };
            done += if kept > 0 { kept } else { self.embed_next(reading, &edition, (done, worker), &mut progress.owed).await? };
            progress.tries = 1;
        }
        let (reading, now) = (reading.clone(), self.clock.now());
        self.store.write(move |tx| readings::complete(tx, &reading, now)).await?;
        self.indexed.notify_one();
        Ok(())
    }

    /// Cuts the text of the document; how many passages there are.
    async fn cut(&self, reading: &ReadingRow) -> Result<u64, Stop> {
        let no = reading.document;
        let found = self.store.read(move |tx| Ok(documents::by_no(tx, no)?.zip(documents::content(tx, no)?))).await?;
        let Some((document, content)) = found else {
            let reading = reading.clone();
            let forget = move |tx: &mut Tx<'_>| {
                readings::forget(tx, no)?;
                editions::swap_when_whole(tx, &reading.tenant, &reading.base)
            };
            self.store.write(forget).await?;
            return Err(Stop::Lost);
        };
        let kind = text::DocumentKind::of_mime(&document.mime_type).ok_or_else(|| Stop::Never(text::unreadable(&document.mime_type)))?;
        let whole = self.texts.read(kind, content, &reading.tenant).await.map_err(Stop::Never)?;
        let (most, overlap) = (reading.max_words as usize, reading.overlap_words as usize);
        // A long text keeps a thread busy for a while: none of those that drive runs.
        let texts = tokio::task::spawn_blocking(move || chunk::cut(&whole, most, overlap, passages::MOST)).await;
        let texts = texts.map_err(|_| Stop::Never("the text could not be cut into chunks".to_owned()))?.map_err(too_much)?;
        if texts.is_empty() {
            return Err(Stop::Never(kind.without_text().to_owned()));
        }
        let (reading, count) = (reading.clone(), texts.len() as u64);
        self.store.write(move |tx| readings::cut(tx, &reading, &texts)).await?;
        Ok(count)
    }

    /// Makes and stores the vectors of the next passages; how many there were. What making them took is owed when they were not stored.
    async fn embed_next(
        &self,
        reading: &ReadingRow,
        edition: &Edition,
        (done, worker): (u64, Option<&Worker>),
        owed: &mut Option<Usage>,
    ) -> Result<u64, Stop> {
        let (no, embedder, index) = (reading.no, &edition.embedder, edition.index());
        let found = self.store.read(move |tx| Ok((passages::texts(tx, no, done, BATCH)?, passages::vector_bytes(tx, index.edition)?)));
        let (texts, length) = found.await?;
        if texts.is_empty() {
            return Err(Stop::Never("passages of this document are missing; reindex it".to_owned()));
        }
        let request = EmbedRequest {
            model: embedder.model.clone(),
            texts,
            query: false,
            dimensions: embedder.dimensions,
            tenant: reading.tenant.clone(),
            trace: None,
        };
        let began = self.clock.now();
        let (provider, made) = (self.providers.get(&embedder.provider)?, AtomicBool::new(false));
        let begun = || made.store(true, Ordering::Relaxed);
        let asked = tokio::select! {
            biased;
            asked = provider.embed_telling(&request, &begun) => asked,
            () = cancelled(worker.map(|worker| &worker.hurry)) => {
                // It is made again by whoever goes on, and may have to be paid both times.
                if made.load(Ordering::Relaxed) {
                    self.count(reading.document, self.prices.meter(&embedder.provider, &embedder.model, None, began)).await;
                }
                return Err(Stop::Ends);
            }
        };
        let made = match asked {
            Ok(made) => made,
            Err(failure) => return Err(self.failed(reading.document, embedder, failure, began).await),
        };
        let usage = self.prices.meter(&embedder.provider, &embedder.model, made.tokens, began);
        let document = reading.document;
        let batch = match batch(done, terms(edition, request.texts), made, length) {
            Ok(batch) => batch,
            Err(unfit) => {
                self.count(document, usage).await;
                return Err(Stop::Never(unfit));
            }
        };
        let (count, held, took) = (batch.vectors.len() as u64, reading.clone(), usage);
        let (now, until) = (self.clock.now(), self.lease());
        let stored = self.store.write(move |tx| readings::advance(tx, &held, (index, &batch), &took, now, until)).await;
        match stored {
            Ok(()) => {}
            Err(StoreError::Fenced) => self.count(document, usage).await,
            Err(StoreError::Unknown) => {
                // Vectors and usage are stored in one transaction.
                let (held, after) = (reading.clone(), done + count);
                if self.store.read(move |tx| readings::has_reached(tx, &held, after)).await? {
                    return Ok(count);
                }
                *owed = Some(usage);
            }
            Err(_) => *owed = Some(usage),
        }
        stored?;
        Ok(count)
    }

    /// Keeps the vectors of the next passages that an earlier reading made of the same texts; how many there were.
    async fn keep_next(&self, reading: &ReadingRow, edition: &Edition, done: u64, earlier: i64) -> Result<u64, Stop> {
        let no = reading.no;
        let found = self.store.read(move |tx| {
            let (mut texts, before) = (passages::texts(tx, no, done, BATCH)?, passages::texts(tx, earlier, done, BATCH)?);
            texts.truncate(texts.iter().zip(&before).take_while(|(text, before)| text == before).count());
            let mut vectors = Vec::new();
            for place in (done..).take(texts.len()) {
                vectors.extend(passages::vector(tx, passages::key(earlier, place), <[u8]>::to_vec)?);
            }
            Ok((texts, vectors))
        });
        let (texts, vectors) = found.await?;
        if texts.is_empty() || vectors.len() < texts.len() {
            return Ok(0);
        }
        let mut batch = Batch { first: done, terms: terms(edition, texts), vectors, codes: Vec::new() };
        batch.vectors.iter().for_each(|bytes| codes::append(&mut batch.codes, &codes::numbers(bytes)));
        let (count, held, index, now, until) = (batch.vectors.len() as u64, reading.clone(), edition.index(), self.clock.now(), self.lease());
        self.store.write(move |tx| readings::advance(tx, &held, (index, &batch), &Usage::default(), now, until)).await?;
        Ok(count)
    }

    /// Counts a call of which nothing else is kept.
    async fn count(&self, document: i64, usage: Usage) {
        let now = self.clock.now();
        if let Err(error) = self.store.write(move |tx| documents::add_usage(tx, document, &usage, now)).await {
            tracing::warn!(%error, "the usage of an embedding was not stored");
        }
    }

    /// What a failed call reported counts too; one that was cut without a report is unpriced.
    async fn failed(&self, document: i64, embedder: &Embedder, failure: ProviderFailure, began: Timestamp) -> Stop {
        if failure.tokens.is_some() || failure.cut {
            self.count(document, self.prices.meter(&embedder.provider, &embedder.model, failure.tokens, began)).await;
        }
        failure.into()
    }
}

/// Comes when somebody says so.
async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

fn too_much(why: chunk::TooMuch) -> Stop {
    Stop::Never(match why {
        chunk::TooMuch::Passages => {
            format!("the text gives more than {} chunks; raise `chunking.max_words` of the base, or split the document", passages::MOST)
        }
        chunk::TooMuch::Bytes => {
            "the chunks of the text repeat too much of each other; lower `chunking.overlap_words` of the base, and reindex it".to_owned()
        }
    })
}

/// What texts are found by.
fn terms(edition: &Edition, texts: Vec<String>) -> Vec<Vec<String>> {
    match edition.language.as_deref().and_then(Language::named) {
        Some(language) => texts.iter().map(|text| language.terms(text)).collect(),
        None => texts.into_iter().map(|text| vec![text]).collect(),
    }
}

/// Vectors as they are stored: of unit length, all of the length that the edition has.
fn batch(first: u64, terms: Vec<Vec<String>>, made: Embeddings, bytes: Option<u64>) -> Result<Batch, String> {
    let length = bytes.map_or_else(|| made.vectors.first().map_or(0, Vec::len), |bytes| usize::try_from(bytes / 4).unwrap_or(0));
    let mut batch = Batch { first, terms, ..Batch::default() };
    for vector in made.vectors {
        if vector.is_empty() || vector.len() != length || length > 65_536 {
            return Err(format!(
                "the model gave a vector of length {}, and those of the base have {length}; reindex the base, or set `dimensions`",
                vector.len()
            ));
        }
        let vector = codes::unit(vector);
        batch.vectors.push(codes::bytes(&vector));
        codes::append(&mut batch.codes, &vector);
    }
    Ok(batch)
}

/// Milliseconds before the next attempt.
const fn backoff(tries: u32) -> i64 {
    let doubled = if tries > 6 { 6 } else { tries.saturating_sub(1) };
    1000 << doubled
}
