//! Owns the signatures of requests to Amazon, version 4: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::config::Secret;
use crate::model::Timestamp;
use crate::model::hex::hex;

/// What Amazon knows a caller by, who signs instead of sending a key.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Which key it is.
    pub id: Secret,
    /// The key.
    pub secret: Secret,
    /// Of keys that end by themselves.
    pub session: Option<Secret>,
}

/// Where and when a signature holds.
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    /// Such as `20150830T123600Z`.
    pub(super) at: &'a str,
}

/// What is signed of a request.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// As it is sent.
    pub(super) path: &'a str,
    /// In the order in which it is signed.
    pub(super) query: &'a str,
    /// Names in small letters, in order.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

/// A moment as signatures name it.
pub(super) fn moment(at: Timestamp) -> String {
    let mut text: String = at.rfc3339().chars().take("YYYY-MM-DDTHH:MM:SS".len()).filter(|sign| !matches!(sign, '-' | ':')).collect();
    text.push('Z');
    text
}

/// The value of the header `authorization`.
pub(super) fn authorization(keys: &Keys, scope: &Scope<'_>, request: &Signed<'_>) -> String {
    let names = request.headers.iter().map(|header| header.0).collect::<Vec<_>>().join(";");
    let headers = request.headers.iter().fold(String::new(), |mut told, (name, value)| {
        let _ = writeln!(told, "{name}:{}", value.split_whitespace().collect::<Vec<_>>().join(" "));
        told
    });
    let path = encoded(request.path);
    let canonical = format!("{}\n{path}\n{}\n{headers}\n{names}\n{}", request.method, request.query, hex(&Sha256::digest(request.body)));
    let day = &scope.at[..8];
    let place = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let text = format!("AWS4-HMAC-SHA256\n{}\n{place}\n{}", scope.at, hex(&Sha256::digest(canonical)));
    let first = format!("AWS4{}", keys.secret.0).into_bytes();
    let key = [day, scope.region, scope.service, "aws4_request"].iter().fold(first, |key, part| mac(&key, part));
    let signature = hex(&mac(&key, &text));
    format!("AWS4-HMAC-SHA256 Credential={}/{place}, SignedHeaders={names}, Signature={signature}", keys.id.0)
}

/// Every service but the storage has the path that is sent encoded once more.
fn encoded(path: &str) -> String {
    const KEPT: percent_encoding::AsciiSet =
        percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
    percent_encoding::utf8_percent_encode(path, &KEPT).to_string()
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(session: Option<&str>) -> Keys {
        let secret = |text: &str| Secret(text.into());
        Keys { id: secret("AKIDEXAMPLE"), secret: secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), session: session.map(secret) }
    }

    fn signature(service: &str, request: &Signed<'_>) -> String {
        let scope = Scope { region: "us-east-1", service, at: "20150830T123600Z" };
        let told = authorization(&keys(None), &scope, request);
        let head = format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request, SignedHeaders=host;x-amz-date");
        assert!(told.starts_with(&head), "{told}");
        told.rsplit_once('=').expect("a signature").1.to_owned()
    }

    /// `get-vanilla`, `post-vanilla`, `get-vanilla-query-order-key-case` of Amazon's suite of tests for this version.
    #[test]
    fn requests_of_the_suite_are_signed_as_it_says() {
        let headers = [("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")];
        for (method, query, wanted) in [
            ("GET", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            ("GET", "Param1=value1&Param2=value2", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        ] {
            assert_eq!(signature("service", &Signed { method, path: "/", query, headers: &headers, body: b"" }), wanted, "{method} {query}");
        }
    }

    /// What botocore 1.44.8 signs for the same requests.
    #[test]
    fn requests_to_bedrock_are_signed_as_botocore_does() {
        let host = ("host", "bedrock-runtime.us-east-1.amazonaws.com");
        let (date, token) = (("x-amz-date", "20150830T123600Z"), ("x-amz-security-token", "SESSION/TOKEN=="));
        let stream = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream";
        let whole = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/converse";
        for (path, headers, wanted) in [
            (stream, vec![host, date, token], "115ebaa3ec6273e2b31640459bed93d7175224f43124d0a37abf8068c1816660"),
            (whole, vec![host, date], "95c9ed26c8d752e948cf66414c474a5a6cfcf3ad43de4d21762c523e79937ec2"),
        ] {
            assert_eq!(signature("bedrock", &Signed { method: "POST", path, query: "", headers: &headers, body: br#"{"messages":[]}"# }), wanted);
        }
    }

    #[test]
    fn a_moment_has_neither_signs_nor_parts_of_a_second() {
        assert_eq!(moment(Timestamp(1_440_938_160_123)), "20150830T123600Z");
    }
}
