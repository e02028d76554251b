//! Owns whether a request names this machine or its own network: only there does a local environment let everybody in. A page of
//! another site can have its name lead to this machine, and then sends what looks like a page of ours; but it cannot have such a name.

use std::net::IpAddr;

use crate::error::{Error, Kind, Result};

/// Last parts of names that nobody can register for all the world.
const OWN: [&str; 8] = ["localhost", "local", "internal", "lan", "home.arpa", "test", "example", "invalid"];

/// Refuses a request by the name of another place; `base_url` is the operator's or the host's.
pub(super) fn check(authority: Option<&str>, base_url: Option<&str>) -> Result<()> {
    let Some(authority) = authority else { return Ok(()) };
    let host = host_of(authority);
    let known = base_url.and_then(|url| url.split_once("://")).is_some_and(|(_, after)| host_of(after) == host);
    if known || is_own(&host) {
        return Ok(());
    }
    let told = format!("`environment: local` lets everybody in by the names of this machine only, not by `{host}`: set `base_url`, or let the application open the gate");
    Err(Error::new(Kind::Forbidden, told))
}

fn is_own(host: &str) -> bool {
    let below = |own: &str| host.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !host.contains('.') || host.parse::<IpAddr>().is_ok() || OWN.into_iter().any(below)
}

/// The host of an authority in lower case, without its port.
fn host_of(authority: &str) -> String {
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_places_are_told_apart() {
        for own in ["127.0.0.1:8787", "localhost", "LOCALHOST.:80", "[::1]:8787", "192.168.1.7", "web:80", "app.localhost", "shop.test:8000", "nas.local", "a.home.arpa"] {
            assert!(check(Some(own), None).is_ok(), "{own}");
        }
        for other in ["evil.example.com", "127.0.0.1.evil.com:8787", "localhost.evil.com", "notlocalhost.io", "xlocal.dev", "127.0.0.1.nip.io"] {
            assert!(check(Some(other), None).is_err(), "{other}");
        }
        assert!(check(None, None).is_ok(), "nothing is named from within the process");
        assert!(check(Some("dev.shop.com:80"), Some("https://Dev.shop.com/app")).is_ok() && check(Some("shop.com"), Some("https://dev.shop.com")).is_err());
    }
}
