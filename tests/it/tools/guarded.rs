//! Where webhooks may go: addresses, names that lead to addresses, redirects to both.

use expect_test::expect;
use serde_json::{Value, json};

use super::server::Server;
use super::{hook, near, tried};
use crate::support::Bench;

fn bench(webhook: Value) -> Bench {
    Bench::new(json!({"webhook": webhook, "secrets": {"SHOP_TOKEN": "s3cret-token"}}))
}

async fn asked(bench: &Bench, url: &str) -> String {
    tried(bench, &hook(bench, json!({"url": url, "headers": {"Authorization": "secret:SHOP_TOKEN"}})).await, json!({})).await
}

#[tokio::test]
async fn private_addresses_are_refused_by_default() {
    let (bench, server) = (bench(json!({})), Server::start().await);
    let port = server.port;
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "[64:ff9b::7f00:1]"] {
        let told = asked(&bench, &format!("http://{host}:{port}/")).await;
        assert!(told.contains("leads to a private or local address, which is called only when `webhook.allow_private` names it"), "{host}: {told}");
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_listed_may_be_called() {
    let server = Server::start().await;
    for private in ["127.0.0.0/8", "127.0.0.1", "*"] {
        assert!(asked(&bench(json!({"allow_private": [private]})), &server.url("/")).await.contains("GET"), "{private}");
    }
    assert!(asked(&bench(json!({"allow_private": ["localhost"]})), &server.named("/")).await.contains("GET"));
    let told = asked(&bench(json!({"allow_private": ["*"], "allowed_hosts": ["*.example.com"]})), &server.url("/")).await;
    assert!(told.contains("not on the list of hosts"), "{told}");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn every_redirect_is_checked_again() {
    let (far, server) = (bench(json!({"allow_private": ["localhost"]})), Server::start().await);
    let mut told = String::new();
    for to in [server.url("/secret"), "http://169.254.169.254/latest".into(), "http://[::1]/".into(), "file:///etc/passwd".into(), "http://user:pass@localhost/".into()] {
        for code in [301, 303, 307] {
            let answer = asked(&far, &server.named(&format!("/redirect?code={code}&to={to}"))).await;
            assert!(answer.starts_with("error: "), "{to}: {answer}");
            if code == 301 {
                told.push_str(&answer.replace(&server.port.to_string(), "PORT"));
                told.push('\n');
            }
        }
    }
    expect![[r#"
        error: `127.0.0.1` leads to a private or local address, which is called only when `webhook.allow_private` names it
        error: `169.254.169.254` leads to a private or local address, which is called only when `webhook.allow_private` names it
        error: `[::1]` leads to a private or local address, which is called only when `webhook.allow_private` names it
        error: only http and https URLs are called
        error: a URL must not hold a user name or password
    "#]].assert_eq(&told);
    assert!(server.seen().iter().all(|line| line.starts_with("GET /redirect")), "{:#?}", server.seen());
    let told = asked(&far, &server.named("/around")).await;
    assert_eq!(told, "error: the webhook was redirected more than 5 times");
}

#[tokio::test]
async fn credentials_never_go_to_another_origin() {
    let (bench, first, second) = (near(), Server::start().await, Server::start().await);
    assert!(asked(&bench, &first.url("/redirect?to=/kept")).await.contains("\"authorization\":\"***\""));
    assert!(asked(&bench, &first.url(&format!("/redirect?to={}", second.url("/moved")))).await.contains("\"authorization\":\"none\""));
    assert!(first.seen().iter().all(|line| line.contains("s3cret-token")));
    assert!(!second.seen_text().contains("s3cret-token"), "{}", second.seen_text());
}

#[tokio::test]
async fn redirects_repeat_the_request_or_say_that_the_work_is_done() {
    let (bench, server) = (near(), Server::start().await);
    for (method, code) in [("GET", 302), ("POST", 302), ("POST", 303), ("POST", 307), ("PUT", 301), ("PUT", 303)] {
        let url = server.url(&format!("/redirect?code={code}&to=/done"));
        tried(&bench, &hook(&bench, json!({"method": method, "url": url})).await, json!({"a": 1})).await;
    }
    let done: Vec<String> = server.seen().iter().filter(|line| line.contains(" /done ")).map(|line| {
        let (method, body) = (line.split(' ').next().unwrap_or_default(), line.rsplit(" | ").next().unwrap_or_default());
        format!("{method} {body}")
    }).collect();
    expect![[r#"["GET ", "GET ", "POST {\"a\":1}", "GET "]"#]].assert_eq(&format!("{done:?}"));
}

#[test]
fn lists_that_cannot_be_read_refuse_the_start() {
    let config = crate::support::config(json!({"webhook": {"allow_private": ["10.0.0.0/99"]}}), ":memory:");
    let error = wfstudio::studio::Studio::open(config).err().expect("a refusal");
    assert!(error.message.contains("`10.0.0.0/99` in `webhook.allow_private`"), "{error}");
}
