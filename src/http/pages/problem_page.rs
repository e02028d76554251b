//! Owns the page of an error, for a browser.

use axum::response::Response;
use serde_json::Value;

use super::{assets, document, escape};
use crate::error::Error;
use crate::http::problem::Asker;

/// The page as it is built in.
pub(super) const PROBLEM: &str = include_str!("problem.html");

pub(in crate::http) fn problem_page(asker: &Asker, status: u16, title: &str, error: &Error) -> Response {
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
