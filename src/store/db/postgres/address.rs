//! Owns the URL of `database.url`: parsed once, never shown.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::SslMode;

use crate::store::error::StoreError;

/// Which certificates of a server are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Any: the connection is encrypted, who is at the other end is not checked (`prefer`, `require`).
    Any,
    /// One of the system's authorities, or of this file's, made for this host (`verify-ca`, `verify-full`).
    Authorities(Option<PathBuf>),
}

/// A server and how to log in.
#[derive(Clone)]
pub(in crate::store) struct Address {
    pub(super) config: tokio_postgres::Config,
    pub(super) trust: Trust,
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.config.get_hosts())
    }
}

fn wrong(what: &str) -> StoreError {
    StoreError::Place(format!("`database.url` {what}; it looks like postgres://user:password@host:5432/database?sslmode=verify-full"))
}

impl Address {
    /// Reads a URL; a password `secret:NAME` is looked up by `secret`.
    pub(in crate::store) fn parse(url: &str, secret: impl Fn(&str) -> Option<String>) -> Result<Self, StoreError> {
        let (url, trust, mode) = without_trust(url)?;
        let (url, password) = without_password(&url);
        let mut config: tokio_postgres::Config = url.parse().map_err(|_| wrong("cannot be read"))?;
        if let Some(password) = password {
            match password.strip_prefix("secret:") {
                Some(name) => {
                    let found = secret(name);
                    let missing = || wrong(&format!("names the secret `{name}`, which is not set (`secrets.{name}` or the variable {name})"));
                    config.password(found.ok_or_else(missing)?)
                }
                None => config.password(password),
            };
        }
        if config.get_hosts().is_empty() {
            return Err(wrong("names no host"));
        }
        config.ssl_mode(mode);
        if config.get_application_name().is_none() {
            config.application_name("workflow-studio");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        // A server that vanished is noticed within seconds, not hours.
        config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(20));
        Ok(Self { config, trust })
    }

    /// Whether anything is encrypted.
    pub(super) fn may_encrypt(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }
}

/// Takes `sslmode` and `sslrootcert` out of a URL.
fn without_trust(url: &str) -> Result<(String, Trust, SslMode), StoreError> {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut rest, mut mode, mut file) = (Vec::new(), None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value),
            Some(("sslrootcert", value)) => file = Some(decoded(value).into()),
            Some(_) | None => rest.push(pair),
        }
    }
    let (mode, trust) = match mode.unwrap_or("prefer") {
        "disable" => (SslMode::Disable, Trust::Any),
        "allow" | "prefer" => (SslMode::Prefer, Trust::Any),
        "require" if file.is_none() => (SslMode::Require, Trust::Any),
        "require" | "verify-ca" | "verify-full" => (SslMode::Require, Trust::Authorities(file)),
        other => return Err(wrong(&format!("has the `sslmode` `{other}`, which does not exist"))),
    };
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{place}{query}"), trust, mode))
}

/// Takes the password out of a URL.
fn without_password(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_owned(), None) };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((login, host)) = authority.rsplit_once('@') else { return (url.to_owned(), None) };
    let Some((user, password)) = login.split_once(':') else { return (url.to_owned(), None) };
    (format!("{scheme}://{user}@{host}{path}"), Some(decoded(password)))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<Address, StoreError> {
        Address::parse(url, |name| (name == "DB_PASSWORD").then(|| "hidden".to_owned()))
    }

    #[test]
    fn urls_tell_login_and_trust() {
        let address = parsed("postgres://me:p%40ss@db.example:6432/studio?sslmode=verify-full&options=-c%20search_path%3Dx").unwrap();
        assert_eq!(address.config.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(address.config.get_options(), Some("-c search_path=x"));
        assert_eq!((address.config.get_ssl_mode(), &address.trust), (SslMode::Require, &Trust::Authorities(None)));
        assert_eq!(format!("{address:?}"), "[Tcp(\"db.example\")]");
        let secret = parsed("postgresql://me:secret:DB_PASSWORD@localhost/studio?sslmode=disable").unwrap();
        assert_eq!(secret.config.get_password(), Some(&b"hidden"[..]));
        assert!(!secret.may_encrypt());
    }

    #[test]
    fn each_mode_says_how_far_a_server_is_trusted() {
        let told = |query: &str| {
            let address = parsed(&format!("postgres://db.example/studio?{query}")).unwrap();
            (address.config.get_ssl_mode(), address.trust)
        };
        for (query, mode) in [("sslmode=disable", SslMode::Disable), ("", SslMode::Prefer), ("sslmode=require", SslMode::Require)] {
            assert_eq!(told(query), (mode, Trust::Any), "{query}");
        }
        for mode in ["require", "verify-ca", "verify-full"] {
            let query = format!("sslmode={mode}&sslrootcert=/ca.pem");
            assert_eq!(told(&query), (SslMode::Require, Trust::Authorities(Some("/ca.pem".into()))), "{query}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_telling_the_password() {
        for url in ["postgres://me:hidden@h/d?sslmode=maybe", "postgres://me:secret:NONE@h/d", "postgres:///d", "postgres://me:hidden@h:port/d"] {
            let text = parsed(url).unwrap_err().to_string();
            assert!(text.contains("database.url") && !text.contains("hidden"), "{text}");
        }
    }
}
