//! Owns what stands between the studio and a provider: it passes on what either says, as it comes, and keeps it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::StreamExt as _;
use h2::RecvStream;
use h2::server::{self, SendResponse};
use http::{HeaderMap, Request, Response};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::tape::Exchange;
use crate::faults::carriers::{AUTHORITY, Carrier};
use crate::faults::streams::{read, send};

/// Headers that belong to one connection.
const OWN: [&str; 6] = ["host", "connection", "keep-alive", "content-length", "transfer-encoding", "accept-encoding"];

/// A running recorder.
pub struct Recorder {
    pub address: String,
    kept: Arc<Mutex<Vec<Exchange>>>,
    task: JoinHandle<()>,
}

impl Recorder {
    /// It passes on to this origin.
    pub async fn start(origin: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("https://{}", listener.local_addr().expect("an address"));
        let kept = Arc::new(Mutex::new(Vec::new()));
        let client = reqwest::Client::builder().tls_backend_preconfigured(tls()).redirect(reqwest::redirect::Policy::none()).build();
        let way = Way { client: client.expect("a client"), origin: origin.to_owned(), kept: Arc::clone(&kept) };
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let way = way.clone();
                open.spawn(async move {
                    let Ok(io) = Carrier::Tls2.accept(connection).await else { return };
                    let Ok(mut connection) = server::handshake(io).await else { return };
                    let mut calls = JoinSet::new();
                    while let Some(Ok((request, respond))) = connection.accept().await {
                        let way = way.clone();
                        calls.spawn(async move { way.pass(request, respond).await.ok() });
                    }
                });
            }
        });
        Self { address, kept, task }
    }

    /// What was recorded.
    pub fn end(self) -> Vec<Exchange> {
        self.task.abort();
        std::mem::take(&mut *self.kept.lock().expect("kept"))
    }
}

fn tls() -> rustls::ClientConfig {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("protocols");
    let mut config = config.with_platform_verifier().expect("authorities").with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

#[derive(Clone)]
struct Way {
    client: reqwest::Client,
    origin: String,
    kept: Arc<Mutex<Vec<Exchange>>>,
}

impl Way {
    async fn pass(&self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let kept = request.headers().iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
        let headers: HeaderMap = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        let (_, body) = read(request).await?;
        let asked = serde_json::from_slice(&body).expect("JSON");
        let answer = self.client.post(format!("{}{path}", self.origin)).headers(headers).body(body).send().await;
        let Ok(answer) = answer else {
            respond.send_reset(h2::Reason::REFUSED_STREAM);
            return Ok(());
        };
        let (status, mut head) = (answer.status(), Response::builder().status(answer.status()));
        for (name, value) in answer.headers().iter().filter(|(name, _)| !OWN.contains(&name.as_str())) {
            head = head.header(name, value);
        }
        let content_type = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        let at = {
            let mut kept = self.kept.lock().expect("kept");
            kept.push(Exchange { path, body: asked, status: status.as_u16(), content_type, answer: Vec::new() });
            kept.len() - 1
        };
        let mut stream = respond.send_response(head.body(()).expect("a head"), false)?;
        let mut pieces = answer.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let Ok(piece) = piece else {
                stream.send_reset(h2::Reason::INTERNAL_ERROR);
                return Ok(());
            };
            self.kept.lock().expect("kept")[at].answer.extend_from_slice(&piece);
            send(&mut stream, piece).await?;
        }
        stream.send_data(Bytes::new(), true)
    }
}

/// The file of those who vouch for a recorder.
pub fn authority() -> &'static std::path::Path {
    AUTHORITY.file()
}
