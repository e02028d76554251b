//! Owns the address check of outgoing requests: URLs of users reach only allowed hosts and addresses.

mod address;
mod patterns;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::providers::http_client;
use crate::providers::trust::Trust;
use patterns::Patterns;

/// What may be reached: hosts by name, private addresses only where they are listed.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allowed: Patterns,
    private: Patterns,
    /// The key that `private` is configured under.
    key: Arc<str>,
    trust: Trust,
}

/// Why an address is not called; the text is for people and models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Guard {
    /// The guard of two lists, each with the key that it is configured under: hosts that may be called, and hosts and networks
    /// that may be private.
    ///
    /// # Errors
    /// What is wrong with the lists, one sentence each.
    pub fn new(allowed: (&str, &[String]), private: (&str, &[String])) -> Result<Self, Vec<String>> {
        match (Patterns::read(allowed.0, allowed.1), Patterns::read(private.0, private.1)) {
            (Ok(allowed), Ok(list)) => Ok(Self { allowed, private: list, key: private.0.into(), trust: Trust::default() }),
            (allowed, private) => Err([allowed.err(), private.err()].into_iter().flatten().flatten().collect()),
        }
    }

    /// The same, with certificates of these authorities.
    #[must_use]
    pub fn trusting(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }

    /// Whose certificates are taken.
    pub const fn trust(&self) -> &Trust {
        &self.trust
    }

    /// May this URL be called? A name is looked at again when it is resolved.
    pub fn check(&self, url: &Url) -> Result<(), Refusal> {
        let Some(host) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else {
            return Err(Refusal("only http and https URLs are called".into()));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal("a URL must not hold a user name or password".into()));
        }
        if !self.allowed.has_host(host) {
            return Err(Refusal(format!("the host `{host}` is not on the list of hosts that may be called")));
        }
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) if !self.admits(host, address) => Err(self.private(host)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// May this address, which a host was resolved to, be connected to?
    fn admits(&self, host: &str, address: IpAddr) -> bool {
        address::is_public(address) || self.private.has_host(host) || self.private.has_address(address)
    }

    fn private(&self, host: &str) -> Refusal {
        Refusal(format!("`{host}` leads to a private or local address, which is called only when `{}` names it", self.key))
    }
}

/// Names are resolved once; only addresses that passed are connected to.
impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            let passed: Vec<SocketAddr> = found.into_iter().filter(|address| guard.admits(host, address.ip())).collect();
            if passed.is_empty() {
                return Err(guard.private(host).into());
            }
            Ok(Box::new(passed.into_iter()) as Addrs)
        })
    }
}

/// An HTTP client behind a guard. Made at the first call, so that a process may fork before. It follows no redirects and uses no
/// proxy, which would resolve names itself.
#[derive(Default)]
pub struct GuardedClient {
    guard: Guard,
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl GuardedClient {
    /// A client; nothing is opened yet.
    #[must_use]
    pub const fn new(guard: Guard) -> Self {
        Self { guard, client: OnceLock::new() }
    }

    /// May this URL be called? To be asked before each request, redirects included.
    pub fn check(&self, url: &Url) -> Result<(), Refusal> {
        self.guard.check(url)
    }

    /// The client itself.
    pub fn client(&self) -> Result<&reqwest::Client, String> {
        let made = self.client.get_or_init(|| {
            // A server may close a kept connection just as the next call is sent on it, and then it would be unknown whether that call ran.
            let builder = http_client::builder(&self.guard.trust)?.pool_max_idle_per_host(0).no_proxy().dns_resolver(Arc::new(self.guard.clone()));
            builder.build().map_err(|problem| format!("the HTTP client could not be made: {}", http_client::cause(&problem)))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

/// Why a request failed, without its URL, which may hold a secret.
pub fn why(problem: &reqwest::Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = Some(problem);
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return refusal.0.clone();
        }
        cause = error.source();
    }
    http_client::cause(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allowed: &str, private: &str) -> Guard {
        let list = |text: &str| vec![text.to_owned()];
        Guard::new(("a", &list(allowed)), ("p", &list(private))).expect("a guard")
    }

    fn verdict_on(guard: &Guard, url: &str) -> String {
        guard.check(&url.parse().expect("a URL")).map_or_else(|refusal| refusal.0, |()| "yes".into())
    }

    #[test]
    fn urls_are_refused_however_an_address_is_written() {
        let closed = guard("*", "");
        for url in [
            "http://127.0.0.1/", "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://[::1]:8080/",
            "http://[::ffff:127.0.0.1]/", "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::7f00:1]/", "http://169.254.169.254/latest",
            "http://100.64.0.1/", "http://0/", "http://192.168.0.1./",
        ] {
            assert!(verdict_on(&closed, url).contains("private or local address"), "{url}: {}", verdict_on(&closed, url));
        }
        assert_eq!(verdict_on(&closed, "https://shop.example/x"), "yes");
        assert_eq!(verdict_on(&closed, "http://8.8.8.8/x"), "yes");
        assert!(verdict_on(&closed, "ftp://shop.example/").contains("http and https"));
        assert!(verdict_on(&closed, "http://a:b@shop.example/").contains("user name"));
        assert!(verdict_on(&guard("*.shop.example", ""), "https://other.example/").contains("not on the list"));
        assert_eq!(verdict_on(&guard("*", "127.0.0.0/8"), "http://127.0.0.1/"), "yes");
        assert_eq!(verdict_on(&guard("*", "localhost"), "http://localhost/"), "yes");
    }

    #[tokio::test]
    async fn names_that_lead_to_private_addresses_are_refused() {
        let asked = async |guard: Guard| {
            let found = guard.resolve("localhost".parse().expect("a name")).await;
            found.map_or_else(|refusal| refusal.to_string(), |mut found| found.next().is_some().to_string())
        };
        assert!(asked(guard("*", "")).await.contains("`localhost` leads to a private"));
        assert_eq!(asked(guard("*", "localhost")).await, "true");
        assert_eq!(asked(guard("*", "127.0.0.0/8")).await, "true");
    }
}
