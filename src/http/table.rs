//! Owns the table of routes, from which router, API description and tests are built.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use futures_util::future::BoxFuture;
use http::{Method, Request};
use tower::ServiceExt as _;

use super::call::Call;
use super::middleware::Visit;
use super::ignored::{self, Ignored};
use super::body_limits::{MayCome, Room};
use super::{pages, routes};
use crate::error::{Error, Kind, Result};

/// What a route reads of a request's body; the word names its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    Nothing,
    Json(&'static str),
    /// JSON that may hold files as text.
    JsonWithFiles(&'static str),
    Upload(&'static str),
    /// Either; the handler looks which.
    JsonOrUpload(&'static str, &'static str),
}

/// What a route answers with; the word names its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Nothing,
    Json(&'static str),
    List(&'static str),
    /// JSON, or comma-separated rows for those who name them.
    Table(&'static str),
    Events,
    Bytes,
    Page,
}

type Handler = Box<dyn Fn(Call) -> BoxFuture<'static, Result<Response>> + Send + Sync>;

/// One thing that can be asked for, under one path or several.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) paths: Vec<String>,
    pub(super) name: String,
    pub(super) reads: Reads,
    pub(super) gives: Vec<(u16, Gives)>,
    pub(super) query: &'static [&'static str],
    /// Headers that it reads, besides those of every request.
    pub(super) heeds: Vec<&'static str>,
    /// Headers that say more of what it gives.
    pub(super) answers: Vec<&'static str>,
    handler: Handler,
}

impl Route {
    /// A route that reads nothing.
    pub(super) fn new<F, A>(method: Method, path: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response>> + Send + 'static,
    {
        Self {
            method,
            paths: vec![path.into()],
            name: name.into(),
            reads: Reads::Nothing,
            gives: Vec::new(),
            query: &[],
            heeds: Vec::new(),
            answers: Vec::new(),
            handler: Box::new(move |call| Box::pin(handler(call))),
        }
    }

    pub(super) fn get<F, A>(path: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response>> + Send + 'static,
    {
        Self::new(Method::GET, path, name, handler)
    }

    pub(super) fn post<F, A>(path: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response>> + Send + 'static,
    {
        Self::new(Method::POST, path, name, handler)
    }

    /// The same under another path.
    pub(super) fn also(mut self, path: impl Into<String>) -> Self {
        self.paths.push(path.into());
        self
    }

    pub(super) const fn reads(mut self, reads: Reads) -> Self {
        self.reads = reads;
        self
    }

    pub(super) fn gives(mut self, status: u16, gives: Gives) -> Self {
        self.gives.push((status, gives));
        self
    }

    /// Streams a run from a position; 204 if there is nothing to send.
    pub(super) fn tells(self) -> Self {
        self.query(&["order", "after"]).heeds("Last-Event-ID").gives(200, Gives::Events).gives(204, Gives::Nothing)
    }

    /// It begins work: it may be sent again under a key, and may be part of a trace of the host.
    pub(super) fn starts(self) -> Self {
        self.heeds("Idempotency-Key").heeds("traceparent").heeds("tracestate")
    }

    /// It makes something: once for each key.
    pub(super) fn makes_once(self) -> Self {
        self.heeds("Idempotency-Key").answers("Idempotency-Replayed")
    }

    pub(super) fn heeds(mut self, header: &'static str) -> Self {
        self.heeds.push(header);
        self
    }

    pub(super) fn answers(mut self, header: &'static str) -> Self {
        self.answers.push(header);
        self
    }

    /// An immutable file: whole, a range of it, or 304.
    pub(super) fn gives_file(self) -> Self {
        let whole = self.heeds("Range").heeds("If-None-Match").gives(200, Gives::Bytes).gives(206, Gives::Bytes);
        whole.gives(304, Gives::Nothing).gives(416, Gives::Nothing).answers("ETag")
    }

    pub(super) const fn query(mut self, names: &'static [&'static str]) -> Self {
        self.query = names;
        self
    }
}

/// Every route below the studio's prefix.
pub(super) static TABLE: LazyLock<Vec<Arc<Route>>> =
    LazyLock::new(|| routes::all().into_iter().chain(pages::routes()).map(Arc::new).collect());

/// Every route below the export prefix.
pub(super) static EXPORT: LazyLock<Vec<Arc<Route>>> = LazyLock::new(|| routes::exported().into_iter().map(Arc::new).collect());

static ROUTER: LazyLock<axum::Router> = LazyLock::new(|| build(&TABLE));
static EXPORT_ROUTER: LazyLock<axum::Router> = LazyLock::new(|| build(&EXPORT));

/// Makes the tables and the routers now rather than with the first request.
pub(super) fn prepare() {
    LazyLock::force(&ROUTER);
    LazyLock::force(&EXPORT_ROUTER);
    ignored::prepare();
}

/// Finds the route of a request and lets it answer. The request carries its [`Visit`].
pub(super) async fn route(request: Request<Body>) -> Response {
    ask(&ROUTER, request).await
}

/// The same below the export prefix.
pub(super) async fn route_export(request: Request<Body>) -> Response {
    ask(&EXPORT_ROUTER, request).await
}

async fn ask(router: &axum::Router, request: Request<Body>) -> Response {
    match router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn build(table: &[Arc<Route>]) -> axum::Router {
    let mut by_path: BTreeMap<&str, MethodRouter> = BTreeMap::new();
    for route in table {
        for path in &route.paths {
            let known = by_path.remove(path.as_str()).unwrap_or_default();
            by_path.insert(path, known.merge(entrance(route)));
        }
    }
    let router = by_path.into_iter().fold(axum::Router::new(), |router, (path, methods)| router.route(path, methods));
    router.method_not_allowed_fallback(wrong_method).fallback(wrong_path)
}

fn entrance(route: &Arc<Route>) -> MethodRouter {
    let filter = MethodFilter::try_from(route.method.clone()).unwrap_or(MethodFilter::GET);
    let route = Arc::clone(route);
    on(filter, move |request: Request<Body>| enter(Arc::clone(&route), request))
}

async fn enter(route: Arc<Route>, mut request: Request<Body>) -> Response {
    let Some(visit) = request.extensions_mut().remove::<Visit>() else { return Response::default() };
    let asker = visit.asker.clone();
    if request.extensions().get::<MayCome>().is_some() {
        let room = Room::of(&route, visit.studio.config(), request.headers());
        return room.may_come(request.headers()).unwrap_or_else(|error| asker.tell(error));
    }
    let call = match Call::receive(&route, visit, request).await {
        Ok(call) => call,
        Err(error) => return asker.tell(error),
    };
    let ignored = Ignored::of(&route, &call.body);
    let mut response = (route.handler)(call).await.unwrap_or_else(|error| asker.tell(error));
    ignored.tell(response.headers_mut());
    response
}

async fn wrong_method(request: Request<Body>) -> Response {
    let told = format!("this path does not answer {}; see `Allow`", request.method());
    tell(&request, Error::new(Kind::MethodNotAllowed, told))
}

async fn wrong_path(request: Request<Body>) -> Response {
    let browser = request.extensions().get::<Visit>().filter(|visit| visit.asker.wants_page);
    if let Some(visit) = browser {
        return pages::missing(visit);
    }
    tell(&request, Error::not_found("path", request.uri().path()))
}

fn tell(request: &Request<Body>, error: Error) -> Response {
    request.extensions().get::<Visit>().map_or_else(Response::default, |visit| visit.asker.tell(error))
}
