//! Owns the check that the host name of a request belongs to this machine or network: only then a local environment allows it. Another site can
//! let its own name resolve to this machine (DNS rebinding), but it cannot use such a name.

use std::net::IpAddr;

use http::Uri;
use http::uri::Authority;

use crate::error::{Error, Kind, Result};

/// Top-level names that cannot be registered publicly.
const OWN: [&str; 8] = ["localhost", "local", "internal", "lan", "home.arpa", "test", "example", "invalid"];

/// Refuses a request by the name of another place; `base_url` is the operator's or the host's.
pub(super) fn check(authority: Option<&[u8]>, base_url: Option<&str>) -> Result<()> {
    let Some(authority) = authority else { return Ok(()) };
    let host = Authority::try_from(authority).ok().map(|authority| name(&authority));
    let ours = base_url.and_then(|url| url.parse::<Uri>().ok()).and_then(|url| url.authority().map(name));
    if host.as_deref().is_some_and(is_own) || (host.is_some() && host == ours) {
        return Ok(());
    }
    let host = host.unwrap_or_else(|| String::from_utf8_lossy(authority).into_owned());
    let told = format!("`environment: local` allows only requests to a name of this machine or network, and `{host}` is not one; set `base_url`, or let the application set the mark `gate`");
    Err(Error::new(Kind::Forbidden, told))
}

fn is_own(host: &str) -> bool {
    let below = |own: &str| host.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !host.contains('.') || host.parse::<IpAddr>().is_ok() || OWN.into_iter().any(below)
}

/// The host in lower case, without brackets and without the dot that ends a whole name; as it is where more follows than a port.
fn name(authority: &Authority) -> String {
    let (whole, host) = (authority.as_str(), authority.host());
    let after = whole.rsplit('@').next().and_then(|place| place.strip_prefix(host));
    let host = if after.is_some_and(|after| after.is_empty() || after.starts_with(':')) { host } else { whole };
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(host: &str, base_url: Option<&str>) -> bool {
        check(Some(host.as_bytes()), base_url).is_ok()
    }

    #[test]
    fn names_of_other_places_are_told_apart() {
        for own in ["127.0.0.1:8787", "localhost", "LOCALHOST.:80", "[::1]:8787", "192.168.1.7", "web:80", "app.localhost", "shop.test:8000", "nas.local", "a.home.arpa"] {
            assert!(passes(own, None), "{own}");
        }
        for other in ["evil.example.com", "127.0.0.1.evil.com:8787", "localhost.evil.com", "notlocalhost.io", "xlocal.dev", "127.0.0.1.nip.io", "localhost:80@evil.com", "[::1].evil.com", "", "\u{e9}.local", "local host"] {
            assert!(!passes(other, None), "{other}");
        }
        assert!(check(None, None).is_ok(), "nothing is named from within the process");
    }

    #[test]
    fn the_base_url_is_a_name_of_ours() {
        assert!(passes("dev.shop.com:80", Some("https://Dev.shop.com/app")) && passes("dev.shop.com", Some("https://me:secret@dev.shop.com")));
        assert!(!passes("shop.com", Some("https://dev.shop.com")) && !passes("\u{e9}", Some("no address")));
    }
}
