//! Owns the messages to a program over its pipes: one per line; other output is read and its end kept.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ServerJsonRpcMessage;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use super::process::Process;
use super::server::Program;
use super::wire::{self, Broken, EDGE, Ends, MESSAGE_LIMIT, Outgoing, Wire};
use crate::json;
use crate::secrets::masking;
use crate::sync::Mutex;

/// How much of a program's last output is shown, how much is kept until secrets are masked in it, and how long it is waited for
/// once it has ended.
const WORDS: usize = 2048;
const KEPT: usize = 4 * WORDS;
const WORDS_COME: Duration = Duration::from_secs(1);
/// Messages of one line.
const BATCH: usize = 1024;

/// The end of what a program wrote to its error channel.
#[derive(Clone, Debug)]
pub(super) struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Gone when nothing more comes.
    more: watch::Receiver<()>,
    /// Values that must not be shown.
    hidden: Arc<[Arc<str>]>,
}

impl LastWords {
    /// No words yet, and what is dropped when there will be no more.
    fn new(hidden: &[Arc<str>]) -> (Self, watch::Sender<()>) {
        let (listening, more) = watch::channel(());
        (Self { kept: Arc::default(), more, hidden: hidden.into() }, listening)
    }

    /// What a program that has ended said, to its last word: they may come after its end is known.
    pub(super) async fn to_the_end(&self) -> String {
        let mut more = self.more.clone();
        let _too_long = tokio::time::timeout(WORDS_COME, more.changed()).await;
        self.last_words()
    }

    /// As text on one line; empty when it said nothing.
    fn last_words(&self) -> String {
        let words = String::from_utf8_lossy(&self.kept.lock()).into_owned();
        // Masked before it is cut, so that no part of a secret stays at the edge.
        let words = masking::masked(&words, self.hidden.iter().map(|secret| &**secret));
        let words = &words[words.ceil_char_boundary(words.len().saturating_sub(WORDS))..];
        let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" | ").chars().filter(|letter| !letter.is_control()).collect()
    }
}

/// Starts a program and speaks with it.
pub(super) fn start(program: &Program, hidden: &[Arc<str>]) -> Result<(Wire, Arc<Process>, LastWords), String> {
    let told = |problem: std::io::Error| format!("could not be started: `{}`: {problem}", program.command);
    let (process, pipes) = Process::start(program).map_err(told)?;
    let process = Arc::new(process);
    let (words, listening) = LastWords::new(hidden);
    let input = pipe::Sender::from_owned_fd(OwnedFd::from(pipes.input)).map_err(told)?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(pipes.output)).map_err(told)?;
    let errors = pipe::Receiver::from_owned_fd(OwnedFd::from(pipes.errors)).map_err(told)?;
    let (mut wire, Ends { outgoing, incoming }) = Wire::new();
    wire.carry(write(input, outgoing));
    wire.carry(read(output, incoming));
    // Not a task of the wire: its last words may come after the wire's end.
    drop(tokio::spawn(drain(errors, Arc::clone(&words.kept), listening)));
    let ending = Arc::clone(&process);
    wire.ends_with(Box::pin(async move { ending.end().await }));
    Ok((wire, process, words))
}

async fn write(mut input: pipe::Sender, mut outgoing: mpsc::Receiver<Outgoing>) {
    while let Some((message, tell)) = outgoing.recv().await {
        let sent = match serde_json::to_vec(&message) {
            Ok(mut line) => {
                line.push(b'\n');
                // Without its end a line is no message.
                input.write_all(&line).await.map_err(|problem| unsent(format!("does not take input: {problem}")))
            }
            Err(problem) => Err(unsent(format!("was not asked: the message has no JSON form: {problem}"))),
        };
        let broken = sent.is_err();
        let _nobody_waits = tell.send(sent);
        if broken {
            return;
        }
    }
}

const fn unsent(text: String) -> Broken {
    Broken { text, unreached: true }
}

/// Keeps what a program says until it says no more, or nobody wants to know.
async fn drain(mut errors: pipe::Receiver, kept: Arc<Mutex<Vec<u8>>>, listening: watch::Sender<()>) {
    let mut buffer = [0; 1024];
    loop {
        tokio::select! {
            read = errors.read(&mut buffer) => match read {
                Ok(count @ 1..) => add(&kept, &buffer[..count]),
                Ok(0) | Err(_) => return,
            },
            () = listening.closed() => return,
        }
    }
}

fn add(kept: &Mutex<Vec<u8>>, bytes: &[u8]) {
    let mut kept = kept.lock();
    kept.extend_from_slice(bytes);
    let over = kept.len().saturating_sub(KEPT);
    kept.drain(..over);
}

async fn read(output: pipe::Receiver, incoming: mpsc::Sender<ServerJsonRpcMessage>) {
    let (mut output, mut line) = (BufReader::with_capacity(64 << 10, output), Line::default());
    loop {
        let Ok(bytes) = output.fill_buf().await else { return };
        if bytes.is_empty() {
            return;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        line.add(&bytes[..end.unwrap_or(taken)]);
        output.consume(taken);
        if end.is_none() {
            continue;
        }
        for message in line.take() {
            if incoming.send(message).await.is_err() {
                return;
            }
        }
        // A buffer may hold very many lines that are no messages.
        tokio::task::consume_budget().await;
    }
}

/// A line while it comes. Of one that is too long only the edges are kept.
#[derive(Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    tail: Vec<u8>,
    long: bool,
}

impl Line {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        if !self.long && self.bytes.len() + bytes.len() <= MESSAGE_LIMIT {
            return self.bytes.extend_from_slice(bytes);
        }
        if !std::mem::replace(&mut self.long, true) {
            let start = self.bytes.len().saturating_sub(EDGE);
            self.tail = self.bytes.split_off(start.max(EDGE.min(self.bytes.len())));
            self.bytes = self.bytes.drain(..EDGE.min(self.bytes.len())).collect();
        }
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(EDGE)..]);
        let over = self.tail.len().saturating_sub(EDGE);
        self.tail.drain(..over);
    }

    /// The messages of the line; what is no message is nothing.
    pub(super) fn take(&mut self) -> Vec<ServerJsonRpcMessage> {
        let Self { bytes, tail, long } = std::mem::take(self);
        if long {
            let text = format!("the answer is longer than {} MiB and was not read", MESSAGE_LIMIT >> 20);
            return wire::id_at_edge(&bytes, &tail).map(|id| wire::unread(id, text)).into_iter().collect();
        }
        let line = bytes.trim_ascii();
        match line.first() {
            Some(b'[') => batch(line),
            Some(b'{') => match json::read(line) {
                Ok(message) => vec![message],
                Err(problem) => wire::unreadable(line, &problem).into_iter().collect(),
            },
            Some(_) | None => Vec::new(),
        }
    }
}

/// The messages of a batch; what of it is no message is nothing, and so is one that has too many.
fn batch(line: &[u8]) -> Vec<ServerJsonRpcMessage> {
    if json::is_heavy(line) {
        return Vec::new();
    }
    let several: Vec<&RawValue> = serde_json::from_slice(line).unwrap_or_default();
    if several.len() > BATCH {
        return Vec::new();
    }
    let taken = |one: &RawValue| {
        let text = one.get().as_bytes();
        json::read(text).map_or_else(|problem| wire::unreadable(text, &problem), Some)
    };
    several.into_iter().filter_map(taken).collect()
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    fn taken(line: &str) -> Vec<ServerJsonRpcMessage> {
        let mut reader = Line::default();
        for piece in line.as_bytes().chunks(60_000) {
            reader.add(piece);
        }
        reader.take()
    }

    fn error_id(line: &str) -> Option<RequestId> {
        match taken(line).pop()? {
            ServerJsonRpcMessage::Error(error) => error.id,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn garbage_is_nothing_and_batches_are_read() {
        assert!(taken("Listening on stdio…").is_empty());
        assert!(taken("").is_empty());
        assert!(taken(r#"{"a": 1}"#).is_empty());
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert_eq!(taken(&format!("[{answer},{answer}]")).len(), 2);
        assert_eq!(taken(&format!(r#"[{answer},{{"log":"x"}},7]"#)).len(), 1, "what is no message takes none with it");
        assert_eq!(error_id(&format!(r#"[{answer},{{"jsonrpc":"2.0","id":9,"odd":1}}]"#)), Some(RequestId::Number(9)));
        assert_eq!(taken(&format!("{answer}\r")).len(), 1);
    }

    #[test]
    fn an_answer_of_too_many_values_fails_its_own_call() {
        let many = "0,".repeat(2 << 20);
        assert_eq!(error_id(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":[{many}0]}}}}"#)), Some(RequestId::Number(7)));
        let message = r#"{"jsonrpc":"2.0","method":"x"}"#;
        assert!(taken(&format!("[{}{message}]", format!("{message},").repeat(BATCH))).is_empty());
        assert!(taken(&format!("[{}]", "0,".repeat(4 << 20))).is_empty());
    }

    #[tokio::test]
    async fn a_flood_of_lines_that_are_no_messages_keeps_nobody_waiting() {
        let (sender, receiver) = pipe::pipe().expect("a pipe");
        let (incoming, _messages) = mpsc::channel(1);
        let flood = tokio::task::spawn_blocking(move || {
            let mut out = std::fs::File::from(sender.into_blocking_fd().expect("a pipe"));
            ["\n", "x\n", "{\n"].iter().for_each(|line| drop(std::io::Write::write_all(&mut out, line.repeat(200_000).as_bytes())));
        });
        let begun = std::time::Instant::now();
        read(receiver, incoming).await;
        flood.await.expect("no panic");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn an_answer_that_is_too_long_fails_its_own_call() {
        let long = "x".repeat(MESSAGE_LIMIT);
        assert_eq!(error_id(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":"{long}"}}}}"#)), Some(RequestId::Number(7)));
        assert_eq!(error_id(&format!(r#"{{"result":{{"a":"{long}"}},"jsonrpc":"2.0","id":8}}"#)), Some(RequestId::Number(8)));
        assert_eq!(error_id(&format!(r#"{{"result":{{"a":"{long}","id":9}}}}"#)), None);
    }

    #[test]
    fn an_answer_that_is_nested_too_deeply_fails_its_own_call() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(error_id(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":{deep}}}}}"#)), Some(RequestId::Number(7)));
        assert_eq!(error_id(&format!(r#"{{"result":{{"a":{deep}}},"jsonrpc":"2.0","id":8}}"#)), Some(RequestId::Number(8)));
        assert!(taken(&format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":{deep}}}}}"#)).is_empty());
    }

    #[test]
    fn no_part_of_a_secret_stays_where_last_words_are_cut() {
        let (words, _listening) = LastWords::new(&["s3cret-value".into()]);
        add(&words.kept, format!("s3cret-value{}", "x".repeat(WORDS - 6)).as_bytes());
        assert!(!words.last_words().contains("value"), "{}", &words.last_words()[..20]);
    }

    #[tokio::test]
    async fn last_words_that_come_late_are_heard() {
        let (words, listening) = LastWords::new(&[]);
        let late = words.clone();
        let asked = tokio::spawn(async move { late.to_the_end().await });
        tokio::task::yield_now().await;
        add(&words.kept, b"farewell");
        drop(listening);
        assert_eq!(asked.await.expect("words"), "farewell");
    }

    #[test]
    fn last_words_are_bounded_and_on_one_line() {
        let (words, _) = LastWords::new(&[]);
        add(&words.kept, "a".repeat(5000).as_bytes());
        add(&words.kept, b"\nerror:\x1b[31m bad\n\n");
        assert!(words.last_words().len() < WORDS + 10 && words.last_words().ends_with("a | error:[31m bad"), "{}", words.last_words());
    }
}
