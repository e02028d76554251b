use std::task::Waker;

use futures_util::stream;
use http_body::Body as _;
use http_body_util::BodyExt as _;

use super::*;
use crate::config::{Config, ConfigSources};
use crate::studio::{Scope, Studio};

fn studio() -> Studio {
    let json = Some(serde_json::json!({"environment": "local", "database": crate::place::database(":memory:")}));
    let config = Config::load(ConfigSources { json, ..ConfigSources::default() }).expect("a configuration");
    Studio::open(config).expect("a studio")
}

fn body<S>(studio: &Studio, chunks: S, longest: Duration, cancel_on_drop: Option<CancelOnDrop>) -> EventBody<S> {
    let silence = Silence::new(longest, studio.runtime().expect("a runtime"));
    EventBody { chunks, silence, opened: false, cancel_on_drop, _slot: studio.stream_slot().expect("a slot") }
}

fn cancel_on_drop(studio: &Studio) -> CancelOnDrop {
    CancelOnDrop::new(studio.clone(), Scope::default(), "0199a000-0000-7000-8000-000000000000".into())
}

#[tokio::test]
async fn a_stream_opens_with_retry_and_tells_its_chunks() {
    let studio = studio();
    let chunks = stream::iter([Ok(Bytes::from_static(b"id: 1\n\n")), Ok(Bytes::from_static(b"id: 2\n\n"))]);
    let whole = body(&studio, chunks, Duration::from_secs(60), None).collect().await.expect("a body").to_bytes();
    assert_eq!(whole, "retry: 2000\n\nid: 1\n\nid: 2\n\n");
}

#[tokio::test]
async fn silence_is_broken_by_a_comment() {
    let studio = studio();
    let mut body = body(&studio, stream::pending(), Duration::from_millis(1), None);
    let mut told = Vec::new();
    for _ in 0..3 {
        let frame = body.frame().await.expect("a frame").expect("no fault");
        told.extend_from_slice(&frame.into_data().expect("data"));
    }
    assert_eq!(told, b"retry: 2000\n\n: hb\n\n: hb\n\n");
}

#[tokio::test]
async fn a_stream_without_pause_tells_no_comment() {
    let studio = studio();
    let mut body = body(&studio, stream::pending(), Duration::from_secs(60), None);
    body.frame().await.expect("a frame").expect("no fault");
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut body).poll_frame(&mut context).is_pending());
}

#[tokio::test]
async fn an_answer_whose_time_is_over_ends_and_does_not_cancel_its_run() {
    let studio = studio();
    let silence = Silence::new(Duration::from_secs(60), studio.runtime().expect("a runtime"));
    let pace = Pace { silence, most: Some(Duration::from_millis(20)) };
    let chunks = Box::pin(stream::pending::<Result<Bytes, Cut>>().take_until(pace.over()));
    let mut body = EventBody {
        chunks,
        silence: pace.silence,
        opened: false,
        cancel_on_drop: Some(cancel_on_drop(&studio)),
        _slot: studio.stream_slot().expect("a slot"),
    };
    body.frame().await.expect("a frame").expect("no fault");
    assert!(body.frame().await.is_none(), "its time is over");
    assert!(body.cancel_on_drop.is_none(), "the reader comes back");
}

#[tokio::test]
async fn only_a_whole_telling_lets_the_leash_go() {
    let studio = studio();
    let mut whole = body(&studio, stream::empty(), Duration::from_secs(60), Some(cancel_on_drop(&studio)));
    while whole.frame().await.is_some() {}
    assert!(whole.cancel_on_drop.is_none(), "the end was told");

    let mut cut = body(&studio, stream::iter([Err(Cut)]), Duration::from_secs(60), Some(cancel_on_drop(&studio)));
    while cut.frame().await.is_some() {}
    assert!(cut.cancel_on_drop.is_some(), "the reader missed the end");
}
