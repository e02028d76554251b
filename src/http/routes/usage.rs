//! Owns the routes of usage: the export for hosts that bill, and the same for the pages.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::http::call::Call;
use crate::http::table::{Gives, Route};
use crate::http::{answer, csv};
use crate::studio::UsageWindow;

/// What a window may be asked.
const QUERY: &[&str] = &["from", "to", "entity_type", "entity_id", "group_by", "model"];

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/api/usage", "getUsage", window).query(QUERY).gives(200, Gives::Table("Usage"))]
}

/// Those below the export prefix.
pub(in crate::http) fn exported() -> Vec<Route> {
    vec![
        Route::get("/usage", "exportUsage", window).query(QUERY).gives(200, Gives::Table("Usage")),
        Route::get("/usage/runs/{run}", "exportUsageOfRun", run).gives(200, Gives::Json("RunUsage")),
    ]
}

async fn window(call: Call) -> Result<Response> {
    let named = QUERY.iter().filter_map(|name| Some(((*name).to_owned(), Value::from(call.query(name)?))));
    let asked = UsageWindow::parse(&named.collect::<Map<_, _>>())?;
    let group_by = asked.group_by;
    let report = call.studio.usage(&call.scope, asked).await?;
    if !wants_csv(&call.headers) {
        return Ok(answer::written(report.to_bytes()));
    }
    let mut response = Response::new(Body::from(csv::usage(&report, group_by)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    Ok(response)
}

async fn run(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.usage_run(&call.scope, call.part("run")).await?))
}

/// Is `text/csv` named, and JSON not liked better?
fn wants_csv(headers: &HeaderMap) -> bool {
    let (mut table, mut json) = (0.0, 0.0);
    let named = headers.get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    for range in named.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse::<f32>).unwrap_or(0.0);
        match name.as_str() {
            "text/csv" => table = weight,
            "application/json" => json = weight,
            _ => {}
        }
    }
    table > 0.0 && table >= json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_given_to_those_who_name_it() {
        for (accept, table) in [
            ("text/csv", true),
            ("Text/CSV; charset=utf-8", true),
            ("application/json;q=0.5, text/csv;q=0.8", true),
            ("application/json, text/csv;q=0.8", false),
            ("text/csv;q=0", false),
            ("*/*", false),
            ("text/*", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(wants_csv(&headers), table, "{accept}");
        }
    }
}
