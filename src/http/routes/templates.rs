//! Owns the routes of templates: list, read, install.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

use crate::error::Result;
use crate::http::idempotency::{self, Made};
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Reads, Route};
use crate::studio::TemplateQuery;

const ONE: &str = "/api/templates/{type}/{tid}";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/templates", "listTemplates", list)
            .query(&["type", "complexity", "category", "tag", "q"])
            .gives(200, Gives::Json("Templates")),
        Route::get(ONE, "getTemplate", get).gives(200, Gives::Json("Template")),
        Route::post(format!("{ONE}/install"), "installTemplate", install)
            .reads(Reads::Json("InstallBody"))
            .makes_once()
            .gives(201, Gives::Json("Installed"))
            .answers("Location"),
    ]
}

async fn list(call: Call) -> Result<Response> {
    let query = TemplateQuery {
        kind: call.query("type"),
        complexity: call.query("complexity"),
        category: call.query("category"),
        tag: call.query("tag"),
        q: call.query("q"),
    };
    Ok(answer::ok(&call.studio.templates(query).await?))
}

async fn get(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.template(&call.scope, call.part("type"), call.part("tid")).await?))
}

async fn install(call: Call) -> Result<Response> {
    let (kind, id) = (call.part("type"), call.part("tid"));
    let key = idempotency::key_of(&call.headers, "install", &format!("{kind}/{id}"), &call.body)?;
    let make = call.studio.install_template_under(key.clone(), &call.scope, kind, id, &call.body);
    let made = Made::once(&call.studio, &call.scope, key.as_ref(), make).await?;
    let mut response = made.tell(answer::json(StatusCode::CREATED, &made.answer));
    let (path, id) = match made.answer["workflow"]["id"].as_str() {
        Some(id) => ("workflows", id),
        None => ("agents", made.answer["agent"]["id"].as_str().unwrap_or_default()),
    };
    if let Ok(location) = HeaderValue::try_from(format!("{}/api/{path}/{id}", call.base)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}
