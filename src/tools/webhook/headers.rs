//! Owns the headers of a webhook: allowed names, parameters and secrets in values.

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::address::{Piece, pieces, plain};
use crate::model::secret;
use crate::config::Secret;
use crate::secrets::Secrets;
use crate::tools::ToolReply;

/// Headers that the connection itself decides.
const RESERVED: [&str; 12] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "http2-settings",
];

/// Headers of one call.
#[derive(Default)]
pub(super) struct Headers {
    pub(super) map: HeaderMap,
    /// The secrets in them, to be masked in whatever comes back.
    pub(super) secrets: Vec<Secret>,
}

/// The headers of a call: secrets looked up, parameters replaced. A header whose parameters are missing is left out.
///
/// # Errors
/// A secret is not set, or a value cannot be sent.
pub(super) async fn fill(
    templates: &Map<String, Value>,
    inputs: &Map<String, Value>,
    used: &mut BTreeSet<String>,
    (secrets, tenant): (&Secrets, &str),
) -> Result<Headers, ToolReply> {
    let mut headers = Headers::default();
    for (name, template) in templates {
        let template = template.as_str().unwrap_or_default();
        let header = HeaderName::try_from(name.as_str()).map_err(|_| ToolReply::error(format!("`{name}` is no header name")))?;
        if secret::is_reference(template) {
            let found = secrets.get(template, tenant).await.map_err(ToolReply::undone)?;
            let unfit = |_| ToolReply::error(format!("the secret in the header `{name}` has characters that cannot be sent"));
            let mut value = HeaderValue::from_str(&found.0).map_err(unfit)?;
            value.set_sensitive(true);
            headers.secrets.push(found);
            headers.map.insert(header, value);
        } else if let Some(value) = filled(name, template, inputs, used).map_err(ToolReply::error)? {
            headers.map.insert(header, value);
        }
    }
    Ok(headers)
}

fn filled(header: &str, template: &str, inputs: &Map<String, Value>, used: &mut BTreeSet<String>) -> Result<Option<HeaderValue>, String> {
    let (mut text, mut wanted, mut found) = (String::new(), 0, 0);
    for piece in pieces(template) {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Parameter(name) => {
                wanted += 1;
                used.insert(name.to_owned());
                let Some(value) = inputs.get(name).filter(|value| !value.is_null()) else { continue };
                found += 1;
                let value = plain(value);
                if value.chars().any(char::is_control) {
                    return Err(format!("`{name}` has control characters, which the header `{header}` must not carry"));
                }
                text.push_str(&value);
            }
        }
    }
    if wanted > 0 && found == 0 {
        return Ok(None);
    }
    let value = HeaderValue::from_str(&text).ok().filter(|_| text.is_ascii());
    value.map(Some).ok_or_else(|| format!("the header `{header}` can carry ASCII characters only"))
}

/// What is wrong with a header of a webhook, if anything is.
pub fn header_problem(name: &str, value: &str) -> Option<&'static str> {
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        Some("is set by the connection itself")
    } else if value.contains("secret:") && !secret::is_reference(value) {
        Some("may name a secret only as its whole value, as in `secret:NAME`")
    } else if !value.is_ascii() {
        Some("can carry ASCII characters only")
    } else {
        None
    }
}
