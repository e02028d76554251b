//! Owns the definition of an MCP server: its transport, its command, its secrets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::authorization::Authorization;
use super::elicitation::Elicitation;
use crate::config::Config;
use crate::host::HostDoor;
use crate::model::event::{Fault, FaultCode};
use crate::model::{mcp_environment, secret};
use crate::secrets::Secrets;
use crate::secrets::masking;

/// How long a call may take where the definition says nothing.
const TIMEOUT_MS: u64 = 30_000;
/// What is kept of the text of a failure, which may be the server's.
const TEXT: usize = 4 << 10;

/// A server as it is defined, by the configuration or in the studio.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// Of its definition: a server that is made again under the same slug has another one.
    pub(super) id: String,
    pub(super) slug: String,
    pub(super) enabled: bool,
    pub(super) only: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) require_approval: bool,
    pub(super) timeout: Duration,
    /// The configuration defines it: it may start any command and reach any address.
    own: bool,
    transport: String,
    command: String,
    arguments: Vec<String>,
    env: BTreeMap<String, String>,
    url: String,
    headers: BTreeMap<String, String>,
    token: Option<String>,
}

/// How a server is reached, with its secrets looked up.
#[derive(Clone)]
pub(super) enum ServerAddress {
    /// A program of our own, spoken to over its pipes.
    Program(Program),
    /// Streamable HTTP.
    Http(Address),
    /// The older transport of two channels.
    Events(Address),
}

#[derive(Clone)]
pub(super) struct Program {
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
}

/// An address to speak to.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) token: Option<Arc<str>>,
    /// What to do when that does not suffice.
    pub(super) authorization: Authorization,
    /// Private addresses are fine: the configuration names it.
    pub(super) free: bool,
}

/// A server that can be opened.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) slug: String,
    pub(super) server_address: ServerAddress,
    /// Changes with everything that a connection depends on, its secrets too.
    pub(super) print: String,
    /// Whose connections it takes a place of.
    pub(super) tenant: Arc<str>,
    /// How long a call may take, and whatever has to come before it.
    pub(super) timeout: Duration,
    /// Values that must not be shown.
    pub(super) hidden: Vec<Arc<str>>,
    /// Who answers its questions where no run waits for them.
    pub(super) elicitation: Elicitation,
}

impl Server {
    /// A pinned or stored definition. What the configuration defines is read from the configuration: no command comes from a
    /// database unless the configuration lists it.
    ///
    /// # Errors
    /// The configuration does not define it any more.
    pub(super) fn read(config: &Config, body: &Value) -> Result<Self, Fault> {
        let slug = text(body, "slug").unwrap_or_default();
        let id = text(body, "id").unwrap_or_else(|| slug.clone());
        if body.get("locked").and_then(Value::as_bool) != Some(true) {
            return Ok(Self::of((id, slug), body, false));
        }
        let own = config.mcp.servers.get(&slug);
        own.map(|own| Self::of((id, slug.clone()), own, true))
            .ok_or_else(|| unavailable(&slug, "is no longer defined by the configuration (`mcp.servers`)"))
    }

    fn of((id, slug): (String, String), body: &Value, own: bool) -> Self {
        let flag = |key: &str, usual| body.get(key).and_then(Value::as_bool).unwrap_or(usual);
        let url = text(body, "url").unwrap_or_default();
        let usual = if url.is_empty() { "stdio" } else { "http" };
        Self {
            id,
            slug,
            enabled: flag("enabled", true),
            only: texts(body, "only"),
            exclude: texts(body, "exclude"),
            require_approval: flag("require_approval", false),
            timeout: Duration::from_millis(body.get("timeout_ms").and_then(Value::as_u64).unwrap_or(TIMEOUT_MS)),
            own,
            transport: text(body, "transport").unwrap_or_else(|| usual.to_owned()),
            command: text(body, "command").unwrap_or_default(),
            arguments: texts(body, "args"),
            env: text_map(body, "env"),
            url,
            headers: text_map(body, "headers"),
            token: text(body, "token").filter(|token| !token.is_empty()),
        }
    }

    /// Looks up its secrets, and whether it may be started.
    ///
    /// # Errors
    /// `credential_missing`; `mcp_unavailable` when its command is not allowed.
    pub(super) async fn ready(&self, config: &Config, secrets: &Secrets, host: &HostDoor, tenant: &str) -> Result<Ready, Fault> {
        let (missing, place) = if self.transport == "stdio" { ("command", &self.command) } else { ("url", &self.url) };
        if place.is_empty() {
            return Err(unavailable(&self.slug, &format!("has no `{missing}`")));
        }
        let mut lookup = Lookup { secrets, tenant, hidden: Vec::new() };
        let server_address = match self.transport.as_str() {
            "stdio" => {
                self.may_start(config)?;
                let mut env = lookup.all(&self.env).await?;
                if !self.own && let Ok(path) = std::env::var("PATH") {
                    // What it starts itself is looked up as in the host.
                    env.entry("PATH".to_owned()).or_insert(path);
                }
                ServerAddress::Program(Program { command: self.command.clone(), arguments: self.arguments.clone(), env })
            }
            transport => {
                let headers = lookup.all(&self.headers).await?;
                let token = match &self.token {
                    Some(token) => Some(lookup.one("token", token).await?.into()),
                    None => None,
                };
                let authorization = Authorization::new(secrets, &self.slug, &self.url, tenant);
                let address = Address { url: self.url.clone(), headers, token, authorization, free: self.own };
                if transport == "sse" { ServerAddress::Events(address) } else { ServerAddress::Http(address) }
            }
        };
        let elicitation = Elicitation::new(host, &self.slug, tenant);
        let print = print((tenant, &self.slug), &server_address, elicitation.is_answered());
        let (tenant, timeout) = (tenant.into(), self.timeout);
        Ok(Ready { slug: self.slug.clone(), server_address, print, tenant, timeout, hidden: lookup.hidden, elicitation })
    }

    pub(super) fn may_start(&self, config: &Config) -> Result<(), Fault> {
        if !self.own && !config.mcp.stdio_allowlist.contains(&self.command) {
            let text = format!("may not start `{}`: it is not on the list `mcp.stdio_allowlist`", self.command);
            return Err(unavailable(&self.slug, &text));
        }
        match self.env.keys().find(|name| !self.own && !mcp_environment::may_be_set(name, &config.mcp.env_allowlist)) {
            Some(name) => Err(unavailable(&self.slug, &format!("may not set the variable {name}: it is not on the list `mcp.env_allowlist`"))),
            None => Ok(()),
        }
    }

    /// Does the server lend this tool?
    pub(super) fn offers(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        (self.only.is_empty() || named(&self.only)) && !named(&self.exclude)
    }
}

/// The fault of a server that cannot be used; nothing was done.
pub(super) fn unavailable(slug: &str, text: &str) -> Fault {
    let text = &text[..text.floor_char_boundary(TEXT)];
    Fault::new(FaultCode::McpUnavailable, format!("the MCP server `{slug}` {text}"))
}

/// Looks up secrets and remembers their values, which must not be shown.
struct Lookup<'a> {
    secrets: &'a Secrets,
    tenant: &'a str,
    hidden: Vec<Arc<str>>,
}

impl Lookup<'_> {
    async fn all(&mut self, named: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Fault> {
        let mut found = BTreeMap::new();
        for (name, value) in named {
            found.insert(name.clone(), self.one(name, value).await?);
        }
        Ok(found)
    }

    async fn one(&mut self, name: &str, value: &str) -> Result<String, Fault> {
        let value = if secret::is_reference(value) {
            self.secrets.get(value, self.tenant).await?.0
        } else if secret::looks_written_out(name, value) {
            value.into()
        } else {
            return Ok(value.to_owned());
        };
        self.hidden.push(Arc::clone(&value));
        Ok(value.to_string())
    }
}

/// A server learns once, at the beginning, whether it may ask; so its connection depends on that too.
fn print((tenant, slug): (&str, &str), server_address: &ServerAddress, may_ask: bool) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text.as_bytes());
    };
    add(tenant);
    add(slug);
    add(if may_ask { "may ask" } else { "" });
    match server_address {
        ServerAddress::Program(program) => {
            add(&program.command);
            add(&program.arguments.len().to_string());
            program.arguments.iter().for_each(|argument| add(argument));
            program.env.iter().for_each(|(name, value)| [name, value].into_iter().for_each(|text| add(text)));
        }
        ServerAddress::Http(address) | ServerAddress::Events(address) => {
            add(if matches!(server_address, ServerAddress::Http(_)) { "http" } else { "sse" });
            add(&address.url);
            add(address.token.as_deref().unwrap_or_default());
            add(if address.free { "free" } else { "" });
            address.headers.iter().for_each(|(name, value)| [name, value].into_iter().for_each(|text| add(text)));
        }
    }
    hash.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn text(body: &Value, key: &str) -> Option<String> {
    body.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn texts(body: &Value, key: &str) -> Vec<String> {
    let items = body.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn text_map(body: &Value, key: &str) -> BTreeMap<String, String> {
    let empty = Map::new();
    let items = body.get(key).and_then(Value::as_object).unwrap_or(&empty).iter();
    items.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

impl Ready {
    /// A text without the secrets that the server was given.
    pub(super) fn masked(&self, text: impl Into<String>) -> String {
        let given = match &self.server_address {
            ServerAddress::Program(_) => Vec::new(),
            ServerAddress::Http(address) | ServerAddress::Events(address) => address.authorization.hidden(),
        };
        masking::masked(&text.into(), self.hidden.iter().chain(&given).map(|secret| &**secret))
    }

    /// A schema without them; one of any object where it is none any more.
    pub(super) fn masked_schema(&self, schema: &Value) -> Value {
        serde_json::from_str(&self.masked(schema.to_string())).unwrap_or_else(|_| json!({"type": "object"}))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn ready(settings: Value, body: Value) -> Result<Ready, String> {
        let config = Arc::new(Config::with(settings).expect("a configuration"));
        let secrets = Secrets::new(Arc::clone(&config), HostDoor::default());
        let told = |fault: Fault| format!("{}: {}", fault.code.as_str(), fault.message);
        let server = Server::read(&config, &body).map_err(told)?;
        server.ready(&config, &secrets, &HostDoor::default(), "").await.map_err(told)
    }

    fn stdio(more: Value) -> Value {
        let mut body = json!({"slug": "files", "transport": "stdio", "command": "tool", "args": ["x"]});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    }

    #[tokio::test]
    async fn commands_come_from_the_list_or_from_the_configuration_itself() {
        let listed = json!({"mcp": {"stdio_allowlist": ["tool"]}});
        assert!(ready(listed.clone(), stdio(json!({}))).await.is_ok());
        for body in [stdio(json!({"command": "tool "})), stdio(json!({"command": "/bin/tool"})), stdio(json!({"env": {"Ld_Preload": "x"}}))] {
            assert!(ready(listed.clone(), body).await.err().is_some_and(|text| text.contains("may not")));
        }
        // A definition that says it is the configuration's takes everything from there.
        let own = json!({"mcp": {"stdio_allowlist": [], "servers": {"files": {"command": "own", "env": {"LD_X": "1"}}}}});
        let found = ready(own, stdio(json!({"locked": true}))).await.expect("allowed");
        let ServerAddress::Program(program) = found.server_address else { panic!("a program") };
        assert_eq!((program.command.as_str(), program.arguments.len()), ("own", 0));
        let gone = ready(listed, stdio(json!({"locked": true}))).await.err().expect("refused");
        assert!(gone.starts_with("mcp_unavailable: the MCP server `files` is no longer defined"), "{gone}");
    }

    #[tokio::test]
    async fn definitions_that_differ_share_no_print() {
        let mut prints = std::collections::BTreeSet::new();
        let more = [
            json!({"args": ["run", "MODE=safe"]}),
            json!({"args": ["run"], "env": {"MODE": "safe"}}),
            json!({"args": ["run", "MODE", "safe"]}),
            json!({"args": [], "env": {"A": "b=c"}}),
            json!({"args": [], "env": {"A=b": "c"}}),
        ];
        for one in &more {
            let found = ready(json!({"mcp": {"stdio_allowlist": ["tool"], "env_allowlist": ["MODE", "A"]}}), stdio(one.clone())).await;
            assert!(prints.insert(found.map(|ready| ready.print)), "{one}");
        }
        assert!(prints.iter().filter(|print| print.is_ok()).count() >= 4, "{prints:?}");
    }

    #[tokio::test]
    async fn secrets_are_looked_up_change_the_print_and_are_masked() {
        let body = json!({"slug": "a", "transport": "http", "url": "http://x", "token": "secret:T", "headers": {"X-Key": "secret:K"}});
        let with = |token: &str| json!({"secrets": {"T": token, "K": "keykey"}});
        let one = ready(with("tokenone"), body.clone()).await.expect("ready");
        let other = ready(with("tokentwo"), body.clone()).await.expect("ready");
        assert_ne!(one.print, other.print);
        assert_eq!(one.masked("a tokenone keykey b"), "a *** *** b");
        let missing = ready(json!({}), body).await.err().expect("missing");
        assert!(missing.starts_with("credential_missing"), "{missing}");
    }
}
