//! Owns the command line: one function for the program `studio` and the console of a host: arguments in, exit code and text out.

mod arguments;
mod doctor;
mod export;
mod help;
mod install;
mod migrate;
mod observability;
mod program;
mod purge;
mod written;
mod work;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Error, Kind};
use crate::studio::{Stop, Studio};
pub use arguments::Arguments;
pub use program::main;
pub use written::{Written, of_host};

/// Where a command's text goes.
pub trait Console: Send + Sync {
    /// A line of what came out.
    fn result(&self, line: &str);
    /// A line about what went wrong.
    fn problem(&self, line: &str);
}

/// What a command ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It was not asked in a way that it understands, or the configuration is wrong.
    Usage,
    /// A flag forbids it.
    Refused,
    /// What it is about is not there.
    NotFound,
}

impl Exit {
    /// The exit code of a process.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NotFound => 4,
        }
    }

    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::FlagDisabled => Self::Refused,
            Kind::NotFound => Self::NotFound,
            Kind::ValidationFailed => Self::Usage,
            Kind::MalformedJson
            | Kind::Unauthenticated
            | Kind::Forbidden
            | Kind::CrossOrigin
            | Kind::RouteDisabled
            | Kind::MethodNotAllowed
            | Kind::InvalidState
            | Kind::PauseNotPending
            | Kind::PauseAmbiguous
            | Kind::AlreadyResumed
            | Kind::CheckpointInvalid
            | Kind::RevisionConflict
            | Kind::SlugTaken
            | Kind::InUse
            | Kind::Locked
            | Kind::ThreadBusy
            | Kind::IdempotencyInProgress
            | Kind::BodyTooLarge
            | Kind::AttachmentTooLarge
            | Kind::UnsupportedMediaType
            | Kind::GraphInvalid
            | Kind::WrongAnswerKind
            | Kind::IdempotencyKeyReused
            | Kind::ImportInvalid
            | Kind::TooManyStreams
            | Kind::TooManyRuns
            | Kind::Internal
            | Kind::AsyncDisabled
            | Kind::UpstreamFailed
            | Kind::StoreUnavailable
            | Kind::ShuttingDown => Self::Failed,
        }
    }
}

/// What every command is given.
pub struct Call<'a> {
    /// The studio that it works on.
    pub studio: &'a Studio,
    /// Where its text goes.
    pub console: &'a dyn Console,
    /// Whom it is for.
    pub tenant: String,
    /// One JSON object instead of text.
    pub json: bool,
    /// No results, only problems.
    pub quiet: bool,
    /// Relative paths begin here; none = where the process is.
    pub folder: Option<PathBuf>,
    /// The configuration file, when one is named.
    pub file: Option<PathBuf>,
    /// How it is asked to end.
    pub stop: Stop,
    /// The studio was opened for this command, which may end it.
    pub alone: bool,
}

impl Call<'_> {
    /// A line of text for people.
    fn say(&self, line: &str) {
        if !self.quiet {
            self.tell(line);
        }
    }

    /// A line of text for people that they want also when they want quiet.
    fn tell(&self, line: &str) {
        if !self.json {
            self.console.result(line);
        }
    }

    /// The database file of a program that has none yet.
    fn lacks_database(&self) -> Option<&std::path::Path> {
        self.studio.config().database_file().filter(|file| self.alone && !file.exists())
    }

    /// Refused where the database would have to be made first: it is hardly the one that is meant.
    fn must_find_database(&self, nothing: &str) -> Result<(), Error> {
        match self.lacks_database() {
            None => Ok(()),
            Some(file) => {
                let told = format!("there is no database `{}`; {nothing}; `--database` or the configuration names another", file.display());
                Err(Error::new(Kind::NotFound, told))
            }
        }
    }

    /// Waits for work that may take long, and prints its progress now and then.
    async fn patiently<T>(&self, work: impl Future<Output = T>, so_far: impl Fn() -> String) -> T {
        tokio::pin!(work);
        let mut seconds = 0;
        loop {
            match tokio::time::timeout(PATIENCE, &mut work).await {
                Ok(done) => return done,
                Err(_) => seconds += PATIENCE.as_secs(),
            }
            if !self.quiet && !self.json {
                self.console.problem(&format!("still working after {seconds} s{}", so_far()));
            }
        }
    }

    /// The JSON object, for programs.
    fn give(&self, object: &Value) {
        if self.json {
            self.console.result(&object.to_string());
        }
    }
}

/// How long work is silent.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a command ends, or why it could not.
type Outcome = Result<Exit, Error>;

/// What `studio version` says.
fn version(console: &dyn Console, json: bool) {
    let version = env!("CARGO_PKG_VERSION");
    console.result(&if json { json!({ "version": version }).to_string() } else { format!("studio {version}") });
}

/// Whether a command writes the configuration file, which need not exist before.
fn writes_configuration(command: &str) -> bool {
    matches!(command, "install" | "install-observability")
}

/// Tells what commands there are, or the options of one.
fn helped(mut arguments: Arguments, console: &dyn Console) -> Outcome {
    let command = arguments.word();
    let name = command.as_deref().map(|name| name.strip_prefix("studio:").unwrap_or(name));
    let text = help::text(name).ok_or_else(|| unknown(name.unwrap_or_default()))?;
    console.result(&text);
    Ok(Exit::Done)
}

fn unknown(name: &str) -> Error {
    let meant = help::nearest(name, help::commands()).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    usage(format!("there is no command `{name}`{meant} (`studio help` lists them)"))
}

fn usage(text: impl Into<String>) -> Error {
    Error::new(Kind::ValidationFailed, text)
}

/// Runs a command on a studio that is open.
pub async fn run(call: &Call<'_>, arguments: Arguments) -> Exit {
    exit_of(call.console, call.json, dispatch(call, arguments).await)
}

async fn dispatch(call: &Call<'_>, arguments: Arguments) -> Outcome {
    match arguments.command() {
        "help" => helped(arguments, call.console),
        "version" => {
            version(call.console, call.json);
            Ok(Exit::Done)
        }
        "work" => work::run(call, arguments).await,
        "migrate" => migrate::run(call, arguments).await,
        "doctor" => doctor::run(call, arguments).await,
        "export" => export::run(call, arguments).await,
        "make-tool" => export::make_tool(call, arguments).await,
        "purge" => purge::run(call, arguments).await,
        "install-observability" => observability::run(call, arguments).await,
        "runs:rest" => purge::rest(call, arguments).await,
        "checkpoints:purge" => purge::checkpoints(call, arguments).await,
        "install" => install::run(call, arguments).await,
        other => Err(unknown(other)),
    }
}

/// Tells a problem as every command does.
fn exit_of(console: &dyn Console, json: bool, outcome: Outcome) -> Exit {
    outcome.unwrap_or_else(|error| {
        let exit = Exit::of(error.kind);
        let code = if exit == Exit::Usage { "usage" } else { error.kind.code() };
        console.problem(&format!("error[{code}]: {}", error.message));
        if json {
            console.result(&json!({"error": {"code": code, "message": error.message}}).to_string());
        }
        exit
    })
}

#[cfg(test)]
mod tests;
