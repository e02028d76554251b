//! Citations lead to the document: to the chunk that was cited, at its page, heading or sheet, and to the file itself; whatever the file says.

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use super::bench;
use crate::support::Bench;

struct Answer {
    status: u16,
    headers: http::HeaderMap,
    text: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

async fn open(bench: &Bench, path: &str, marks: HostMarks) -> Answer {
    open_in(bench, path, marks, ["text/html", ""]).await
}

async fn open_in(bench: &Bench, path: &str, marks: HostMarks, [accept, cookie]: [&str; 2]) -> Answer {
    ask(bench, path, marks, &[("accept", accept), ("cookie", cookie)]).await
}

async fn ask(bench: &Bench, path: &str, marks: HostMarks, headers: &[(&str, &str)]) -> Answer {
    let request = Request::builder().uri(format!("/studio/api/knowledge-bases/{path}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(Bytes::new());
    let answer = dispatch(&bench.studio, request.expect("a request"), marks).await;
    let (head, body) = answer.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    Answer { status: head.status.as_u16(), headers: head.headers, text: String::from_utf8_lossy(&bytes).into_owned() }
}

/// The address that a citation of a chunk leads to, as the pages write it.
fn way(base: &str, chunk: &Value) -> String {
    let text = |key: &str| chunk.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let asked: Vec<String> = ["position", "page", "heading", "sheet"]
        .into_iter()
        .filter_map(|key| Some(format!("{key}={}", percent_encoding::utf8_percent_encode(&text(key)?, percent_encoding::NON_ALPHANUMERIC))))
        .collect();
    format!("{base}/documents/{}/text?{}", text("document_id").expect("a document"), asked.join("&"))
}

fn here(page: &str) -> &str {
    let from = page.split_once(" id=\"here\" class=\"here\">").unwrap_or_else(|| panic!("nothing is marked: {page}")).1;
    from.split_once("</p>").expect("an end").0
}

const GUIDE: &str = "# Guide\n\nWelcome to the guide.\n\n## Refunds\n\nRefunds take thirty days.\n\n## Parcels\n\nParcels are sent from Lisbon.\n";

#[tokio::test]
async fn a_citation_leads_to_its_chunk_also_after_the_document_was_read_anew() {
    let bench = bench(json!({}));
    let base = bench.base(json!({"chunking": {"max_words": 6, "overlap_words": 0}})).await;
    let document = bench.add(&base, "guide.md", GUIDE).await;
    let found = bench.ask(&base, json!({"query": "parcels from Lisbon", "top_k": 1, "mode": "text"})).await;
    let chunk = found["results"][0].clone();
    assert_eq!((&chunk["heading"], &chunk["position"]), (&json!("Guide > Parcels"), &json!(2)), "{chunk}");
    let page = open(&bench, &way(&base, &chunk), HostMarks::default()).await;
    assert_eq!((page.status, page.header("content-type"), page.header("x-content-type-options")), (200, "text/html; charset=utf-8", "nosniff"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"), "{:?}", page.headers);
    assert!(here(&page.text).contains("Parcels are sent") && page.text.contains("Guide &gt; Parcels") && page.text.contains("Refunds take"), "{}", page.text);
    // Larger chunks: the position is another one, the heading is the same.
    bench.studio.put(&bench.scope, wfstudio::studio::Resource::KnowledgeBase, &base, &json!({"name": "Docs", "chunking": {"max_words": 3}}), None)
        .await
        .expect("stored");
    bench.studio.reindex_document(&bench.scope, &base, document["id"].as_str().expect("an id")).await.expect("read anew");
    let page = open(&bench, &way(&base, &chunk), HostMarks::default()).await;
    assert!(here(&page.text).contains("Parcels"), "{}", page.text);
    let far = open(&bench, &format!("{base}/documents/{}/text?position=999999&page=x", document["id"].as_str().expect("an id")), HostMarks::default()).await;
    assert_eq!((far.status, here(&far.text).is_empty()), (200, false));
}

#[tokio::test]
async fn a_sheet_and_a_row_are_found_and_long_documents_are_shown_in_part() {
    let bench = bench(json!({}));
    let base = bench.base(json!({"chunking": {"max_words": 5, "overlap_words": 0}})).await;
    let text: String = (0..200).map(|n| format!("Sentence number {n} says this.\n\n")).collect();
    let document = bench.add(&base, "long.txt", &text).await;
    let id = document["id"].as_str().expect("an id");
    let page = open(&bench, &format!("{base}/documents/{id}/text?position=100"), HostMarks::default()).await;
    assert_eq!(here(&page.text), "Sentence number 100 says this.");
    assert_eq!(page.text.matches("<p").count(), 40);
    assert!(page.text.contains("text?position=89#here") && page.text.contains("text?position=130#here"), "{}", page.text);
}

#[tokio::test]
async fn hostile_documents_are_text_or_files_and_no_pages() {
    let bench = bench(json!({}));
    let base = bench.base(json!({})).await;
    let evil = "<h1>Hi</h1><script>alert(1)</script><p>&lt;img src=x onerror=alert(2)&gt; is written here.</p>";
    let made = bench.add_file(&base, "<b>\"evil\".html", Some("text/html"), evil.as_bytes()).await.expect("a document");
    let id = made["id"].as_str().expect("an id");
    let page = open(&bench, &format!("{base}/documents/{id}/text"), HostMarks::default()).await;
    assert!(page.text.contains("&lt;img src=x") && !page.text.contains("<img") && !page.text.contains("<script") && !page.text.contains("<b>"), "{}", page.text);
    let file = open(&bench, &format!("{base}/documents/{id}/original"), HostMarks::default()).await;
    assert_eq!((file.status, file.text.as_str(), file.header("content-security-policy")), (200, evil, "sandbox"));
    assert!(file.header("content-disposition").starts_with("attachment;"), "{:?}", file.headers);
    assert_eq!(file.header("x-content-type-options"), "nosniff");
    let path = format!("{base}/documents/{id}/original");
    for (asked, status, text, range) in [
        (("range", "bytes=4-5"), 206, "Hi", Some("bytes 4-5/")),
        (("range", "bytes=-5"), 206, ".</p>", None),
        (("range", "bytes=9999-"), 416, "", Some("bytes */")),
        (("if-none-match", &*format!("\"{id}\"")), 304, "", None),
    ] {
        let part = ask(&bench, &path, HostMarks::default(), &[asked]).await;
        assert_eq!((part.status, part.text.as_str()), (status, text), "{asked:?}");
        assert!(range.is_none_or(|range| part.header("content-range").starts_with(range)), "{:?}", part.headers);
    }
    for name in ["original", "text"] {
        let path = format!("{base}/documents/{id}/{name}");
        let other = HostMarks { tenant: "other".into(), ..HostMarks::default() };
        assert_eq!(open(&bench, &path, other).await.status, 404, "another tenant's {name}");
        let other = bench.base(json!({"name": format!("Other {name}")})).await;
        assert_eq!(open(&bench, &format!("{other}/documents/{id}/{name}"), HostMarks::default()).await.status, 404, "another base's {name}");
    }
    bench.studio.delete_document(&bench.scope, &base, id).await.expect("deleted");
    assert_eq!(open(&bench, &format!("{base}/documents/{id}/text"), HostMarks::default()).await.status, 404);
}

#[cfg(feature = "documents")]
#[tokio::test]
async fn a_page_of_a_pdf_leads_to_that_page_of_the_file() {
    let bench = bench(json!({}));
    let base = bench.base(json!({})).await;
    let made = bench.add_file(&base, "two.pdf", None, &super::pdf::pages(&["The first page.", "Refunds are on this one."])).await.expect("a document");
    assert_eq!(made["status"], json!("completed"), "{made}");
    let found = bench.ask(&base, json!({"query": "refunds", "top_k": 1, "mode": "text"})).await;
    let chunk = &found["results"][0];
    assert_eq!(chunk["page"], json!(2), "{chunk}");
    let page = open(&bench, &way(&base, chunk), HostMarks::default()).await;
    assert!(here(&page.text).contains("Refunds") && page.text.contains("href=\"original#page=2\""), "{}", page.text);
    let path = format!("{base}/documents/{}/original", made["id"].as_str().expect("an id"));
    let file = open(&bench, &path, HostMarks::default()).await;
    assert_eq!((file.header("content-type"), file.header("content-disposition")), ("application/pdf", "inline"));
    assert!(file.header("content-security-policy").starts_with("default-src 'none'"));
}

#[tokio::test]
async fn a_document_that_is_not_there_is_a_page_in_the_language_of_the_one_who_opens_it() {
    let bench = bench(json!({}));
    let base = bench.base(json!({})).await;
    for (name, cookie) in [("text", "studio_locale=pt_BR"), ("original", "studio_locale=pt_BR"), ("text", "")] {
        let path = format!("{base}/documents/gone/{name}");
        let page = open_in(&bench, &path, HostMarks::default(), ["text/html,*/*;q=0.8", cookie]).await;
        assert_eq!((page.status, page.header("content-type")), (404, "text/html; charset=utf-8"));
        let told = if cookie.is_empty() { "there is no document" } else { "não existe o documento" };
        assert!(page.text.contains(told) && page.text.contains("href=\"../../../../../workflows\""), "{}", page.text);
        let told = open_in(&bench, &path, HostMarks::default(), ["*/*", cookie]).await;
        assert_eq!((told.status, told.header("content-type")), (404, "application/problem+json"), "a program is told a problem");
    }
    let made = bench.add(&base, "a.txt", "Some text.").await;
    let path = format!("{base}/documents/{}/text", made["id"].as_str().expect("an id"));
    let page = open_in(&bench, &path, HostMarks::default(), ["text/html", "studio_locale=pt_BR"]).await;
    assert!(page.text.contains(r#"<html lang="pt-BR">"#), "{}", page.text);
}

#[tokio::test]
async fn a_document_without_text_says_why() {
    let bench = bench(json!({"providers": {"broken": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "max_retries": 0}}}));
    let base = bench.base(json!({"embeddings_provider": "broken", "embeddings_model": "m"})).await;
    let made = bench.add(&base, "a.txt", "Some <b>text</b>.").await;
    let page = open(&bench, &format!("{base}/documents/{}/text", made["id"].as_str().expect("an id")), HostMarks::default()).await;
    assert!(page.status == 200 && page.text.contains("reached"), "{} {}", made["error"], page.text);
    let path = format!("{base}/documents/{}/text", made["id"].as_str().expect("an id"));
    let page = open_in(&bench, &path, HostMarks::default(), ["text/html", "studio_locale=pt_BR"]).await;
    assert!(page.text.contains("não pôde ser alcançado"), "{}", page.text);
}
