//! Owns the protection against cross-site requests.

use http::{HeaderMap, Method, header};

use crate::error::{Error, Kind, Result};

/// Content types that a plain form can send.
const FORM_TYPES: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// Refuses a write that may come from another site. `base_url` is the operator's or the host's; without one the
/// request's own host counts.
pub(super) fn check(method: &Method, headers: &HeaderMap, base_url: Option<&str>, authority: Option<&str>) -> Result<()> {
    if !matches!(*method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE) {
        return Ok(());
    }
    let site = text(headers, "sec-fetch-site");
    let origin = text(headers, header::ORIGIN.as_str());
    let same_site = matches!(site, Some("same-origin" | "none"));
    let same_origin = origin.is_some_and(|origin| is_ours(origin, base_url, authority));
    // A form sends nothing but POST, and a script of another site that sends anything else has `Origin`.
    let deliberate = site.is_none() && origin.is_none() && (*method != Method::POST || not_from_a_form(headers));
    if same_site || same_origin || deliberate {
        return Ok(());
    }
    Err(Error::new(Kind::CrossOrigin, "the request may come from another site; nothing was done. A program sends `Content-Type: application/json`; with an upload, or without a body, the header `X-Requested-With`"))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// A page of another site can send forms, uploads and bodies without a type, but no header of its own.
fn not_from_a_form(headers: &HeaderMap) -> bool {
    let essence = super::call::content_type(headers);
    let asked_by_script = || headers.get("x-requested-with").is_some_and(|value| !value.is_empty());
    match essence.as_deref() {
        None | Some("multipart/form-data") => asked_by_script(),
        Some(essence) => !FORM_TYPES.contains(&essence),
    }
}

fn is_ours(origin: &str, base_url: Option<&str>, authority: Option<&str>) -> bool {
    let Some((scheme, host)) = split(origin) else { return false };
    match base_url {
        Some(base) => split(base).is_some_and(|base| base == (scheme, host)),
        // Behind a proxy the scheme of the request is not known.
        None => authority.is_some_and(|authority| without_port(&authority.to_ascii_lowercase(), &scheme) == host),
    }
}

/// Scheme and host of a URL in lower case, without the scheme's usual port.
fn split(url: &str) -> Option<(String, String)> {
    let (scheme, after) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let host = after.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let host = without_port(&host, &scheme).to_owned();
    Some((scheme, host))
}

fn without_port<'a>(host: &'a str, scheme: &str) -> &'a str {
    let usual = if scheme == "https" { ":443" } else { ":80" };
    host.strip_suffix(usual).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn passes(given: &[(&str, &str)], base: Option<&str>) -> bool {
        let pairs = given.iter().map(|(name, value)| {
            (HeaderName::try_from(*name).expect("a name"), HeaderValue::from_str(value).expect("a value"))
        });
        check(&Method::POST, &pairs.collect(), base, Some("shop.example")).is_ok()
    }

    fn one(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
    }

    #[test]
    fn writes_pass_exactly_as_the_matrix_says() {
        let json = ("content-type", "application/json");
        let form = ("content-type", "application/x-www-form-urlencoded");
        let plain = ("content-type", "text/plain;charset=utf-8");
        let upload = ("content-type", "multipart/form-data; boundary=b");
        let script = ("x-requested-with", "XMLHttpRequest");
        let site = |word| ("sec-fetch-site", word);
        let origin = |url| ("origin", url);
        for (given, wanted) in [
            (vec![site("same-origin")], true),
            (vec![site("none"), form], true),
            (vec![site("same-site"), json], false),
            (vec![site("cross-site"), json, script], false),
            (vec![site("cross-site"), origin("https://shop.example"), json], true),
            (vec![origin("https://shop.example"), form], true),
            (vec![origin("https://SHOP.example:443"), upload], true),
            (vec![origin("http://shop.example:8080"), json], false),
            (vec![origin("https://evil.example"), json], false),
            (vec![origin("https://evil-shop.example"), json], false),
            (vec![origin("null"), json], false),
            (vec![json], true),
            (vec![("content-type", "Application/JSON; charset=utf-8")], true),
            (vec![form], false),
            (vec![form, script], false),
            (vec![plain, script], false),
            (vec![upload], false),
            (vec![upload, script], true),
            (vec![], false),
            (vec![script], true),
            (vec![("x-requested-with", "")], false),
        ] {
            assert_eq!(passes(&given, None), wanted, "{given:?}");
        }
    }

    #[test]
    fn what_no_form_can_send_passes_unless_a_browser_says_that_another_site_sends_it() {
        for method in [Method::PUT, Method::PATCH, Method::DELETE] {
            let passes = |headers: &HeaderMap| check(&method, headers, None, Some("shop.example")).is_ok();
            assert!(passes(&HeaderMap::new()), "{method}");
            assert!(passes(&one("content-type", "application/json")) && passes(&one("content-type", "text/plain")), "{method}");
            assert!(passes(&one("origin", "https://shop.example")) && passes(&one("sec-fetch-site", "same-origin")), "{method}");
            for (name, value) in [("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site"), ("origin", "https://evil.example"), ("origin", "null")] {
                assert!(!passes(&one(name, value)), "{method} {name}: {value}");
            }
        }
    }

    #[test]
    fn a_base_url_decides_which_origin_is_ours() {
        let base = Some("https://app.example/ai");
        assert!(passes(&[("origin", "https://app.example")], base));
        assert!(!passes(&[("origin", "http://app.example")], base));
        assert!(!passes(&[("origin", "https://shop.example")], base));
    }

    #[test]
    fn reading_is_never_refused() {
        let headers = HeaderMap::from_iter([(HeaderName::from_static("sec-fetch-site"), HeaderValue::from_static("cross-site"))]);
        assert!(check(&Method::GET, &headers, None, None).is_ok());
        assert!(check(&Method::DELETE, &headers, None, None).is_err());
    }
}
