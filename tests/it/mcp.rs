//! MCP servers through the facade: a program that this test binary is itself, and one over HTTP.

mod asked;
mod authorized;
mod cost;
mod doubt;
mod elicited;
mod lost;
mod peer;
mod program;
mod real;
mod support;
mod web;

/// Not a test: the program that the others start.
#[test]
#[ignore = "it is the server that the other tests start"]
fn speaks_over_pipes() {
    if std::env::var_os("PEER").is_some() {
        peer::speak_over_pipes();
    }
}
