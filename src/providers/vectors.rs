//! Owns embeddings that are made in batches and put together again.

use serde::de::DeserializeOwned;

use super::wire::malformed;
use super::{Embeddings, ProviderFailure};
use crate::model::chat::Tokens;

/// The JSON of an answer.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ProviderFailure> {
    serde_json::from_slice(body).map_err(|problem| malformed(&problem.to_string()))
}

/// One vector for each text, or the answer is malformed.
pub(super) fn batch(vectors: Vec<Vec<f32>>, wanted: usize, tokens: Option<u64>) -> Result<Embeddings, ProviderFailure> {
    if vectors.len() != wanted {
        return Err(malformed(&format!("{} vectors for {wanted} texts", vectors.len())));
    }
    Ok(Embeddings { vectors, tokens: tokens.map(|prompt| Tokens { prompt, ..Tokens::default() }) })
}

/// The batches so far.
#[derive(Default)]
pub(super) struct Batches {
    vectors: Vec<Vec<f32>>,
    tokens: Option<Tokens>,
}

impl Batches {
    /// Takes the next batch. A failure takes the tokens along that were reported before it.
    pub(super) fn take(&mut self, batch: Result<Embeddings, ProviderFailure>) -> Result<(), ProviderFailure> {
        let batch = batch.map_err(|failure| ProviderFailure { tokens: failure.tokens.or(self.tokens), ..failure })?;
        self.vectors.extend(batch.vectors);
        if let Some(more) = batch.tokens {
            let before = self.tokens.unwrap_or_default().prompt;
            self.tokens = Some(Tokens { prompt: before + more.prompt, ..Tokens::default() });
        }
        Ok(())
    }

    /// All of them.
    pub(super) fn all(self) -> Embeddings {
        Embeddings { vectors: self.vectors, tokens: self.tokens }
    }
}
