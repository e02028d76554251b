//! Owns the refusal of `stdio` servers on systems without process groups.

use std::sync::Arc;

use super::server::Program;
use super::wire::Wire;

/// There is none.
#[derive(Debug)]
pub(super) enum Process {}

impl Process {
    pub(super) fn kill(&self) {
        match *self {}
    }
}

/// Of a program that there is not.
#[derive(Clone, Debug)]
pub(super) enum LastWords {}

impl LastWords {
    pub(super) async fn to_the_end(&self) -> String {
        match *self {}
    }
}

/// Refuses to start a program.
///
/// # Errors
/// Always.
pub(super) fn start(program: &Program, _: &[Arc<str>]) -> Result<(Wire, Arc<Process>, LastWords), String> {
    Err(format!("could not be started: `{}`: programs are not started on this system; reach the server by HTTP", program.command))
}
