//! Owns the routes that show a stored document: the original file, and a page with its text around a citation.

use std::fmt::Write as _;

use axum::response::Response;
use http::{HeaderValue, header};

use super::attachments;
use crate::error::Result;
use crate::http::call::Call;
use crate::http::problem::Asker;
use crate::http::table::{Gives, Route};
use crate::http::{details, pages, range};
use crate::store::knowledge::passages::Place;
use crate::studio::{DocumentLocation, DocumentText};

/// Browsers show a PDF in a viewer of their own, which scripts of the file do not leave; nothing else of a document is shown in place.
const PDF: &str = "application/pdf";
/// Of a PDF: viewers are parts of the page that shows it, and need what a sandbox takes away.
const VIEWER: &str = "default-src 'none'; object-src 'self'; plugin-types application/pdf; style-src 'unsafe-inline'";
/// Of the page of a text: nothing but its own style.
const STYLED: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

pub(super) fn routes(document: &str) -> Vec<Route> {
    vec![
        Route::get(format!("{document}/original"), "readDocument", original).gives_file(),
        Route::get(format!("{document}/text"), "readDocumentText", text)
            .query(&["position", "page", "heading", "sheet"])
            .gives(200, Gives::Page),
    ]
}

/// Is it an address that a browser opens by itself?
pub(in crate::http) fn is_opened(path: &str) -> bool {
    path.contains("/documents/") && (path.ends_with("/text") || path.ends_with("/original"))
}

async fn original(call: Call) -> Result<Response> {
    let id = call.part("document");
    let (tag, asked) = (id.to_ascii_lowercase(), call.headers.clone());
    let file = call.studio.document_original(&call.scope, call.part("id"), id, move |size| range::section(&tag, &asked, size)).await?;
    let mut response = range::serve(&file, &id.to_ascii_lowercase(), &call.headers);
    attachments::describe(&file, response.headers_mut());
    if file.mime_type == PDF {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(VIEWER));
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    }
    Ok(response)
}

fn around(call: &Call) -> DocumentLocation {
    let number = |name| call.query(name).and_then(|text| text.parse::<u64>().ok());
    let word = |name| call.query(name).map(Into::into);
    let page = number("page").and_then(|page| u32::try_from(page).ok());
    DocumentLocation { position: number("position").unwrap_or(0), place: Place { page, heading: word("heading"), sheet: word("sheet") } }
}

async fn text(call: Call) -> Result<Response> {
    let around = around(&call);
    let found = call.studio.document_text(&call.scope, call.part("id"), call.part("document"), around).await?;
    let mut response = Response::new(shown(&found, &call.visit.asker).into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(STYLED));
    Ok(response)
}

/// The words of the page.
struct Words {
    original: &'static str,
    page: &'static str,
    earlier: &'static str,
    later: &'static str,
    none: &'static str,
}

const ENGLISH: Words =
    Words { original: "Original", page: "Page", earlier: "What comes before", later: "What follows", none: "No text yet." };
const PORTUGUESE: Words =
    Words { original: "Original", page: "Página", earlier: "O que vem antes", later: "O que vem depois", none: "Ainda sem texto." };

const STYLE: &str = "html{color-scheme:light dark}body{font:15px/1.55 system-ui,sans-serif;max-width:44rem;margin:0 auto;padding:1rem}\
    p{white-space:pre-wrap;overflow-wrap:anywhere;margin:0 0 .8rem;padding:.35rem .6rem;border-left:3px solid transparent}\
    h1{font-size:1.2rem;overflow-wrap:anywhere}h2{font-size:.85rem;font-weight:600;opacity:.7;margin:1.4rem 0 .4rem}\
    .here{border-color:#2f6fd6;background:#2f6fd61f;scroll-margin-top:6rem}";

fn shown(found: &DocumentText, asker: &Asker) -> String {
    let words = if asker.portuguese { &PORTUGUESE } else { &ENGLISH };
    let name = pages::escape(&found.name);
    let mut html = format!(
        "<!doctype html><html lang=\"{}\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{name}</title>\
         <style>{STYLE}</style><h1>{name}</h1>",
        asker.language()
    );
    let wanted = found.chunks.iter().find(|(position, _)| *position == found.here);
    let page = wanted.and_then(|(_, passage)| passage.place.page).filter(|_| found.mime_type == PDF);
    let (told, fragment) = page.map_or_else(Default::default, |page| (format!(" – {} {page}", words.page), format!("#page={page}")));
    let _ = write!(html, "<a href=\"original{fragment}\">{}{told}</a>", words.original);
    let link = |html: &mut String, position: u64, word: &str| {
        let _ = write!(html, "<nav><a href=\"text?position={position}#here\">{word}</a></nav>");
    };
    if found.chunks.is_empty() {
        let told = found.error.as_deref().map(|error| if asker.portuguese { details::portuguese(error) } else { error.to_owned() });
        let _ = write!(html, "<p>{}</p>", pages::escape(told.as_deref().unwrap_or(words.none)));
    }
    if let Some((first, _)) = found.chunks.first().filter(|(first, _)| *first > 0) {
        link(&mut html, first - 1, words.earlier);
    }
    let mut before = Place::default();
    for (position, passage) in &found.chunks {
        if passage.place != before {
            let place = heading(&passage.place, words);
            let _ = write!(html, "<h2>{}</h2>", pages::escape(&place));
            before = passage.place.clone();
        }
        let here = if *position == found.here { " id=\"here\" class=\"here\"" } else { "" };
        let _ = write!(html, "<p{here}>{}</p>", pages::escape(&passage.text));
    }
    if let Some((last, _)) = found.chunks.last().filter(|(last, _)| last + 1 < found.total) {
        link(&mut html, last + 1, words.later);
    }
    html
}

fn heading(place: &Place, words: &Words) -> String {
    let page = place.page.map(|page| format!("{} {page}", words.page));
    let parts = [page.as_deref(), place.sheet.as_deref(), place.heading.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
