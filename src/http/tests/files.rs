//! Files: taken from forms, given back safely, whole or in part.

use bytes::Bytes;
use http::Request;
use serde_json::json;

use super::support::{ask, request, studio, with};
use crate::studio::Studio;

fn form(content: &str) -> Request<Bytes> {
    let part = "Content-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\nContent-Type: text/plain";
    let body = format!("--b\r\n{part}\r\n\r\n{content}\r\n--b--\r\n");
    let form = with(request("POST", "/studio/api/attachments", &body), "content-type", "multipart/form-data; boundary=b");
    with(form, "x-requested-with", "test")
}

#[tokio::test]
async fn files_are_taken_from_forms_and_given_back_safely() {
    let studio = studio(json!({"attachments": {"max_size_kb": 1}}));
    let stored = ask(&studio, form("hello")).await;
    assert_eq!(stored.status.as_u16(), 201, "{}", stored.text());
    let url = stored.json()["url"].as_str().expect("a url").to_owned();
    assert!(url.starts_with("/studio/api/attachments/file?storage_key="), "{url}");
    let file = ask(&studio, request("GET", &url, "")).await;
    assert_eq!((file.text(), file.header("content-security-policy")), ("hello", "sandbox"));
    assert_eq!(file.header("content-disposition"), "attachment; filename*=UTF-8''a%20b.txt");
    assert_eq!(ask(&studio, form("")).await.json()["errors"], json!({"file": ["file is empty"]}));
    for size in [1025, 200_000] {
        let large = ask(&studio, form(&"x".repeat(size))).await;
        assert_eq!((large.code().as_str(), &large.json()["limit_kb"]), ("attachment_too_large", &json!(1)), "{size}");
    }
    let json = ask(&studio, request("POST", "/studio/api/attachments", "{}")).await;
    assert_eq!(json.code(), "unsupported_media_type");
}

#[tokio::test]
async fn a_part_of_a_file_is_given_to_who_asks_for_it() {
    let home = tempfile::tempdir().expect("a folder");
    let beside = json!({"attachments": {"path": home.path().join("room")}});
    for keys in [json!({"attachments": {"path": ""}}), beside] {
        gives_parts(&studio(keys)).await;
    }
}

async fn gives_parts(studio: &Studio) {
    let url = ask(studio, form("0123456789")).await.json()["url"].as_str().expect("a url").to_owned();
    let part = |range: &str| with(request("GET", &url, ""), "range", range);
    let whole = ask(studio, request("GET", &url, "")).await;
    assert_eq!((whole.status.as_u16(), whole.header("accept-ranges")), (200, "bytes"));
    for (range, wanted, content) in [
        ("bytes=0-3", "0123", "bytes 0-3/10"),
        ("bytes=4-", "456789", "bytes 4-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=-99", "0123456789", "bytes 0-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
        ("Bytes = 9-9", "9", "bytes 9-9/10"),
    ] {
        let answer = ask(studio, part(range)).await;
        assert_eq!((answer.status.as_u16(), answer.text(), answer.header("content-range")), (206, wanted, content), "{range}");
    }
    for odd in ["bytes=0-1,4-5", "bytes=3-1", "bytes=x", "bytes=", "items=0-1", "bytes=-"] {
        assert_eq!((ask(studio, part(odd)).await.status.as_u16(), ask(studio, part(odd)).await.text()), (200, "0123456789"), "{odd}");
    }
    for past in ["bytes=10-", "bytes=99-100", "bytes=-0"] {
        let answer = ask(studio, part(past)).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-range"), answer.body.len()), (416, "bytes */10", 0), "{past}");
    }
}

#[tokio::test]
async fn a_file_that_is_known_is_not_sent_again() {
    let studio = studio(json!({}));
    let url = ask(&studio, form("0123456789")).await.json()["url"].as_str().expect("a url").to_owned();
    let whole = ask(&studio, request("GET", &url, "")).await;
    let tag = whole.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() > 2, "{tag}");
    assert_eq!(whole.header("cache-control"), "private, no-cache", "whoever keeps it asks again");
    let asked = |name: &'static str, value: &str| with(request("GET", &url, ""), name, value);
    for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
        let answer = ask(&studio, asked("if-none-match", &known)).await;
        assert_eq!((answer.status.as_u16(), answer.body.len(), answer.header("etag")), (304, 0, tag.as_str()), "{known}");
    }
    assert_eq!(ask(&studio, asked("if-none-match", "\"other\"")).await.status.as_u16(), 200);
    let part = |tag: &str| with(asked("range", "bytes=0-0"), "if-range", tag);
    assert_eq!(ask(&studio, part(&tag)).await.status.as_u16(), 206);
    assert_eq!(ask(&studio, part("\"other\"")).await.status.as_u16(), 200, "it is another file: all of it");
}
