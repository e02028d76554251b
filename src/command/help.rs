//! Owns the help texts of the command line: every command with its options and examples.

/// The help of a command.
pub(super) struct Topic {
    pub(super) name: &'static str,
    /// One line.
    about: &'static str,
    /// What follows the name.
    arguments: &'static str,
    /// What it does, in a few sentences.
    text: &'static str,
    options: &'static [(&'static str, &'static str)],
    examples: &'static [&'static str],
}

const GLOBAL: [(&str, &str); 5] = [
    ("--config FILE", "read this configuration file; default `studio.toml`, if there is one"),
    ("--database PLACE", "use this database: a file, or a URL such as postgres://user@host/name"),
    ("--tenant T", "act for this tenant; default the empty tenant"),
    ("--json", "print one JSON object instead of text"),
    ("--quiet", "print problems only"),
];

const EXITS: &str = "Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 refused by a flag, 4 not found.";

const TOPICS: [Topic; 10] = [
    Topic {
        name: "install",
        about: "writes configuration, migrations and assets into a project",
        arguments: "",
        text: "Writes `studio.toml`, `studio/migrations` and `studio/assets` below the current folder and brings the database up to date. \
               A file that exists is kept. Each line says `created`, `kept` or `replaced`, and the path.",
        options: &[
            ("--force", "replace files that exist and differ"),
            ("--path DIR", "the folder of the project; default the current one. Relative paths of --config and --database begin there"),
            ("--with-views", "also copy the page templates to `studio/views`; `views_path` makes the studio use them"),
        ],
        examples: &["studio install", "studio --config config/studio.toml install --with-views"],
    },
    Topic {
        name: "work",
        about: "takes runs from the queue",
        arguments: "",
        text: "Runs queued workflows, and runs whose owner died, and prints a line for each: id, status, milliseconds. \
               SIGTERM or SIGINT ends it at the next step boundary, a second one at once.",
        options: &[
            ("--queue Q", "take jobs of this queue; default the configured one"),
            ("--concurrency N", "drive so many runs at once"),
            ("--once", "take one job and end"),
            ("--stop-when-empty", "end when no job waits"),
            ("--max-seconds S", "end after so many seconds, as the first signal does"),
            ("--tries N", "attempts for each job"),
            ("--backoff S", "seconds between attempts"),
            ("--connection PLACE", "the same as --database"),
        ],
        examples: &["studio work", "studio work --queue reports --concurrency 4", "studio work --once --json"],
    },
    Topic {
        name: "migrate",
        about: "brings the database up to date",
        arguments: "",
        text: "Applies the migrations that the database lacks and prints them. A database of a newer version is left alone.",
        options: &[("--pretend", "print what would be applied, change nothing")],
        examples: &["studio migrate --pretend", "studio --database /srv/app/studio.sqlite migrate"],
    },
    Topic {
        name: "purge",
        about: "removes what is older than `retention.*` allows",
        arguments: "",
        text: "Removes old runs, threads, files, expired checkpoints and idempotency records of all tenants, and prints counts. \
               It works in small transactions, so it may be stopped at any time. On a database file it refuses a clock that is more than \
               eight days ahead of the last purge and of the runs since.",
        options: &[
            ("--dry-run", "print the counts, remove nothing"),
            ("--clock-is-right", "believe the clock of this machine, for example after a long break"),
        ],
        examples: &["studio purge --dry-run", "studio purge --quiet"],
    },
    Topic {
        name: "checkpoints:purge",
        about: "removes expired node checkpoints",
        arguments: "",
        text: "Removes the stored results of nodes that have expired.",
        options: &[("--all", "remove all, expired or not"), ("--trace ID", "remove those of one run")],
        examples: &["studio checkpoints:purge", "studio checkpoints:purge --all"],
    },
    Topic {
        name: "runs:rest",
        about: "puts runs to rest in a restored database",
        arguments: "",
        text: "For a database that was copied or restored: queued runs and runs at work of all tenants may have gone on in the original. \
               The next worker ends them as failed, and a retry goes on with one. Use it before anything else opens the database. \
               Copies that `backup` made need it not.",
        options: &[],
        examples: &["studio --database postgres://studio@host/restored runs:rest"],
    },
    Topic {
        name: "doctor",
        about: "checks configuration, database, credentials, queue",
        arguments: "",
        text: "Prints a line for each check: `ok`, `warn` or `fail`. Any `fail` is exit code 1. Values of credentials are never printed.",
        options: &[
            ("--online", "also ask each configured provider whether it answers; no credential is sent"),
            ("--verify", "also verify the hash chain of every run's log"),
        ],
        examples: &["studio doctor", "studio doctor --online --json"],
    },
    Topic {
        name: "export",
        about: "writes an agent or a workflow as a class",
        arguments: "agent|workflow ID",
        text: "Writes the definition as a class below `export_path` and prints the path. A file with another content is kept. \
               Needs `codegen.enabled` and `codegen.export`; off, it is exit code 3. Tools are exported from their form or the API.",
        options: &[
            ("--target T", "php, python, typescript, kotlin, swift, ruby or rust; default `codegen.target`"),
            ("--path DIR", "write below this folder instead of `export_path`"),
            ("--force", "replace a file with another content"),
            ("--json-file", "write a JSON file instead of a class"),
            ("--stdout", "print the file instead of writing it"),
        ],
        examples: &["studio export workflow lead-triage --target python", "studio export agent support-assistant --json-file --path exports"],
    },
    Topic {
        name: "make-tool",
        about: "writes the beginning of a tool of the application",
        arguments: "NAME",
        text: "Writes a class with name, description, input schema and an `invoke` to be written. Needs `codegen.enabled`; off, it is exit code 3.",
        options: &[
            ("--target T", "php, python, typescript, kotlin, swift, ruby or rust; default `codegen.target`"),
            ("--path DIR", "write below this folder instead of `export_path`"),
            ("--force", "replace a file with another content"),
        ],
        examples: &["studio make-tool lookup_order --target kotlin"],
    },
    Topic {
        name: "install-observability",
        about: "adds an observability target to the configuration file",
        arguments: "inspector|langfuse",
        text: "Adds the target's settings to the configuration file and prints the environment variables to set.",
        options: &[("--force", "replace settings that exist")],
        examples: &["studio install-observability langfuse"],
    },
];

/// The list of commands, or what there is to know of one.
pub(super) fn text(command: Option<&str>) -> Option<String> {
    match command {
        None => Some(overview()),
        Some(name) => TOPICS.iter().find(|topic| topic.name == name).map(Topic::text),
    }
}

/// The names of all commands.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

/// The options of a command and those of all commands, without their hyphens.
pub(super) fn options_of(command: &str) -> Option<Vec<&'static str>> {
    let topic = TOPICS.iter().find(|topic| topic.name == command)?;
    let name = |(option, _): &(&'static str, &str)| option.trim_start_matches("--").split(' ').next().unwrap_or_default();
    Some(topic.options.iter().chain(&GLOBAL).map(name).collect())
}

/// The name that was probably meant.
pub(super) fn nearest(typed: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let close = names.map(|name| (distance(name, typed), name)).min()?;
    (close.0 <= 2).then_some(close.1)
}

fn overview() -> String {
    let mut text = String::from("Usage: studio [GLOBAL OPTION…] COMMAND [OPTION…]\n\nCommands:\n");
    for topic in &TOPICS {
        text.push_str(&format!("  {:<22} {}\n", topic.name, topic.about));
    }
    text.push_str("  version                prints the version of the program\n");
    text.push_str("  help [COMMAND]         prints this text, or the options of a command\n");
    text.push_str("\nGlobal options:\n");
    list(&mut text, &GLOBAL);
    text.push_str(&format!("\n{EXITS}\nThe name of a command may begin with `studio:`."));
    text
}

impl Topic {
    fn text(&self) -> String {
        let arguments = if self.arguments.is_empty() { String::new() } else { format!(" {}", self.arguments) };
        let mut text = format!("Usage: studio [GLOBAL OPTION…] {}{arguments} [OPTION…]\n\n{}\n\nOptions:\n", self.name, self.text);
        list(&mut text, self.options);
        text.push_str("\nGlobal options:\n");
        list(&mut text, &GLOBAL);
        text.push_str("\nExamples:\n");
        for example in self.examples {
            text.push_str(&format!("  {example}\n"));
        }
        text.push_str(&format!("\n{EXITS}"));
        text
    }
}

fn list(text: &mut String, options: &[(&str, &str)]) {
    for (option, about) in options {
        text.push_str(&format!("  {option:<22} {about}\n"));
    }
}

/// How many letters must be changed, added or removed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = above + 1;
        for (at, second) in other.iter().enumerate() {
            let changed = corner + usize::from(letter != *second);
            corner = row[at + 1];
            row[at + 1] = changed.min(corner + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}
