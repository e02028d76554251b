//! Owns the embeddings `hash`, which need no network: hashed words and word pairs, 256 dimensions, unit length.

use futures_util::future::BoxFuture;
use unicode_segmentation::UnicodeSegmentation;

use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure};
use crate::model::chat::Tokens;
use crate::model::event::FaultCode;

/// Length of the vectors.
pub const DIMENSIONS: usize = 256;
/// Share of a word pair beside a single word.
const PAIR_WEIGHT: f32 = 0.5;

/// The provider `hash`: embeddings only.
#[derive(Debug)]
pub struct Hash;

impl Provider for Hash {
    fn chat<'a>(&'a self, _: &'a ChatRequest, _: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        let text = "the provider `hash` makes embeddings only; choose another provider for chat";
        Box::pin(async move { Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text)) })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(async move {
            let vectors = request.texts.iter().map(|text| embed(text)).collect();
            let prompt = request.texts.iter().map(|text| text.chars().count().div_ceil(4) as u64).sum();
            Ok(Embeddings { vectors, tokens: Some(Tokens { prompt, ..Tokens::default() }) })
        })
    }
}

/// The vector of a text; all zeros when it has no words.
pub fn embed(text: &str) -> Vec<f32> {
    let lower = text.to_lowercase();
    let mut vector = vec![0.0; DIMENSIONS];
    let mut before: Option<&str> = None;
    for word in lower.unicode_words() {
        add(&mut vector, &[word], 1.0);
        if let Some(before) = before {
            add(&mut vector, &[before, " ", word], PAIR_WEIGHT);
        }
        before = Some(word);
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}

fn add(vector: &mut [f32], feature: &[&str], weight: f32) {
    let hash = feature.iter().flat_map(|part| part.bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = hash ^ (hash >> 29);
    let place = (hash % DIMENSIONS as u64) as usize;
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    if let Some(value) = vector.get_mut(place) {
        *value += sign * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(one: &str, other: &str) -> f32 {
        embed(one).iter().zip(embed(other)).map(|(one, other)| one * other).sum()
    }

    #[test]
    fn same_words_are_closer_than_other_words() {
        assert!((likeness("Refund policy", "refund POLICY!") - 1.0).abs() < 1e-5);
        assert!(likeness("how do refunds work", "refunds work like this") > 0.4);
        assert!(likeness("how do refunds work", "cats sleep all day") < 0.2);
        assert_eq!(embed("?!"), vec![0.0; DIMENSIONS]);
    }
}
