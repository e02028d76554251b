//! Owns the addresses of the pages: which of them exist, and what each must find.

mod application;
mod assets;
mod page_templates;
mod preview;
mod problem_page;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

use super::call::Call;
use super::middleware::Visit;
use super::table::{Gives, Route};
use super::export_prefix;
use crate::error::{Kind, Result};
use crate::studio::{Resource, Scope, Studio};
use application::application;
pub use assets::files;
pub(super) use page_templates::problem_template;
pub use page_templates::templates;
pub(super) use problem_page::problem_page;

/// Nothing but our own files, no inline script or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; font-src 'self'; \
connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; \
require-trusted-types-for 'script'";

/// In the place of an id: the form of something new, and two runs beside each other.
const NEW: &str = "new";
const COMPARISON: &str = "compare";

/// Where a browser may go, beside what a key switches off.
const PATHS: [&str; 20] = [
    "/",
    "/workflows",
    "/workflows/{id}",
    "/workflows/{id}/edit",
    "/workflows/{id}/traces",
    "/traces",
    "/traces/{id}",
    "/workflows/traces/{id}",
    "/workflows/runs/{id}",
    "/agents",
    "/agents/{id}",
    "/agents/{id}/playground",
    "/tools",
    "/tools/{id}",
    "/mcp",
    "/mcp/{id}",
    "/knowledge",
    "/knowledge/{id}",
    "/usage",
    "/settings",
];

pub(super) fn routes() -> Vec<Route> {
    let page = |path: &'static str| Route::get(path, format!("page{}", name(path)), move |call| page(call, Shown::of(path))).gives(200, Gives::Page);
    let preview = Route::get("/workflows/preview", "pageWorkflowsPreview", preview::preview)
        .query(&["class", "json"])
        .gives(200, Gives::Page);
    let templates = Route::get("/templates", "pageTemplates", templates_page)
        .query(&["type", "complexity", "category", "q", "template"])
        .gives(200, Gives::Page);
    let file = Route::get("/assets/{*path}", "readAsset", assets::file).gives(200, Gives::Bytes);
    PATHS.into_iter().map(page).chain([preview, templates, file]).collect()
}

/// `/agents/{id}/playground` as `AgentsIdPlayground`.
fn name(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

async fn templates_page(call: Call) -> Result<Response> {
    if call.studio.config().templates_enabled { page(call, Shown::Nothing).await } else { Err(export_prefix::disabled("templates_enabled")) }
}

/// What a page shows, by its address.
#[derive(Clone, Copy)]
enum Shown {
    /// A list, or something that is not there yet.
    Nothing,
    Definition(Resource),
    Run,
}

impl Shown {
    fn of(path: &str) -> Self {
        let mut segments = path.split('/').skip(1);
        match (segments.next(), segments.next()) {
            (Some("workflows"), Some("traces" | "runs")) | (Some("traces"), Some(_)) => Self::Run,
            // Runs outlive their workflow, and so does the list of them.
            (Some("workflows"), Some(_)) if segments.next() == Some("traces") => Self::Nothing,
            (Some("workflows"), Some(_)) => Self::Definition(Resource::Workflow),
            (Some("agents"), Some(_)) => Self::Definition(Resource::Agent),
            (Some("tools"), Some(_)) => Self::Definition(Resource::Tool),
            (Some("mcp"), Some(_)) => Self::Definition(Resource::McpServer),
            (Some("knowledge"), Some(_)) => Self::Definition(Resource::KnowledgeBase),
            _ => Self::Nothing,
        }
    }

    /// Refuses what is not there.
    async fn must_be_there(self, studio: &Studio, scope: &Scope, id: &str) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Run if id == COMPARISON => Ok(()),
            Self::Run => studio.must_know_run(scope, id).await,
            Self::Definition(resource) if id == NEW && resource != Resource::Workflow => Ok(()),
            Self::Definition(resource) => studio.must_know(scope, resource, id).await,
        }
    }
}

/// The application. What is not there has the same page, which says so, and the status of what is missing.
async fn page(call: Call, shown: Shown) -> Result<Response> {
    // The page receives other errors from the API.
    let (studio, scope, id) = (call.studio.clone(), call.scope.clone(), call.part("id").to_owned());
    let visit = call.visit;
    let is_missing = shown.must_be_there(&studio, &scope, &id).await.is_err_and(|error| error.kind == Kind::NotFound);
    Ok(if is_missing { missing(&visit) } else { application(&visit) })
}

/// 404 for a browser: the application says what is missing, and leads on.
pub(super) fn missing(visit: &Visit) -> Response {
    let mut response = application(visit);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn document(html: &str) -> Response {
    let mut response = Response::new(Body::from(html.to_owned()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
