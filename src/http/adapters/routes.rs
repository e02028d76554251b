//! Owns the routes of the stream adapters, below the export prefix.

use axum::response::Response;

use super::posts::{self, Target};
use crate::error::Result;
use crate::http::call::Call;
use crate::http::table::{Gives, Reads, Route};
use crate::model::event::EntityKind;

pub(in crate::http) fn routes() -> Vec<Route> {
    let mut routes = vec![posting("/workflows/traces/{trace}/resume/{protocol}", "resumeAdapted", |call| {
        let run = call.part("trace").to_owned();
        posts::post(call, Target::Run(run))
    })];
    for (kind, word, name) in [(EntityKind::Agent, "agents", "Agent"), (EntityKind::Workflow, "workflows", "Workflow")] {
        routes.push(posting(&format!("/{word}/{{id}}/stream/{{protocol}}"), &format!("stream{name}Adapted"), move |call| {
            let id = call.part("id").to_owned();
            posts::post(call, Target::Entity(kind, id))
        }));
        let path = format!("/{word}/{{id}}/stream/vercel/{{chat}}/stream");
        let tail = Route::get(path, format!("reattach{name}Chat"), move |call| posts::reattach(call, kind));
        routes.push(tail.query(&["ui"]).gives(200, Gives::Events).gives(204, Gives::Nothing));
    }
    routes
}

fn posting<F, A>(path: &str, name: &str, handler: F) -> Route
where
    F: Fn(Call) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Response>> + Send + 'static,
{
    Route::post(path, name, handler)
        .reads(Reads::JsonWithFiles("AdapterRequest"))
        .query(&["ui"])
        .starts()
        .gives(200, Gives::Events)
}
