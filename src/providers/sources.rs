//! Owns the sources of an answer (search results, cited documents), each reported once.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::reply::{at, text};
use crate::model::hex::hex;
use crate::model::parts::{Source, SourceKind};

/// Sources of one answer, and the letters of an address and of a title.
const MOST: usize = 100;
const ADDRESS: usize = 2048;
const TITLE: usize = 300;
/// Letters of an id.
const ID: usize = 16;

/// Sources in the order in which they were first named.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    pub(super) fn into_list(self) -> Vec<Source> {
        self.0
    }

    fn add(&mut self, source: Source) {
        if let Some(known) = self.0.iter_mut().find(|known| known.source_id == source.source_id) {
            known.title = known.title.take().or(source.title);
        } else if self.0.len() < MOST {
            self.0.push(source);
        }
    }

    /// A page of the web. What is no such address is not a source: people follow it.
    fn page(&mut self, url: &str, title: &str) {
        let is_page = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
        // `https://known@other/` leads to the other.
        let host = url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let readable = !host.contains('@') && !url.chars().any(|letter| is_unseen(letter) || letter.is_whitespace());
        if is_page && url.len() <= ADDRESS && readable {
            let (source_id, url) = (id(url), Some(url.to_owned()));
            self.add(Source { source_id, kind: SourceKind::Url, url, title: titled(title), document_id: None, page: None });
        }
    }

    fn document(&mut self, document: &str, title: &str, page: Option<u64>) {
        if !document.is_empty() || !title.is_empty() {
            let source_id = id(&format!("{document}\n{title}\n{}", page.unwrap_or(0)));
            let document_id = Some(document.chars().take(TITLE).collect::<String>()).filter(|document| !document.is_empty());
            self.add(Source { source_id, kind: SourceKind::Document, url: None, title: titled(title), document_id, page });
        }
    }

    /// What a host names.
    pub(super) fn of_host<'a>(parts: impl Iterator<Item = &'a Value>) -> Self {
        let mut sources = Self::default();
        for part in parts {
            match text(part, "kind") {
                "url" => sources.page(text(part, "url"), text(part, "title")),
                "document" => sources.document(text(part, "document_id"), text(part, "title"), part.get("page").and_then(Value::as_u64)),
                _ => {}
            }
        }
        sources
    }

    /// What Anthropic's search found and what its blocks cite.
    pub(super) fn of_blocks(blocks: &[Value]) -> Self {
        let mut sources = Self::default();
        let searches = blocks.iter().filter(|block| text(block, "type") == "web_search_tool_result");
        for found in searches.filter_map(|block| block.get("content")?.as_array()).flatten() {
            sources.page(text(found, "url"), text(found, "title"));
        }
        for citation in blocks.iter().filter_map(|block| block.get("citations")?.as_array()).flatten() {
            match text(citation, "type") {
                "web_search_result_location" => sources.page(text(citation, "url"), text(citation, "title")),
                "search_result_location" if text(citation, "source").starts_with("http") => {
                    sources.page(text(citation, "source"), text(citation, "title"));
                }
                "search_result_location" => sources.document(text(citation, "source"), text(citation, "title"), None),
                "page_location" | "char_location" | "content_block_location" => {
                    let page = citation.get("start_page_number").and_then(Value::as_u64);
                    sources.document(text(citation, "file_id"), text(citation, "document_title"), page);
                }
                _ => {}
            }
        }
        sources
    }

    /// The annotations of a text, of a response's item or of a chat's message.
    pub(super) fn annotated(&mut self, annotations: Option<&Value>) {
        for annotation in annotations.and_then(Value::as_array).into_iter().flatten() {
            let inner = annotation.get("url_citation").unwrap_or(annotation);
            match text(annotation, "type") {
                "url_citation" => self.page(text(inner, "url"), text(inner, "title")),
                "file_citation" | "container_file_citation" => self.document(text(annotation, "file_id"), text(annotation, "filename"), None),
                _ => {}
            }
        }
    }

    /// Pages that stand in a list beside an answer: addresses, or objects with a title.
    pub(super) fn listed(&mut self, pages: Option<&Value>) {
        for page in pages.and_then(Value::as_array).into_iter().flatten() {
            self.page(page.as_str().unwrap_or_else(|| text(page, "url")), text(page, "title"));
        }
    }

    /// The annotations of the items of a response.
    pub(super) fn of_items(items: &[Value]) -> Self {
        let mut sources = Self::default();
        for part in items.iter().filter_map(|item| item.get("content")?.as_array()).flatten() {
            sources.annotated(part.get("annotations"));
        }
        sources
    }

    /// What Gemini's search or retrieval found.
    pub(super) fn grounded(&mut self, candidate: &Value) {
        let chunks = at(candidate, &["groundingMetadata", "groundingChunks"]).and_then(Value::as_array);
        for chunk in chunks.into_iter().flatten() {
            if let Some(web) = chunk.get("web") {
                self.page(text(web, "uri"), text(web, "title"));
            } else if let Some(found) = chunk.get("retrievedContext") {
                self.document(text(found, "uri"), text(found, "title"), None);
            }
        }
    }
}

fn id(what: &str) -> String {
    let mut id = hex(&Sha256::digest(what));
    id.truncate(ID);
    id
}

/// Letters that are not seen, or turn the direction in which others are read.
fn is_unseen(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    turns || letter.is_control()
}

fn titled(title: &str) -> Option<String> {
    let title: String = title.chars().filter(|letter| !is_unseen(*letter)).take(TITLE).collect();
    Some(title.trim().to_owned()).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(sources: Sources) -> Vec<String> {
        let told = |source: Source| {
            let page = source.page.map(|page| format!(" p{page}")).unwrap_or_default();
            format!("{} {}{page}", source.url.or(source.document_id).unwrap_or_default(), source.title.unwrap_or_default())
        };
        sources.into_list().into_iter().map(told).collect()
    }

    #[test]
    fn each_family_names_its_sources_once() {
        let web = json!({"type": "web_search_result_location", "url": "https://a.example/1", "title": "One", "cited_text": "x", "encrypted_index": "e"});
        let pdf = json!({"type": "page_location", "document_index": 0, "document_title": "Rules.pdf", "start_page_number": 3, "end_page_number": 4});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "url": "https://a.example/0", "title": "Zero", "encrypted_content": "e"}]});
        let blocks = [found, json!({"type": "text", "text": "a", "citations": [web.clone(), pdf]}), json!({"type": "text", "text": "b", "citations": [web]}), json!({"type": "text", "citations": null})];
        assert_eq!(lines(Sources::of_blocks(&blocks)), ["https://a.example/0 Zero", "https://a.example/1 One", " Rules.pdf p3"]);
        let items = [json!({"type": "message", "content": [{"type": "output_text", "text": "a", "annotations": [
            {"type": "url_citation", "url": "https://b.example", "title": "B", "start_index": 0, "end_index": 1},
            {"type": "file_citation", "file_id": "file-1", "filename": "f.md", "index": 0}]}]})];
        assert_eq!(lines(Sources::of_items(&items)), ["https://b.example B", "file-1 f.md"]);
        let mut chat = Sources::default();
        chat.annotated(Some(&json!([{"type": "url_citation", "url_citation": {"url": "https://c.example", "title": "C"}}])));
        assert_eq!(lines(chat), ["https://c.example C"]);
        let mut gemini = Sources::default();
        let found = json!({"groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://d.example", "title": "D"}}, {"retrievedContext": {"uri": "gs://b/e.pdf", "title": "E"}}]}});
        gemini.grounded(&found);
        gemini.grounded(&found);
        assert_eq!(lines(gemini), ["https://d.example D", "gs://b/e.pdf E"]);
    }

    #[test]
    fn a_page_that_is_listed_twice_has_the_title_that_one_of_both_has() {
        let mut listed = Sources::default();
        listed.listed(Some(&json!(["https://a.example", "https://b.example", "nowhere", 7])));
        listed.listed(Some(&json!([{"url": "https://b.example", "title": "B", "date": null}, {"url": "https://c.example", "title": "C"}])));
        listed.listed(Some(&json!([{"url": "https://b.example", "title": "Other"}])));
        listed.listed(Some(&json!("https://d.example")));
        assert_eq!(lines(listed), ["https://a.example ", "https://b.example B", "https://c.example C"]);
    }

    #[test]
    fn what_nobody_should_follow_is_no_source() {
        let mut sources = Sources::default();
        for url in ["javascript:alert(1)", "data:text/html,x", "https://a b", "", "file:///etc/passwd"] {
            sources.annotated(Some(&json!([{"type": "url_citation", "url": url, "title": "T"}])));
        }
        let many: Vec<Value> = (0..200).map(|n| json!({"type": "url_citation", "url": format!("https://a.example/{n}"), "title": "é".repeat(1000)})).collect();
        assert_eq!(lines(std::mem::take(&mut sources)), Vec::<String>::new());
        sources.annotated(Some(&Value::from(many)));
        let list = sources.into_list();
        assert_eq!((list.len(), list[0].title.as_ref().map(|title| title.chars().count())), (MOST, Some(TITLE)));
    }
}
