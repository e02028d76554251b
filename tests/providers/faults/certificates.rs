//! Whose certificates are taken: those of the machine's authorities and of `tls.ca_file`, for the name that was asked, nobody else's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use wfstudio::config::{Config, ConfigSources};
use wfstudio::studio::Studio;

use super::carriers::{AUTHORITY, Authority, Carrier};
use super::speech::{Family, everywhere};
use super::{PATIENT, end_of, llm, run};

fn family() -> Family {
    everywhere().find(|family| family.provider == "anthropic" && family.carrier == Carrier::Tls2).expect("one")
}

/// A server that counts the bytes of requests that it could read.
async fn listening(acceptor: TlsAcceptor) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, read) = (format!("https://{}", listener.local_addr().expect("an address")), Arc::new(AtomicUsize::new(0)));
    let heard = Arc::clone(&read);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let Ok(mut connection) = acceptor.accept(connection).await else { continue };
            let mut bytes = [0; 4096];
            heard.fetch_add(connection.read(&mut bytes).await.unwrap_or(0), Ordering::SeqCst);
        }
    });
    (address, read)
}

#[tokio::test]
async fn nothing_is_told_to_a_server_that_nobody_vouches_for() {
    let stranger = Authority::new("stranger");
    for (what, acceptor) in [
        ("signed by a stranger", stranger.acceptor("127.0.0.1", b"h2")),
        ("for another name", AUTHORITY.acceptor("provider.example", b"h2")),
    ] {
        let (address, read) = listening(acceptor).await;
        let trace = run(family(), &address, &llm(family(), true, ""), PATIENT).await;
        assert_eq!(end_of(&trace, 0).code, "provider_unavailable", "{what}: {trace:#}");
        let message = trace["trace"]["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("certificate"), "{what}: {message}");
        assert_eq!(read.load(Ordering::SeqCst), 0, "{what}: no byte of the request");
    }
}

#[tokio::test]
async fn a_file_without_authorities_is_refused_when_the_studio_opens() {
    let empty = AUTHORITY.file().with_extension("empty.pem");
    std::fs::write(&empty, "no certificate\n").expect("a file");
    for (file, why) in [(empty.as_path(), "it holds no certificate"), (std::path::Path::new("/nowhere/ca.pem"), "No such file")] {
        let settings = json!({"environment": "local", "database": {"path": ":memory:"}, "tls": {"ca_file": file}});
        let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() });
        let refused = Studio::open(config.unwrap_or_else(|error| panic!("{error}"))).err().expect("a refusal");
        let told = format!("{refused} {:?}", refused.members);
        assert!(told.contains("tls.ca_file") && told.contains(why), "{told}");
    }
}
