//! Owns the program `studio`: the command line of the library with a terminal, signals and a log on stderr around it.

use std::io::Write;
use std::process::ExitCode;

#[cfg(unix)]
use nix::sys::signal::{SigSet, Signal};
use wfstudio::command::{self, Console};
use wfstudio::studio::Stop;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

struct Terminal;

impl Console for Terminal {
    fn result(&self, line: &str) {
        let _nobody_reads = writeln!(std::io::stdout().lock(), "{line}");
    }

    fn problem(&self, line: &str) {
        let _nobody_reads = writeln!(std::io::stderr().lock(), "{line}");
    }
}

/// Where there are no signals that can be waited for, the program ends as it is ended.
#[cfg(not(unix))]
#[expect(clippy::needless_pass_by_value, reason = "as on systems with signals")]
fn hear_signals(_: Stop) {}

/// Waits for signals on a thread of its own: the first ends gently, the second at once.
#[cfg(unix)]
fn hear_signals(stop: Stop) {
    let wanted = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    // Threads that are started later take this over: only the waiting one gets them.
    if wanted.thread_block().is_err() {
        return;
    }
    let wait = move || {
        while wanted.wait().is_ok() {
            if stop.gently.is_cancelled() {
                stop.at_once.cancel();
            }
            stop.gently.cancel();
        }
    };
    let _ends_with_the_process = std::thread::Builder::new().name("studio-signals".to_owned()).spawn(wait);
}

/// Warnings and errors of the studio, as lines on stderr.
struct Log;

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{}:", event.metadata().level().as_str().to_ascii_lowercase()));
        event.record(&mut line);
        Terminal.problem(&line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = if field.name() == "message" { format!(" {value:?}") } else { format!(" {}={value:?}", field.name()) };
        self.0.push_str(&text);
    }
}

fn main() -> ExitCode {
    let stop = Stop::default();
    hear_signals(stop.clone());
    let _set_once = tracing::subscriber::set_global_default(Log);
    let environment = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let typed = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let exit = command::main(typed.collect(), environment.collect(), &Terminal, stop);
    ExitCode::from(exit.code())
}
