//! Owns the tool that searches one knowledge base.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::knowledge_search::{Chunk, Found, SearchDoor, SearchError, SearchQuery};
use super::{Tool, ToolInvocation, ToolReply};

/// A stored search.
#[derive(Clone)]
pub struct RagTool {
    door: SearchDoor,
    config: Map<String, Value>,
}

impl RagTool {
    /// The search of a stored configuration.
    #[must_use]
    pub fn read(config: &Value, door: &SearchDoor) -> Self {
        Self { door: door.clone(), config: config.as_object().cloned().unwrap_or_default() }
    }

    /// What a use says of the search wins over what is stored, except for which base it is.
    fn query(&self, call: &ToolInvocation, question: &str) -> SearchQuery {
        let setting = |key: &str| call.config.get(key).or_else(|| self.config.get(key)).filter(|value| !value.is_null());
        SearchQuery {
            knowledge_base: self.config.get("knowledge_base_id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            query: question.to_owned(),
            top_k: setting("top_k").and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok()),
            threshold: setting("threshold").and_then(Value::as_f64),
            mode: setting("mode").and_then(Value::as_str).map(str::to_owned),
            rerank: setting("rerank").and_then(Value::as_object).cloned(),
            filter: setting("filter").and_then(Value::as_object).filter(|filter| !filter.is_empty()).cloned(),
            trace: call.trace.clone(),
        }
    }

    async fn answer(&self, call: &ToolInvocation) -> ToolReply {
        let question = call.arguments.get("query").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let Some(question) = question else { return ToolReply::error("`query` is missing: say what to look for") };
        match self.door.search(&call.tenant, &self.query(call, question), &call.spent).await {
            Ok(found) => reply(question, &found),
            Err(SearchError::Missing(text) | SearchError::Failed(text)) => ToolReply::error(text),
        }
    }
}

/// The result of a rag node, without what a model does not read.
fn reply(question: &str, found: &Found) -> ToolReply {
    let sources = found.results.iter().enumerate();
    let source = |(at, chunk): (usize, &Chunk)| {
        let mut source = Map::new();
        source.insert("n".into(), json!(at + 1));
        source.insert("source".into(), json!(chunk.source_name));
        source.insert("score".into(), json!(chunk.score));
        source.insert("document_id".into(), json!(chunk.document_id));
        source.insert("position".into(), json!(chunk.position));
        chunk.add_place(&mut source);
        Value::Object(source)
    };
    let sources: Vec<Value> = sources.map(source).collect();
    ToolReply::value(&json!({"query": question, "context": found.context, "chunk_count": sources.len(), "sources": sources, "knowledge_base_id": found.knowledge_base_id}))
}

impl Tool for RagTool {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let tool = self.clone();
        Box::pin(async move { tool.answer(&call).await })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::model::Id;
    use crate::model::chat::Tokens;
    use crate::sync::Mutex;
    use crate::tools::SpentList;
    use crate::tools::knowledge_search::Search;

    /// Finds one chunk in the base `docs` and remembers what it was asked.
    #[derive(Default)]
    struct Shelf(Mutex<Vec<(String, SearchQuery)>>);

    impl Search for Shelf {
        fn search<'a>(&'a self, tenant: &'a str, query: &'a SearchQuery, spent: &'a SpentList) -> BoxFuture<'a, Result<Found, SearchError>> {
            self.0.lock().push((tenant.to_owned(), query.clone()));
            let missing = SearchError::Missing(format!("there is no knowledge base `{}`", query.knowledge_base));
            let chunk = Chunk {
                id: "c".into(),
                document_id: "d".into(),
                content: "Refunds take 30 days.".into(),
                score: 0.5,
                source_type: "file".into(),
                source_name: "faq.md".into(),
                position: 0,
                page: Some(2),
                heading: None,
                sheet: None,
                metadata: Map::new(),
            };
            let at = spent.begin("hash", "hash-256", false);
            if query.query == "in line" {
                return Box::pin(std::future::pending());
            }
            spent.made(at);
            if query.query == "for ever" {
                return Box::pin(std::future::pending());
            }
            spent.end(at, Some(Tokens { prompt: 3, ..Tokens::default() }), true);
            let found = Found { knowledge_base_id: "1".into(), results: vec![chunk], context: "[1] Refunds take 30 days.".into(), top_score: 0.5, warnings: Vec::new() };
            let answer = if query.knowledge_base == "docs" { Ok(found) } else { Err(missing) };
            Box::pin(async move { answer })
        }
    }

    fn call(arguments: Value, config: Value) -> ToolInvocation {
        ToolInvocation {
            name: "find".into(),
            arguments,
            call_id: "c1".into(),
            run: Id::v7(1, 2, 3),
            node_id: "n".into(),
            tenant: "acme".into(),
            user: None,
            config: config.as_object().cloned().unwrap_or_default(),
            timeout: Duration::from_secs(1),
            asking: crate::tools::Asking::Never,
            trace: None,
            spent: SpentList::default(),
            cancelled: tokio_util::sync::CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn what_a_search_took_is_known_when_it_is_cut_short() {
        let door = SearchDoor::default();
        door.set(Arc::new(Shelf::default()));
        let tool = RagTool::read(&json!({"knowledge_base_id": "docs"}), &door);
        for (query, tokens) in [("for ever", Some(None)), ("in line", None)] {
            let asked = call(json!({ "query": query }), json!({}));
            let spent = asked.spent.clone();
            let cut = tokio::time::timeout(Duration::from_millis(10), tool.call(asked)).await;
            assert!(cut.is_err());
            assert_eq!(spent.list(), [crate::tools::Spent { provider: "hash".into(), model: "hash-256".into(), tokens, ranks: false, failed: None }]);
        }
    }

    #[tokio::test]
    async fn a_search_is_asked_and_told() {
        let (shelf, door) = (Arc::new(Shelf::default()), SearchDoor::default());
        door.set(shelf.clone());
        let stored = json!({"knowledge_base_id": "docs", "top_k": 3, "threshold": 0.2, "filter": {"lang": "en"}});
        let tool = RagTool::read(&stored, &door);
        let asked = call(json!({"query": " refunds? "}), json!({"top_k": 1, "knowledge_base_id": "other"}));
        let spent = asked.spent.clone();
        let reply = tool.call(asked).await;
        let told = r#"{"query":"refunds?","context":"[1] Refunds take 30 days.","chunk_count":1,"sources":[{"n":1,"source":"faq.md","score":0.5,"document_id":"d","position":0,"page":2}],"knowledge_base_id":"1"}"#;
        assert_eq!((reply.text.as_str(), reply.is_error), (told, false));
        assert_eq!(spent.list()[0].tokens.flatten().map(|tokens| tokens.prompt), Some(3));
        let (tenant, asked) = shelf.0.lock().pop().expect("a question");
        let wanted = SearchQuery {
            knowledge_base: "docs".into(),
            query: "refunds?".into(),
            top_k: Some(1),
            threshold: Some(0.2),
            mode: None,
            rerank: None,
            filter: json!({"lang": "en"}).as_object().cloned(),
            trace: None,
        };
        assert_eq!((tenant.as_str(), asked), ("acme", wanted));
    }

    #[tokio::test]
    async fn what_cannot_be_found_is_an_error() {
        let door = SearchDoor::default();
        let tool = RagTool::read(&json!({"knowledge_base_id": "gone"}), &door);
        assert_eq!(tool.call(call(json!({"query": "x"}), json!({}))).await.text, "nothing searches knowledge bases here");
        door.set(Arc::new(Shelf::default()));
        let asked = call(json!({"query": "x"}), json!({}));
        let spent = asked.spent.clone();
        let reply = tool.call(asked).await;
        assert_eq!((reply.text.as_str(), reply.is_error, spent.list().len()), ("there is no knowledge base `gone`", true, 1));
        assert_eq!(tool.call(call(json!({"query": " "}), json!({}))).await, ToolReply::error("`query` is missing: say what to look for"));
    }
}
