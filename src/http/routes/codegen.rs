//! Owns the routes of code: what can be imported, previews, exports, imports.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

use crate::error::{Error, Result};
use crate::http::call::Call;
use crate::http::table::{Gives, Reads, Route};
use crate::http::idempotency::{self, Made};
use crate::http::{answer, export_prefix, settings};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/registry/classes", "listRegistryClasses", classes).gives(200, Gives::Json("RegistryClasses")),
        Route::get("/api/registry/class", "getRegistryClass", class).query(&["class", "json"]).gives(200, Gives::Json("RegistryClass")),
        Route::post("/api/codegen/preview", "previewCode", preview)
            .reads(Reads::Json("CodePreviewBody"))
            .gives(200, Gives::Json("CodePreview")),
        Route::post("/api/codegen/export", "exportCode", export_code)
            .reads(Reads::Json("CodeExportBody"))
            .gives(200, Gives::Json("CodeExported")),
        Route::post("/api/codegen/import", "importCode", import)
            .reads(Reads::Json("CodeImportBody"))
            .makes_once()
            .gives(201, Gives::Json("CodeImported"))
            .answers("Location"),
    ]
}

fn must_be_on(call: &Call) -> Result<()> {
    if settings::codegen(call.studio.config()) { Ok(()) } else { Err(export_prefix::disabled("codegen.enabled")) }
}

async fn classes(call: Call) -> Result<Response> {
    must_be_on(&call)?;
    Ok(answer::ok(&call.studio.registry_classes(&call.scope).await?))
}

async fn class(call: Call) -> Result<Response> {
    must_be_on(&call)?;
    let reference = match (call.query("class"), call.query("json")) {
        (Some(class), None) => format!("class:{class}"),
        (None, Some(file)) => format!("json:{file}"),
        (Some(_), Some(_)) | (None, None) => return Err(Error::field("class", "class or json is required, one of them")),
    };
    Ok(answer::ok(&call.studio.registry_class(&call.scope, &reference).await?))
}

async fn preview(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.preview_code(&call.scope, &call.body).await?))
}

async fn export_code(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.export_code(&call.scope, &call.body).await?))
}

async fn import(call: Call) -> Result<Response> {
    let key = idempotency::key_of(&call.headers, "import", "", &call.body)?;
    let make = call.studio.import_code_under(key.clone(), &call.scope, &call.body);
    let made = Made::once(&call.studio, &call.scope, key.as_ref(), make).await?;
    let mut response = made.tell(answer::json(StatusCode::CREATED, &made.answer));
    let kinds = [("workflow", "workflows"), ("agent", "agents"), ("tool", "tools")];
    let found = kinds.into_iter().find_map(|(kind, path)| Some((path, made.answer[kind]["id"].as_str()?)));
    if let Some(location) = found.and_then(|(path, id)| HeaderValue::try_from(format!("{}/api/{path}/{id}", call.base)).ok()) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}
