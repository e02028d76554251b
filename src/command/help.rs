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
    ("--config FILE", "read this configuration file; default: `studio.toml`, if there is one"),
    ("--database PLACE", "use this database: a file, or a URL such as postgres://user@host/name"),
    ("--tenant T", "act for this tenant; default: the empty tenant"),
    ("--json", "print one JSON object instead of text"),
    ("--quiet", "print problems only"),
];

const EXITS: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 disabled by a configuration key, 4 not found.";

const TOPICS: [Topic; 10] = [
    Topic {
        name: "install",
        about: "writes configuration, migrations and assets into a project",
        arguments: "",
        text: "Writes `studio.toml`, `studio/migrations` and `studio/assets` below the current folder and brings the database up to date. \
               It keeps files that exist. For each file it prints `created`, `kept` or `replaced`, and the path.",
        options: &[
            ("--force", "replace files that exist and differ"),
            ("--path DIR", "the folder of the project; default: the current folder. Relative paths of --config and --database begin there"),
            ("--with-views", "also copy the page templates to `studio/views`; to use them, set `views_path`"),
        ],
        examples: &["studio install", "studio --config config/studio.toml install --with-views"],
    },
    Topic {
        name: "work",
        about: "executes queued runs",
        arguments: "",
        text: "Executes queued runs, and continues runs whose worker died. Prints a line for each run that pauses or ends: id, status, milliseconds. \
               After SIGTERM or SIGINT each run stops at the end of its current step; after a second signal it stops at once.",
        options: &[
            ("--queue Q", "take runs from this queue; default: the configured queue"),
            ("--concurrency N", "execute at most N runs at the same time"),
            ("--once", "execute one run and end"),
            ("--stop-when-empty", "end when no queued run is due and all runs of this worker have ended"),
            ("--max-seconds S", "after S seconds, stop as after the first signal"),
            ("--tries N", "attempts for each run"),
            ("--backoff S", "seconds between attempts"),
            ("--connection PLACE", "the same as --database"),
        ],
        examples: &["studio work", "studio work --queue reports --concurrency 4", "studio work --once --json"],
    },
    Topic {
        name: "migrate",
        about: "brings the database up to date",
        arguments: "",
        text: "Applies the migrations that the database lacks and prints them. It does not change a database of a newer version.",
        options: &[("--pretend", "print the migrations that the database lacks, and change nothing")],
        examples: &["studio migrate --pretend", "studio --database /srv/app/studio.sqlite migrate"],
    },
    Topic {
        name: "purge",
        about: "removes data that is older than `retention.*` allows",
        arguments: "",
        text: "Removes old runs, threads and files, expired checkpoints and expired idempotency keys of all tenants, and prints counts. \
               It works in small transactions, so you can stop it at any time. On SQLite it removes nothing if the clock is more than \
               eight days ahead of the last purge and of the runs since.",
        options: &[
            ("--dry-run", "print the counts, and remove nothing"),
            ("--clock-is-right", "trust the clock of this machine, for example if the studio was not in use for a long time"),
        ],
        examples: &["studio purge --dry-run", "studio purge --quiet"],
    },
    Topic {
        name: "checkpoints:purge",
        about: "removes expired node checkpoints",
        arguments: "",
        text: "Removes the stored results of nodes that have expired.",
        options: &[("--all", "remove all results, not only the expired ones"), ("--trace ID", "remove all results of one run")],
        examples: &["studio checkpoints:purge", "studio checkpoints:purge --all"],
    },
    Topic {
        name: "runs:rest",
        about: "ends the active runs of a restored database",
        arguments: "",
        text: "For a database that was copied or restored. Its queued and active runs may have continued in the original database. \
               This command marks them, for all tenants. The next worker then ends each of them as failed and does not continue it. \
               To continue such a run in the copy, retry it. Use the command before any other program opens the copy. \
               Copies that the operation `backup` made do not need this command.",
        options: &[],
        examples: &["studio --database postgres://studio@host/restored runs:rest"],
    },
    Topic {
        name: "doctor",
        about: "checks configuration, database, credentials and queue",
        arguments: "",
        text: "Prints a line for each check: `ok`, `warn` or `fail`. If a check fails, the exit code is 1. The command never prints a credential.",
        options: &[
            ("--online", "also check whether each configured provider answers; sends no credential"),
            ("--verify", "also verify the hash chain of every run's log"),
        ],
        examples: &["studio doctor", "studio doctor --online --json"],
    },
    Topic {
        name: "export",
        about: "writes an agent or a workflow as a class",
        arguments: "agent|workflow ID",
        text: "Writes the definition as a class below `export_path` and prints the path. It keeps a file that exists with other content. \
               If `codegen.enabled` or `codegen.export` is off, it writes nothing and the exit code is 3. To export a tool, use its form or the API.",
        options: &[
            ("--target T", "php, python, typescript, kotlin, swift, ruby or rust; default: `codegen.target`"),
            ("--path DIR", "write below this folder instead of `export_path`"),
            ("--force", "replace a file that exists with other content"),
            ("--json-file", "write a JSON file instead of a class"),
            ("--stdout", "print the file instead of writing it"),
        ],
        examples: &["studio export workflow lead-triage --target python", "studio export agent support-assistant --json-file --path exports"],
    },
    Topic {
        name: "make-tool",
        about: "writes the skeleton of a tool of your application",
        arguments: "NAME",
        text: "Writes a class with a name, a description, an input schema and an empty function `invoke`, for you to complete. \
               If `codegen.enabled` is off, it writes nothing and the exit code is 3.",
        options: &[
            ("--target T", "php, python, typescript, kotlin, swift, ruby or rust; default: `codegen.target`"),
            ("--path DIR", "write below this folder instead of `export_path`"),
            ("--force", "replace a file that exists with other content"),
        ],
        examples: &["studio make-tool lookup_order --target kotlin"],
    },
    Topic {
        name: "install-observability",
        about: "adds an observability system to the configuration file",
        arguments: "inspector|langfuse",
        text: "Adds the settings of the system to the configuration file and prints the environment variables to set.",
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
