//! Owns the checks that every request passes before routing, and the headers of every answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::NestedPath;
use axum::response::Response;
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};

use super::area::{Area, Place};
use super::problem::Asker;
use super::{HostMarks, cross_site, export_prefix, gate, local_host, settings, table};
use crate::error::{Error, Result};
use crate::studio::{Scope, Studio};

/// On every answer.
const VERSION: HeaderName = HeaderName::from_static("x-studio-version");

/// What is known of a request when it is routed; travels in its extensions.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) studio: Studio,
    pub(super) scope: Scope,
    pub(super) area: Area,
    pub(super) asker: Asker,
    pub(super) base_url: Option<String>,
}

impl Visit {
    /// The part of addresses before the prefix: the base URL, else the path under which the host mounts the studio.
    pub(super) fn outside(&self) -> &str {
        self.base_url.as_deref().unwrap_or(&self.area.outer).trim_end_matches('/')
    }
}

/// Answers a request; whatever happens, the answer is a document of the contract.
pub(super) async fn answer(studio: &Studio, mut request: Request<Body>) -> Response {
    let marks = request.extensions_mut().remove::<HostMarks>().unwrap_or_default();
    let base_url = settings::base_url(studio.config()).or(marks.base_url.as_deref()).map(str::to_owned);
    let mut area = Area::of(studio.config(), request.uri().path(), marks.root_path.as_deref(), base_url.as_deref());
    // A part with a name stands for many paths: which one it was is not known here.
    if let Some(nested) = request.extensions().get::<NestedPath>().map(NestedPath::as_str).filter(|path| !path.contains('{')) {
        area.outer.insert_str(0, nested.trim_end_matches('/'));
    }
    let asker = Asker::of(studio.config(), request.headers(), &area, base_url.as_deref());
    let head_only = request.method() == Method::HEAD;
    let entered = AssertUnwindSafe(enter(studio, marks, area, base_url, asker.clone(), request)).catch_unwind().await;
    let result = entered.unwrap_or_else(|_| Err(Error::internal("the request could not be answered")));
    let mut response = result.unwrap_or_else(|error| asker.tell(error));
    if head_only {
        *response.body_mut() = Body::empty();
    }
    finish(&mut response);
    response
}

async fn enter(
    studio: &Studio,
    mut marks: HostMarks,
    area: Area,
    base_url: Option<String>,
    asker: Asker,
    mut request: Request<Body>,
) -> Result<Response> {
    marks.user = marks.user.filter(|user| !user.is_null());
    let named = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    let authority = request.headers().get(header::HOST).map(HeaderValue::as_bytes).or(named);
    let at_home = || local_host::check(authority, base_url.as_deref());
    let from_here = |request: &Request<Body>| {
        let authority = authority.and_then(|name| std::str::from_utf8(name).ok());
        cross_site::check(request.method(), request.headers(), base_url.as_deref(), authority)
    };
    match area.place {
        Place::Elsewhere => return Err(Error::not_found("path", request.uri().path())),
        Place::Export => {
            // A route that is off asks nobody.
            export_prefix::must_be_there(studio.config(), &area)?;
            export_prefix::check(studio.config(), &marks, at_home)?;
            // Clients of other origins are for the host's CORS to allow: a browser asks before it sends JSON, but not before a body without a type.
            if super::call::content_type(request.headers()).as_deref() != Some("application/json") {
                from_here(&request)?;
            }
        }
        Place::Studio => {
            gate::check(studio, &marks, at_home, request.method(), request.uri().path()).await?;
            from_here(&request)?;
        }
    }
    let exported = area.place == Place::Export;
    *request.uri_mut() = within(&area, request.uri())?;
    let scope = Scope { tenant: Arc::from(marks.tenant), user: marks.user };
    request.extensions_mut().insert(Visit { studio: studio.speaking(asker.locale()), scope, area, asker, base_url });
    Ok(if exported { table::route_export(request).await } else { table::route(request).await })
}

/// The address below the prefix.
fn within(area: &Area, uri: &Uri) -> Result<Uri> {
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let address = format!("{}{query}", area.rest);
    address.parse().map_err(|_| Error::not_found("path", uri.path()))
}

fn finish(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(VERSION, HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
