//! Owns commands that a host's console runs on its open studio; their output is collected.

use std::path::PathBuf;

use super::{Arguments, Call, Console, Exit, Outcome, exit_of, usage, writes_configuration};
use crate::error::Error;
use crate::studio::{Stop, Studio};
use crate::sync::Mutex;

/// What a command printed and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// How it ended.
    pub exit: Exit,
    /// Its results.
    pub stdout: String,
    /// Its problems.
    pub stderr: String,
}

/// Text that is kept for an answer is not kept for ever: a worker's lines are the host's to follow another way.
const MOST: usize = 4 << 20;

#[derive(Default)]
struct Paper {
    results: Mutex<String>,
    problems: Mutex<String>,
}

fn add(text: &Mutex<String>, line: &str) {
    let mut text = text.lock();
    if text.len() + line.len() < MOST {
        text.push_str(line);
        text.push('\n');
    }
}

impl Console for Paper {
    fn result(&self, line: &str) {
        add(&self.results, line);
    }

    fn problem(&self, line: &str) {
        add(&self.problems, line);
    }
}

/// Runs a command on an open studio. Relative paths begin in `folder`. A worker ends when it is done, or with the studio.
pub async fn of_host(studio: &Studio, typed: Vec<String>, folder: Option<PathBuf>) -> Written {
    let paper = Paper::default();
    let exit = match Arguments::parse(typed) {
        Ok(arguments) => asked(studio, arguments, folder, &paper).await,
        Err(error) => exit_of(&paper, false, Err(error)),
    };
    Written { exit, stdout: std::mem::take(&mut *paper.results.lock()), stderr: std::mem::take(&mut *paper.problems.lock()) }
}

async fn asked(studio: &Studio, mut arguments: Arguments, folder: Option<PathBuf>, paper: &Paper) -> Exit {
    let json = arguments.switch("json").unwrap_or_default();
    let outcome: Outcome = async {
        let (quiet, tenant) = (arguments.switch("quiet")?, arguments.value("tenant").unwrap_or_default());
        let file = arguments.value("config").map(PathBuf::from);
        if file.is_some() && !writes_configuration(arguments.command()) {
            return Err(usage("`--config` is for the program `studio`: this studio is open already"));
        }
        for option in ["database", "connection", "tries", "backoff"] {
            if arguments.value(option).is_some() {
                return Err::<Exit, Error>(usage(format!("`--{option}` is for the program `studio`: this studio is open already")));
            }
        }
        let stop = Stop { gently: studio.world().stopping.child_token(), at_once: studio.world().stopping.child_token() };
        // A host that gives the command up ends what it began, such as a worker.
        let _given_up = stop.gently.clone().drop_guard();
        let call = Call { studio, console: paper, tenant, json, quiet, folder, file, stop, alone: false };
        Ok(super::run(&call, std::mem::take(&mut arguments)).await)
    }
    .await;
    exit_of(paper, json, outcome)
}
