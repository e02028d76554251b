//! Owns lists of hosts and networks as the configuration writes them: `*`, `*.example.com`, `10.0.0.0/8`, `127.0.0.1`.

use std::net::IpAddr;

/// Hosts and networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Patterns(Vec<Pattern>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// `*` stands for any text, dots included.
    Host(String),
    /// An address and how many of its bits count.
    Network(IpAddr, u32),
}

impl Patterns {
    /// Reads a list; `key` names it in problems.
    pub(super) fn read(key: &str, list: &[String]) -> Result<Self, Vec<String>> {
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for text in list.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
            match Pattern::read(text) {
                Some(pattern) => found.push(pattern),
                None => problems.push(format!("`{text}` in `{key}` is neither a host pattern such as `*.example.com` nor a network such as `10.0.0.0/8`")),
            }
        }
        if problems.is_empty() { Ok(Self(found)) } else { Err(problems) }
    }

    /// Is this host, written as in a URL, in the list?
    pub(super) fn has_host(&self, host: &str) -> bool {
        self.0.iter().any(|pattern| pattern.has_host(host))
    }

    /// Is this address in one of the networks of the list?
    pub(super) fn has_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|pattern| matches!(pattern, Pattern::Network(network, bits) if within(address, *network, *bits)))
    }
}

impl Pattern {
    fn read(text: &str) -> Option<Self> {
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Some(Self::Network(address.to_canonical(), 128));
        }
        if let Some((address, bits)) = text.split_once('/') {
            let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse::<u32>().ok()?);
            let most = if address.is_ipv4() { 32 } else { 128 };
            return (bits <= most).then_some(Self::Network(address, bits));
        }
        let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_host = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'*'));
        (is_host && !text.is_empty()).then_some(Self::Host(text))
    }

    fn has_host(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        match self {
            Self::Host(pattern) => fits(pattern, &host.to_ascii_lowercase()),
            Self::Network(network, bits) => {
                let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
                address.is_some_and(|address| within(address.to_canonical(), *network, *bits))
            }
        }
    }
}

/// Greedy: what stands between two stars is taken where it comes first.
fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

fn within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(list: &[&str]) -> Patterns {
        let list: Vec<String> = list.iter().map(|text| (*text).to_owned()).collect();
        Patterns::read("key", &list).expect("patterns")
    }

    #[test]
    fn hosts_fit_their_patterns() {
        let table = [
            ("*", "shop.example", true),
            ("*.example.com", "a.b.EXAMPLE.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "evil-example.com.attacker.test", false),
            ("api-*.example.com", "api-eu.example.com.", true),
            ("api-*.example.com", "api.example.com", false),
            ("example.com", "example.com", true),
            ("example.com", "notexample.com", false),
            ("10.0.0.0/8", "10.2.3.4", true),
            ("10.0.0.0/8", "11.2.3.4", false),
            ("::1", "[::1]", true),
        ];
        for (pattern, host, is) in table {
            assert_eq!(patterns(&[pattern]).has_host(host), is, "{pattern} {host}");
        }
    }

    #[test]
    fn addresses_are_in_networks() {
        let list = patterns(&["127.0.0.1", "10.0.0.0/8", "fd00::/8", "*.internal"]);
        for (text, is) in [("127.0.0.1", true), ("::ffff:127.0.0.1", true), ("127.0.0.2", false), ("10.9.9.9", true), ("fd01::1", true), ("fe80::1", false)] {
            assert_eq!(list.has_address(text.parse().expect("an address")), is, "{text}");
        }
        assert!(patterns(&["0.0.0.0/0"]).has_address("1.2.3.4".parse().expect("an address")));
    }

    #[test]
    fn what_is_no_pattern_is_said() {
        let list = ["10.0.0.0/40".to_owned(), "http://x".to_owned(), String::new()];
        let problems = Patterns::read("webhook.allow_private", &list).expect_err("problems");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("webhook.allow_private"));
    }
}
