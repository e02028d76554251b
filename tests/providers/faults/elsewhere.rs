//! Webhooks, MCP servers and collectors are called through TLS like models: with HTTP/2 or 1.1, trusting whom the configuration names.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::studio::{Resource, Scope, Studio};

use super::carriers::{AUTHORITY, CARRIERS, Carrier};
use super::run_in;
use super::server::{Act, Seen, Server};

fn studio(trusts: bool, more: Value) -> Studio {
    let mut settings = json!({
        "environment": "local", "database": {"path": ":memory:"}, "webhook": {"allowed_hosts": ["127.0.0.1"], "allow_private": ["127.0.0.1"]},
        "mcp": {"allow_private": ["127.0.0.1"]}, "tls": {"ca_file": trusts.then(|| AUTHORITY.file())},
    });
    settings.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() });
    Studio::open(config.unwrap_or_else(|error| panic!("{error}"))).expect("a studio")
}

/// Calls a server by all three ways; it answers each with a JSON object.
async fn called(carrier: Carrier, trusts: bool) -> [Vec<String>; 3] {
    let mut servers = Vec::new();
    for _ in 0..3 {
        let answer = Act::Bytes(200, vec![("content-type", "application/json".into())], vec![Bytes::from_static(b"{\"ok\": true}")]);
        servers.push(Server::start(carrier, vec![answer]).await);
    }
    let (scope, endpoint) = (Scope::default(), servers[2].address.clone());
    let studio = studio(trusts, json!({"observability": {"otlp": {"endpoint": endpoint}}}));
    let hook = json!({"name": "hook", "kind": "webhook", "config": {"url": format!("{}/hook", servers[0].address), "method": "POST"}});
    let hook = studio.create(&scope, Resource::Tool, &hook).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    let tried = studio.try_tool(&scope, hook["id"].as_str().expect("an id"), &json!({"input": {"word": "a"}})).await.expect("tried");
    assert_eq!(tried.to_string().contains("certificate"), carrier != Carrier::Clear && !trusts, "{carrier:?} {trusts}: {tried}");
    let mcp = json!({"name": "Peer", "slug": "peer", "transport": "http", "url": format!("{}/mcp", servers[1].address)});
    let mcp = studio.create(&scope, Resource::McpServer, &mcp).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    // What is said to it is what counts: it is no MCP server.
    let _ = studio.test_mcp_server(&scope, mcp["id"].as_str().expect("an id")).await;
    run_in(&studio, "llm_1{provider: script, model: echo}").await;
    studio.shutdown(Duration::from_secs(40)).await;
    let line = |seen: &Seen| seen.head.lines().next().unwrap_or_default().to_owned();
    let heads = servers.iter().map(|server| server.seen.lock().expect("seen").iter().map(line).collect());
    heads.collect::<Vec<Vec<String>>>().try_into().expect("three")
}

#[tokio::test]
async fn all_who_are_called_are_called_over_every_carrier() {
    for carrier in CARRIERS {
        let version = if carrier == Carrier::Tls2 { "http/2.0" } else { "http/1.1" };
        let [hooks, mcp, collector] = called(carrier, true).await;
        assert_eq!(hooks, [format!("post /hook {version}")], "{carrier:?}");
        assert!(mcp.iter().any(|line| line == &format!("post /mcp {version}")), "{carrier:?}: {mcp:?}");
        assert!(collector.contains(&format!("post /v1/traces {version}")), "{carrier:?}: {collector:?}");
    }
}

#[tokio::test]
async fn without_the_authority_none_of_them_is_told_anything() {
    for carrier in [Carrier::Tls1, Carrier::Tls2] {
        assert_eq!(called(carrier, false).await.concat(), Vec::<String>::new(), "{carrier:?}");
    }
}
