//! Owns addresses without their credentials, for display.

use std::borrow::Cow;

use super::secret;

/// What is shown of a value that is a secret.
pub const HIDDEN: &str = "***";

/// Names in a query, beside those of headers, whose values are secrets.
const NAMES: [&str; 6] = ["key", "sig", "signature", "auth", "pass", "pwd"];

/// A text as it is; of an address neither the user and password nor values of the query that look like secrets.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let Some((scheme, after)) = text.split_once("://") else { return Cow::Borrowed(text) };
    let place = after.split('#').next().unwrap_or_default();
    let end = place.find(['/', '?']).unwrap_or(place.len());
    let (authority, path) = place.split_at(end);
    let authority = authority.rsplit_once('@').map_or(Cow::Borrowed(authority), |(_, host)| format!("{HIDDEN}@{host}").into());
    let Some((path, query)) = path.split_once('?') else { return format!("{scheme}://{authority}{path}").into() };
    let query: Vec<Cow<'_, str>> = query.split('&').map(parameter).collect();
    format!("{scheme}://{authority}{path}?{}", query.join("&")).into()
}

fn parameter(text: &str) -> Cow<'_, str> {
    let Some((name, value)) = text.split_once('=') else { return Cow::Borrowed(text) };
    let named = !value.is_empty() && NAMES.iter().any(|known| name.eq_ignore_ascii_case(known));
    if named || secret::looks_written_out(name, value) { format!("{name}={HIDDEN}").into() } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_all_but_its_credentials() {
        for (text, shown) in [
            ("https://collector.example:4318/v1?x=1&y", "https://collector.example:4318/v1?x=1&y"),
            ("https://me:p@ss@h.example/a@b", "https://***@h.example/a@b"),
            ("postgres://me@h/db", "postgres://***@h/db"),
            ("https://h.example?Api_Key=1&sig=2&shop=7&key=", "https://h.example?Api_Key=***&sig=***&shop=7&key="),
            ("https://h.example/?a=sk-1#part", "https://h.example/?a=***"),
            ("no address at all?token=1", "no address at all?token=1"),
            ("", ""),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }
}
