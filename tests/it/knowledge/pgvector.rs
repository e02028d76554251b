//! Vectors that a PostgreSQL server with pgvector compares: the same answers, whatever becomes of the extension. Each test has a database of its own.

use std::collections::HashSet;

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio_postgres::NoTls;
use wfstudio::studio::{Resource, Scope};

use super::bench;
use crate::support::Bench;

/// Numbers of a vector.
const LENGTH: u64 = 48;

/// A database on the server of the tests; none where tests run on files, or the server has no pgvector to install.
struct Server {
    url: String,
    embeddings: String,
}

impl Server {
    async fn new() -> Option<Self> {
        let url = std::env::var("STUDIO_TEST_DATABASE_URL").ok()?;
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        let (before, after) = url.rsplit_once('/').expect("the name of a database");
        let settings = after.split_once('?').map_or(String::new(), |(_, settings)| format!("?{settings}"));
        let there = client(&url).await;
        let available = there.query("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'", &[]).await.expect("a list");
        if available.is_empty() {
            assert!(std::env::var_os("STUDIO_TEST_PGVECTOR").is_none(), "pgvector is not installed");
            return None;
        }
        there.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
        Some(Self { url: format!("{before}/{name}{settings}"), embeddings: serve().await })
    }

    /// The extension lies in a schema that no path names.
    async fn extend(&self) {
        self.run("CREATE SCHEMA \"Ext en's\"; CREATE EXTENSION vector SCHEMA \"Ext en's\"").await;
    }

    async fn run(&self, sql: &str) {
        client(&self.url).await.batch_execute(sql).await.expect(sql);
    }

    async fn count(&self, sql: &str) -> i64 {
        client(&self.url).await.query_one(sql, &[]).await.expect(sql).get(0)
    }

    /// A studio on it; nothing is copied until it is asked for.
    fn studio(&self, how: &str) -> Bench {
        bench(json!({
            "database": {"url": self.url}, "rag": {"pgvector": how}, "worker": {"in_process": false}, "table_prefix": "s_",
            "providers": {"numbers": {"kind": "openai-compatible", "base_url": self.embeddings}},
        }))
    }
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// `r<n>` is any vector, `c<n>` one of twenty clusters; the model `m<length>` gives vectors of this length.
async fn embed(Json(body): Json<Value>) -> Json<Value> {
    let length: u64 = body["model"].as_str().and_then(|model| model[1..].parse().ok()).expect("a length");
    let numbers = |seed: u64, by: f64| (0..length).map(move |at| (number(seed, at) * by, at));
    let vector = |text: &str| -> Vec<f64> {
        let n: u64 = text[1..].trim_end_matches('.').parse().expect("a number");
        let is_clustered = text.starts_with('c');
        numbers(n, if is_clustered { 0.3 } else { 1.0 }).map(|(own, at)| own + if is_clustered { number(1_000_000 + n % 20, at) } else { 0.0 }).collect()
    };
    let texts = body["input"].as_array().expect("texts").iter().filter_map(Value::as_str);
    let data: Vec<Value> = texts.enumerate().map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
    Json(json!({"data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}))
}

/// Between -1 and 1.
fn number(seed: u64, at: u64) -> f64 {
    let mut state = (seed << 20 | at).wrapping_add(0x9e37_79b9_7f4a_7c15);
    for multiply in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        state = (state ^ state >> 30).wrapping_mul(multiply);
    }
    (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

async fn serve() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let router = Router::new().route("/v1/embeddings", post(embed));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

impl Bench {
    async fn of_numbers(&self, name: &str) -> String {
        let body = json!({
            "name": name, "embeddings_provider": "numbers", "embeddings_model": format!("m{LENGTH}"),
            "chunking": {"max_words": 1, "overlap_words": 0},
        });
        self.base(body).await
    }

    /// A document of passages `<kind><n>`.
    async fn add_numbers(&self, base: &str, kind: char, numbers: std::ops::Range<u64>) -> Value {
        let text: Vec<String> = numbers.clone().map(|n| format!("{kind}{n}.")).collect();
        let metadata = json!({"kind": kind.to_string(), "first": numbers.start});
        self.add_with(base, json!({"name": format!("{kind}{}", numbers.start), "text": text.join("\n\n"), "metadata": metadata})).await
    }

    async fn copy(&self) {
        self.studio.world().knowledge.copy_vectors().await.expect("copied");
    }

    /// Texts and scores of the ten nearest.
    async fn ten(&self, base: &str, query: &str, filter: &Value) -> Vec<(String, f64)> {
        let found = self.ask(base, json!({"query": query, "mode": "vector", "top_k": 10, "filter": filter})).await;
        let one = |chunk: &Value| (chunk["content"].as_str().expect("a text").to_owned(), chunk["score"].as_f64().expect("a score"));
        found["results"].as_array().expect("results").iter().map(one).collect()
    }
}

/// Both find the same; how many of how many.
async fn agree(one: &Bench, other: &Bench, base: &str, filters: &[Value]) -> (usize, usize) {
    let (mut hits, mut all) = (0, 0);
    for n in 0..12 {
        for kind in ['r', 'c'] {
            for filter in filters {
                let query = format!("{kind}{}", 500_000 + n);
                let (found, wanted) = (one.ten(base, &query, filter).await, other.ten(base, &query, filter).await);
                assert_eq!(found.len(), wanted.len(), "{query} {filter}");
                let wanted: HashSet<String> = wanted.into_iter().map(|(text, _)| text).collect();
                hits += found.iter().filter(|(text, _)| wanted.contains(text)).count();
                all += wanted.len();
            }
        }
    }
    (hits, all)
}

fn filters() -> [Value; 4] {
    [json!({}), json!({"kind": "r"}), json!({"kind": "c", "first": {"lt": 200}}), json!({"first": 300})]
}

async fn two_kinds(bench: &Bench, base: &str) {
    for first in (0..500).step_by(100) {
        for kind in ['r', 'c'] {
            bench.add_numbers(base, kind, first..first + 100).await;
        }
    }
}

#[tokio::test]
async fn the_server_finds_what_an_exact_search_finds_also_with_filters() {
    let Some(server) = Server::new().await else { return };
    server.extend().await;
    let (pgvector, exact) = (server.studio("always"), server.studio("off"));
    let base = pgvector.of_numbers("Numbers").await;
    two_kinds(&pgvector, &base).await;
    pgvector.copy().await;
    assert_eq!(server.count("SELECT count(*) FROM s_nearest").await, 1_000);
    let (hits, all) = agree(&pgvector, &exact, &base, &filters()).await;
    assert!(all > 900 && hits * 100 >= all * 99, "{hits} of {all}");
    // The server alone: no process reads compact copies any more.
    let wanted = exact.ten(&base, "c500001", &json!({})).await;
    server.run("DELETE FROM s_codes").await;
    assert!(server.studio("off").ten(&base, "c500001", &json!({})).await.is_empty());
    assert!(server.studio("auto").ten(&base, "c500001", &json!({})).await.is_empty(), "a small base is searched in memory");
    assert_eq!(server.studio("always").ten(&base, "c500001", &json!({})).await, wanted);
}

#[tokio::test]
async fn the_server_shows_a_tenant_only_its_own_passages() {
    let Some(server) = Server::new().await else { return };
    server.extend().await;
    let one = server.studio("always");
    let other = Bench { scope: Scope { tenant: "other".into(), user: None }, ..server.studio("always") };
    let (base, same) = (one.of_numbers("Numbers").await, other.of_numbers("Numbers").await);
    one.add_numbers(&base, 'r', 0..100).await;
    other.add_numbers(&same, 'r', 50..150).await;
    let second = one.of_numbers("Second").await;
    one.add_numbers(&second, 'r', 90..95).await;
    one.copy().await;
    assert_eq!(server.count("SELECT count(*) FROM s_nearest").await, 205);
    for n in [0_u64, 60, 92, 120] {
        for (bench, base, has) in [(&one, &base, 0..100_u64), (&other, &same, 50..150), (&one, &second, 90..95)] {
            let found = bench.ten(base, &format!("r{n}"), &json!({})).await;
            let numbers: Vec<u64> = found.iter().map(|(text, _)| text[1..].trim_end_matches('.').parse().expect("a number")).collect();
            assert!(numbers.iter().all(|found| has.contains(found)), "{numbers:?}");
            assert_eq!(numbers.first() == Some(&n), has.contains(&n));
        }
    }
}

#[tokio::test]
async fn answers_stay_right_whatever_becomes_of_the_extension() {
    let Some(server) = Server::new().await else { return };
    let (pgvector, exact) = (server.studio("always"), server.studio("off"));
    let base = pgvector.of_numbers("Numbers").await;
    two_kinds(&pgvector, &base).await;
    let same = async |when: &str| {
        let (hits, all) = agree(&pgvector, &exact, &base, &filters()[..2]).await;
        assert!(all > 400 && hits * 100 >= all * 99, "{when}: {hits} of {all}");
    };
    let tables = "SELECT count(*) FROM pg_class WHERE relname = 's_nearest'";
    pgvector.copy().await;
    assert_eq!(server.count(tables).await, 0);
    same("no extension").await;
    server.extend().await;
    same("no copies").await;
    exact.copy().await;
    assert_eq!(server.count(tables).await, 0, "a process with `off` copies nothing");
    pgvector.copy().await;
    same("added later").await;
    // A document that a process without pgvector stored is found before its vectors are copied.
    let added = exact.add_numbers(&base, 'c', 600..650).await;
    assert_eq!(pgvector.ten(&base, "c620", &json!({})).await[0].0, "c620.");
    same("without some copies").await;
    pgvector.copy().await;
    assert_eq!(server.count("SELECT count(*) FROM s_nearest").await, 1_050);
    assert_eq!(pgvector.ten(&base, "c620", &json!({})).await[0].0, "c620.");
    // A process with `off` deletes it.
    exact.studio.delete_document(&exact.scope, &base, added["id"].as_str().expect("an id")).await.expect("deleted");
    assert_ne!(pgvector.ten(&base, "c620", &json!({})).await[0].0, "c620.");
    same("without a document").await;
    // What a later version may do to the table, or a hand.
    server.run("ALTER TABLE s_nearest RENAME COLUMN edition TO other").await;
    same("a table of another shape").await;
    server.run("DROP EXTENSION vector CASCADE").await;
    same("removed").await;
    pgvector.copy().await;
    same("removed, and nothing to copy").await;
    server.run("CREATE EXTENSION vector").await;
    same("back").await;
    pgvector.copy().await;
    assert!(server.count("SELECT count(*) FROM s_nearest").await >= 1_000, "the table is made anew");
    same("copied again").await;
    server.run("DROP TABLE s_nearest").await;
    same("a dump without the table").await;
}

#[tokio::test]
async fn a_reindexed_base_is_searched_by_its_vectors_of_another_length() {
    let Some(server) = Server::new().await else { return };
    server.extend().await;
    let (pgvector, exact) = (server.studio("always"), server.studio("off"));
    let base = pgvector.of_numbers("Numbers").await;
    two_kinds(&pgvector, &base).await;
    pgvector.copy().await;
    let patch = json!({"embeddings_model": "m80"});
    pgvector.studio.patch(&pgvector.scope, Resource::KnowledgeBase, &base, &patch, None).await.expect("patched");
    let (hits, all) = agree(&pgvector, &exact, &base, &filters()).await;
    assert!(hits * 100 >= all * 99, "before: {hits} of {all}");
    pgvector.studio.reindex_base(&pgvector.scope, &base).await.expect("reindexed");
    for copied in [false, true] {
        if copied {
            pgvector.copy().await;
        }
        let (hits, all) = agree(&pgvector, &exact, &base, &filters()).await;
        assert!(hits * 100 >= all * 99, "copied {copied}: {hits} of {all}");
    }
    assert_eq!(server.count("SELECT count(DISTINCT edition) FROM s_nearest WHERE \"Ext en's\".vector_dims(vector) = 80").await, 1);
}
