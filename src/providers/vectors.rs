//! Owns embeddings that are requested in batches and joined.

use serde::de::DeserializeOwned;

use super::wire::malformed;
use super::{Embeddings, ProviderFailure};
use crate::model::chat::Tokens;

/// What a number of a vector takes at most in an answer: sign, seventeen digits, an exponent, a comma.
const NUMBER_BYTES: usize = 25;
/// The length that vectors are taken to have before one was seen.
const USUAL_LENGTH: usize = 4096;
/// What the texts of one request may take together; one text goes alone, however long it is.
const TEXT_BYTES: usize = 1 << 20;

/// The JSON of an answer.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ProviderFailure> {
    serde_json::from_slice(body).map_err(|problem| malformed(&problem.to_string()))
}

/// One vector for each text, or the answer is malformed.
pub(super) fn batch(vectors: Vec<Vec<f32>>, wanted: usize, tokens: Option<u64>) -> Result<Embeddings, ProviderFailure> {
    let tokens = tokens.map(|prompt| Tokens { prompt, ..Tokens::default() });
    if vectors.len() != wanted {
        // The provider bills what it could not answer well, too.
        return Err(ProviderFailure { tokens, ..malformed(&format!("{} vectors for {wanted} texts", vectors.len())) });
    }
    Ok(Embeddings { vectors, tokens })
}

/// The batches so far.
#[derive(Default)]
pub(super) struct Batches {
    vectors: Vec<Vec<f32>>,
    tokens: Option<Tokens>,
}

impl Batches {
    /// Takes the next batch. A failure takes the tokens along that all batches reported.
    pub(super) fn take(&mut self, batch: Result<Embeddings, ProviderFailure>) -> Result<(), ProviderFailure> {
        let more = batch.as_ref().map_or_else(|failure| failure.tokens, |batch| batch.tokens);
        if let Some(more) = more {
            let before = self.tokens.unwrap_or_default().prompt;
            self.tokens = Some(Tokens { prompt: before + more.prompt, ..Tokens::default() });
        }
        let batch = batch.map_err(|failure| ProviderFailure { tokens: self.tokens, ..failure })?;
        self.vectors.extend(batch.vectors);
        Ok(())
    }

    /// The texts of the next request: at most so many, and so few that its answer stays under the limit of what is read.
    pub(super) fn next<'t>(&self, texts: &'t [String], most: usize, dimensions: Option<u32>, limit: usize) -> &'t [String] {
        let rest = texts.get(self.vectors.len()..).unwrap_or_default();
        let wanted = dimensions.and_then(|length| usize::try_from(length).ok());
        let length = self.vectors.first().map(Vec::len).or(wanted).unwrap_or(USUAL_LENGTH).max(1);
        let most = most.min(limit / (NUMBER_BYTES * length));
        let mut bytes = 0_usize;
        let fitting = rest.iter().take_while(|text| {
            bytes += text.len();
            bytes <= TEXT_BYTES
        });
        let count = fitting.count().min(most).max(1).min(rest.len());
        &rest[..count]
    }

    pub(super) fn all(self) -> Embeddings {
        Embeddings { vectors: self.vectors, tokens: self.tokens }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_as_large_as_its_answer_may_be() {
        let texts = vec!["t".to_owned(); 300];
        let next = |batches: &Batches, dimensions| batches.next(&texts, 256, dimensions, 8 << 20).len();
        let mut batches = Batches::default();
        assert_eq!((next(&batches, None), next(&batches, Some(384)), next(&batches, Some(65_536))), (81, 256, 5));
        batches.vectors = vec![vec![0.0; 20_000]; 81];
        assert_eq!((next(&batches, None), next(&batches, Some(384))), (16, 16));
        batches.vectors = vec![vec![0.0]; 300];
        assert_eq!(next(&batches, None), 0);
        let long = vec!["t".repeat(700 << 10); 3];
        assert_eq!(Batches::default().next(&long, 256, None, 8 << 20).len(), 1);
        let longer = vec!["t".repeat(2 << 20); 3];
        assert_eq!(Batches::default().next(&longer, 256, None, 8 << 20).len(), 1);
    }
}
