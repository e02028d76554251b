//! Owns the page of the application: its HTML with the way to its root, its language and the host's settings.

use std::borrow::Cow;

use axum::response::Response;

use super::{assets, document, escape, page_templates};
use crate::http::middleware::Visit;

/// Served while the application is not there.
pub(super) const START: &str = include_str!("start.html");

/// The page, whatever it shows.
pub(super) fn application(visit: &Visit) -> Response {
    let index = match page_templates::read(visit.studio.config(), page_templates::INDEX) {
        Some(view) => view.replacen(page_templates::HEAD, &page_templates::head(), 1).into(),
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
