//! Knowledge bases: documents become chunks, questions find them, from nodes and over HTTP; offline, with the embeddings of `hash`.

#[cfg(feature = "documents")]
mod archive;
mod documents;
mod fair;
mod http;
mod languages;
mod node;
#[cfg(feature = "documents")]
mod office;
#[cfg(feature = "documents")]
mod pdf;
#[cfg(feature = "postgres")]
mod pgvector;
mod places;
mod reindex;
mod rerank;
mod search;

use serde_json::{Value, json};
use wfstudio::studio::{Resource, Upload};

use crate::support::Bench;

/// A studio that reads documents at once.
fn bench(settings: Value) -> Bench {
    let mut all = json!({"rag": {"async_ingest": false}});
    crate::support::merge(&mut all, settings);
    Bench::new(all)
}

impl Bench {
    /// Makes a base; its id.
    async fn base(&self, body: Value) -> String {
        let mut all = json!({"name": "Docs"});
        crate::support::merge(&mut all, body);
        let made = self.studio.create(&self.scope, Resource::KnowledgeBase, &all).await;
        made.unwrap_or_else(|error| panic!("{error} {:?}", error.members))["id"].as_str().expect("an id").to_owned()
    }

    async fn get_base(&self, base: &str) -> Value {
        self.studio.get(&self.scope, Resource::KnowledgeBase, base).await.expect("a base")
    }

    /// Adds a text.
    async fn add(&self, base: &str, name: &str, text: &str) -> Value {
        self.add_with(base, json!({"name": name, "text": text})).await
    }

    async fn add_with(&self, base: &str, body: Value) -> Value {
        self.studio.add_text(&self.scope, base, &body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members))
    }

    async fn add_file(&self, base: &str, name: &str, mime: Option<&str>, bytes: &[u8]) -> wfstudio::Result<Value> {
        let upload =
            Upload { name: Some(name.to_owned()), mime_type: mime.map(str::to_owned), kind: None, bytes: bytes.to_vec().into() };
        self.studio.add_file(&self.scope, base, &upload, None).await
    }

    async fn document(&self, base: &str, id: &Value) -> Value {
        self.studio.document(&self.scope, base, id.as_str().expect("an id")).await.expect("a document")
    }

    async fn ask(&self, base: &str, body: Value) -> Value {
        self.studio.search(&self.scope, base, &body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members))
    }

    /// The names of the documents that answer, best first, with their scores.
    async fn names(&self, base: &str, body: Value) -> Vec<String> {
        let found = self.ask(base, body).await;
        let told = |chunk: &Value| format!("{} {:.2}", chunk["source_name"].as_str().unwrap_or("?"), chunk["score"].as_f64().unwrap_or(-1.0));
        found["results"].as_array().expect("results").iter().map(told).collect()
    }

    /// Waits until a document came to rest.
    async fn rested(&self, base: &str, id: &Value) -> Value {
        let mut patience = patience();
        loop {
            let document = self.document(base, id).await;
            if !["pending", "processing"].contains(&document["status"].as_str().expect("a status")) {
                return document;
            }
            patience.wait().await;
        }
    }
}

const REFUNDS: &str = "Refund policy. You can get a refund within thirty days. Refunds go to the card that was charged.";
const CATS: &str = "Cats sleep most of the day. A cat purrs when it is content.";
const SHIPPING: &str = "Shipping takes three days. Parcels are sent from the warehouse in Lisbon.";

/// Looks again soon, but not for ever.
struct Patience(std::time::Instant);

fn patience() -> Patience {
    Patience(std::time::Instant::now())
}

impl Patience {
    async fn wait(&mut self) {
        assert!(self.0.elapsed().as_secs() < 60, "what was waited for did not happen");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

/// Three documents.
async fn three(bench: &Bench) -> String {
    let base = bench.base(json!({})).await;
    bench.add_with(&base, json!({"name": "refunds.md", "text": REFUNDS, "metadata": {"lang": "en", "year": 2024}})).await;
    bench.add_with(&base, json!({"name": "cats.txt", "text": CATS, "metadata": {"lang": "en", "year": 2020}})).await;
    bench.add_with(&base, json!({"name": "shipping", "text": SHIPPING, "metadata": {"lang": "pt"}})).await;
    base
}
