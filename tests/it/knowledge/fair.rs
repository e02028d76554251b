//! Documents of several tenants: one whose provider answers nobody does not keep the others waiting.

use std::time::Duration;

use serde_json::json;
use wfstudio::studio::Scope;

use crate::support::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_whose_provider_hangs_does_not_take_all_places() {
    // It takes connections, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let mut bench = Bench::new(json!({"providers": {"silent": {"kind": "openai-compatible", "base_url": url, "max_retries": 0}}}));
    bench.scope = Scope { tenant: "slow".into(), user: None };
    let base = bench.base(json!({"embeddings_provider": "silent", "embeddings_model": "m"})).await;
    let mut made = Vec::new();
    for n in 0..10 {
        made.push(bench.add(&base, &format!("d{n}"), super::CATS).await["id"].clone());
    }
    let mut patience = super::patience();
    loop {
        let mut processing = 0;
        for id in &made {
            processing += usize::from(bench.document(&base, id).await["status"] == "processing");
        }
        if processing >= 4 {
            break;
        }
        patience.wait().await;
    }
    bench.scope = Scope { tenant: "quick".into(), user: None };
    let base = bench.base(json!({})).await;
    for name in ["one", "two", "three"] {
        let id = bench.add(&base, name, super::CATS).await["id"].clone();
        let read = tokio::time::timeout(Duration::from_secs(60), bench.rested(&base, &id)).await;
        assert_eq!(read.unwrap_or_else(|_| panic!("{name} waits for the other tenant's"))["status"], "completed");
    }
}
