//! Owns the pages: one application, its files, and two pages without scripts.

mod assets;
mod views;

use std::borrow::Cow;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use super::call::Call;
use super::door::Visit;
use super::problem::Asker;
use super::table::{Gives, Route};
use super::{export, settings};
use crate::error::{Error, Kind, Result};
use crate::studio::{Resource, Scope, Studio};
pub(super) use views::problem_template;
pub use views::{files, templates};

/// Nothing but our own files, no inline script or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; font-src 'self'; \
connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; \
require-trusted-types-for 'script'";

/// In the place of an id: the form of something new, and two runs beside each other.
const NEW: &str = "new";
const COMPARISON: &str = "compare";

/// Served while the application is not there.
const START: &str = include_str!("start.html");
const PROBLEM: &str = include_str!("problem.html");

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
    let preview = Route::get("/workflows/preview", "pageWorkflowsPreview", preview)
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

async fn preview(call: Call) -> Result<Response> {
    if !settings::codegen(call.studio.config()) {
        return Err(export::disabled("codegen.enabled"));
    }
    let named = call.query("class").map(|class| format!("class:{class}"));
    let Some(reference) = named.or_else(|| call.query("json").map(|file| format!("json:{file}"))) else {
        return Ok(missing(&call.visit));
    };
    // An unreadable source is listed too: the page says why.
    let is_missing = call.studio.registry_class(&call.scope, &reference).await.is_err_and(|error| error.kind == Kind::NotFound);
    Ok(if is_missing { missing(&call.visit) } else { application(&call.visit) })
}

async fn templates_page(call: Call) -> Result<Response> {
    if call.studio.config().templates_enabled { page(call, Shown::Nothing).await } else { Err(export::disabled("templates_enabled")) }
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

fn application(visit: &Visit) -> Response {
    let index = match views::read(visit.studio.config(), views::INDEX) {
        Some(view) => view.replacen(views::HEAD, &views::head(), 1).into(),
        None => assets::text("index.html").map_or(Cow::Borrowed(START), Cow::Borrowed),
    };
    document(&render(&index, visit))
}

/// The application's page with the way to its root, its language and what the host says of tokens.
fn render(html: &str, visit: &Visit) -> String {
    let config = visit.studio.config();
    let root = visit.area.root(visit.base_url.as_deref());
    let told = [
        ("root", Some(root.as_str())),
        ("locale", Some(config.locale.as_str())),
        ("csrf-header", config.csrf.header.as_deref()),
        ("csrf-meta", config.csrf.meta.as_deref()),
    ];
    let metas: String = told
        .iter()
        .filter_map(|(name, value)| value.map(|value| format!(r#"<meta name="studio-{name}" content="{}">"#, escape(value))))
        .collect();
    let places = [r#"<meta name="studio-root" content="./" />"#, r#"<meta name="studio-root" content="./">"#];
    let place = places.iter().find(|place| html.contains(**place));
    let html = place.map_or_else(|| html.to_owned(), |place| html.replacen(place, &metas, 1));
    let below = escape(&root);
    let html = html.replace(r#""./assets/"#, &format!(r#""{below}assets/"#));
    let html = html.replace(r#""./api/"#, &format!(r#""{below}api/"#));
    html.replacen(r#"<html lang="en">"#, &format!(r#"<html lang="{}">"#, visit.asker.language()), 1)
}

/// The error page.
pub(super) fn problem_page(asker: &Asker, status: u16, title: &str, error: &Error) -> Response {
    let html = asker.template.as_deref().unwrap_or(PROBLEM).replacen(r#"<html lang="en">"#, &format!(r#"<html lang="{}">"#, asker.language()), 1);
    let html = html.replace("{{title}}", &escape(title)).replace("{{status}}", &status.to_string());
    let root = escape(&asker.root);
    let html = html.replace("{{style}}", &style(&root)).replace("{{root}}", &root);
    let request = error.members.get("request_id").and_then(Value::as_str).map(|id| format!(" · {}", escape(id)));
    let html = html.replace("{{request}}", &request.unwrap_or_default());
    document(&html.replace("{{detail}}", &escape(&error.message)))
}

/// The link to the application's style sheet.
fn style(root: &str) -> String {
    let link = assets::text("index.html").and_then(|html| html.lines().find(|line| line.contains("rel=\"stylesheet\"")));
    link.map_or_else(String::new, |link| link.trim().replace("\"./assets/", &format!("\"{root}assets/")))
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
