//! Owns the HTTP interface: an in-process router over the facade, without a socket; a host mounts it.
//!
//! ```ignore
//! // An axum host: the routes under `/studio` and `/api/studio` of the configuration.
//! let app = axum::Router::new().merge(wfstudio::http::router(studio.clone()));
//! // Any host with `tower` and `http`: the same, below a path of its own.
//! let app = app.nest_service("/ai", wfstudio::http::service(studio));
//! ```
//! What the host knows of a request (user, tenant, gate) travels as [`HostMarks`] in the request's extensions.

mod accept;
mod adapters;
mod answer;
mod area;
mod body_limits;
mod call;
mod cancel_on_drop;
mod cross_site;
mod csv;
mod details;
mod export_prefix;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod idempotency;
mod ignored;
mod local_host;
mod middleware;
mod multipart;
mod openapi;
mod pages;
mod problem;
mod range;
mod routes;
mod settings;
pub mod sse;
mod table;

pub(crate) use pages::{files as page_files, templates as page_templates};
pub(crate) use problem::{document, in_language_of};
pub(crate) use routes::RUN_FILTERS;

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use serde_json::Value;

use crate::studio::Studio;

/// The cause when a body breaks off.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer: whole, or a stream of events.
pub type AnswerBody = UnsyncBoxBody<Bytes, BodyError>;

/// What the host says of a request. Put into the request's extensions; absent means that it says nothing.
#[derive(Clone, Debug, Default)]
pub struct HostMarks {
    /// Who asks, opaque; its `id` is stored on what the user makes.
    pub user: Option<Value>,
    /// Whose data is asked for.
    pub tenant: String,
    /// The host's own decision on the gate.
    pub gate: Option<bool>,
    /// The host's function made no decision: then a user alone is not enough.
    pub undecided: bool,
    /// The host's middleware let this request through to the export prefix.
    pub authorized: bool,
    /// Where the host is reached, with the path that it mounts the studio under: `https://shop.example/ai`.
    pub base_url: Option<String>,
    /// What the host's server and routers have taken off the path to find the studio, where the path still begins with it: the
    /// `root_path` of ASGI, the `SCRIPT_NAME` of WSGI.
    pub root_path: Option<String>,
}

/// Makes what all requests share, so that no thread is in the middle of that when the process forks.
pub(crate) fn prepare() {
    table::prepare();
    details::prepare();
}

/// The prefixes below which requests are answered: a host hands on both what is at them and what is below them.
pub(crate) fn mounts(config: &crate::config::Config) -> Vec<String> {
    settings::prefixes(config)
}

/// Every route, under the configured prefixes and nowhere else, so that a host can merge it into its own router.
pub fn router(studio: Studio) -> axum::Router {
    let prefixes = settings::prefixes(studio.config());
    let door = tower::service_fn(move |request: Request<Body>| {
        let studio = studio.clone();
        async move { Ok::<_, Infallible>(middleware::answer(&studio, request).await) }
    });
    prefixes.iter().map(|prefix| prefix.replace('{', "{{").replace('}', "}}")).fold(axum::Router::new(), |router, prefix| {
        let router = router.without_v07_checks();
        let router = router.route_service(&format!("{prefix}/"), door.clone());
        let router = router.route_service(&format!("{prefix}/{{*path}}"), door.clone());
        if prefix.is_empty() { router } else { router.route_service(&prefix, door.clone()) }
    })
}

/// The studio as a service over plain `http` types, to be nested under any path by any host; other paths are 404.
pub fn service<B>(
    studio: Studio,
) -> impl tower::Service<
    Request<B>,
    Response = Response<AnswerBody>,
    Error = Infallible,
    Future = BoxFuture<'static, Result<Response<AnswerBody>, Infallible>>,
> + Clone
+ Send
+ Sync
+ 'static
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BodyError>,
{
    tower::service_fn(move |request: Request<B>| -> BoxFuture<'static, _> {
        let studio = studio.clone();
        Box::pin(async move {
            let response = middleware::answer(&studio, request.map(Body::new)).await;
            Ok(response.map(|body| body.map_err(BodyError::from).boxed_unsync()))
        })
    })
}

/// Answers one request whose body is known. The answer's body is a stream for events, whole otherwise.
pub async fn dispatch(studio: &Studio, request: Request<Bytes>, marks: HostMarks) -> Response<Body> {
    let mut request = request.map(Body::from);
    request.extensions_mut().insert(marks);
    middleware::answer(studio, request).await
}

/// Asks whether the body of a request may come, before it is read: how many bytes it may have, or the answer that refuses it.
///
/// # Errors
/// The answer that the request would get with its body: gate, path, method, length.
pub async fn may_come(studio: &Studio, mut request: Request<Bytes>, marks: HostMarks) -> Result<u64, Response<Body>> {
    request.extensions_mut().insert(body_limits::MayCome);
    let response = dispatch(studio, request, marks).await;
    response.extensions().get::<body_limits::UpTo>().map(|most| most.0).ok_or(response)
}

/// The description of the API (OpenAPI 3.1), without where it is served.
pub fn description() -> Value {
    openapi::document()
}

#[cfg(test)]
mod tests;
