//! Conversations with the real providers: `make test-live` holds and records one with each whose key is set; the recordings are replayed here.

mod conversation;
mod recorder;
mod speakers;
mod tape;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::faults::carriers::{CARRIERS, Carrier};
use crate::faults::server::{Act, Server};
use conversation::converse;
use recorder::Recorder;
use speakers::{SPEAKERS, Speaker};
use tape::{Exchange, Tape};

/// Where recordings are kept, and where `STUDIO_LIVE_FOLDER` wants new ones.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers/recorded")
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What is said goes to a person who reads it while it happens.
fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[tokio::test]
#[ignore = "it asks real providers, which costs money: make test-live"]
async fn each_provider_with_a_key_holds_a_conversation() {
    let chosen = variable("STUDIO_LIVE");
    let chosen = |id: &str| chosen.as_ref().is_none_or(|ids| ids.split(',').any(|one| one.trim() == id));
    let (mut failed, mut asked, mut spent) = (Vec::new(), 0, 0.0);
    for speaker in SPEAKERS.iter().filter(|speaker| chosen(speaker.id)) {
        let ready = match speaker.ready() {
            Ok(ready) => ready,
            Err(missing) => {
                say(&format!("{}: not asked, {missing}; it would be asked for `{}`", speaker.id, speaker.model()));
                continue;
            }
        };
        asked += 1;
        match record(speaker, &ready).await {
            Ok((tape, cost)) => {
                spent += cost.unwrap_or_default();
                let error = tape.outcome.as_array().and_then(|turns| turns.last()).map(|turn| &turn["error"]).filter(|error| !error.is_null());
                let folder = variable("STUDIO_LIVE_FOLDER").map_or_else(folder, PathBuf::from);
                match error {
                    None => say(&format!("{}: {}", speaker.id, summary(&tape, cost))),
                    Some(error) => {
                        say(&format!("{}: FAILED with {error}; {}", speaker.id, summary(&tape, cost)));
                        failed.push(speaker.id);
                    }
                }
                // What failed is kept to be looked at, and is not replayed.
                let file = keep(&if error.is_some() { folder.join("failed") } else { folder }, speaker, &tape, &ready.secrets);
                say(&format!("    recorded in {}", file.display()));
            }
            Err(why) => {
                say(&format!("{}: FAILED, {why}", speaker.id));
                failed.push(speaker.id);
            }
        }
    }
    match asked {
        0 => say("No key is set, so nobody was asked and nothing was spent. With one, two turns (picture, tool, schema, reasoning) are held and recorded."),
        _ => say(&format!("{asked} asked, {} failed, {spent:.6} USD by the bundled prices and what providers said", failed.len())),
    }
    assert!(failed.is_empty(), "failed: {failed:?}");
}

/// One conversation through a recorder.
async fn record(speaker: &Speaker, ready: &speakers::Ready) -> Result<(Tape, Option<f64>), String> {
    let recorder = Recorder::start(&ready.origin).await;
    let settings = speaker.settings(&format!("{}{}", recorder.address, ready.path), &ready.key, &ready.more);
    let (outcome, cost) = converse(speaker.id, &speaker.model(), &settings).await?;
    let (provider, path, more, exchanges) = (speaker.id.to_owned(), ready.path.clone(), ready.shown.clone(), recorder.end());
    Ok((Tape { provider, model: speaker.model(), path, more, outcome, exchanges }, cost))
}

fn summary(tape: &Tape, cost: Option<f64>) -> String {
    let turns = tape.outcome.as_array().into_iter().flatten();
    let sum = |key: &str| turns.clone().filter_map(|turn| turn[key].as_u64()).sum::<u64>();
    let right = turns.clone().all(|turn| turn["right"] == true);
    let thought = turns.clone().any(|turn| turn["thought"] == true);
    let cost = cost.map_or("no price is known".to_owned(), |cost| format!("{cost:.6} USD"));
    let (right, thought) = (if right { "right" } else { "WRONG" }, if thought { "reasoning was shown" } else { "no reasoning was shown" });
    let (calls, prompt, completion) = (tape.exchanges.len(), sum("prompt_tokens"), sum("completion_tokens"));
    format!("`{}`, {calls} calls, {prompt} + {completion} tokens, {cost}; the answers are {right}, {thought}", tape.model)
}

fn keep(folder: &Path, speaker: &Speaker, tape: &Tape, secrets: &[String]) -> PathBuf {
    let file = folder.join(format!("{}{}.json", speaker.id, variable("STUDIO_LIVE_SUFFIX").unwrap_or_default()));
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(&file, tape.written(secrets)).expect("a file");
    file
}

/// What is asked today is what the provider took then, and what it said then ends as it did. Without recordings there is nothing to hold.
#[tokio::test]
async fn recorded_conversations_end_as_they_did() {
    for entry in std::fs::read_dir(folder()).into_iter().flatten().flatten() {
        let file = entry.path();
        if file.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let mut tape = Tape::read(&std::fs::read_to_string(&file).expect("a recording"));
        for carrier in CARRIERS {
            let (outcome, asked) = replay(&tape, carrier).await;
            let recorded: Vec<Value> = tape.exchanges.iter().map(Exchange::asked).collect();
            if asked != recorded && variable("STUDIO_ACCEPT").is_some() && asked.len() == recorded.len() {
                tape.accept(&asked);
                std::fs::write(&file, tape.written(&[])).expect("a file");
                continue;
            }
            let name = file.display();
            for (number, (asked, recorded)) in asked.iter().zip(&recorded).enumerate() {
                let why = "the provider took the recorded one; record anew with `make test-live`, or take today's with STUDIO_ACCEPT=1";
                let differs = tape::difference(asked, recorded);
                assert_eq!(differs, None, "{name} over {carrier:?}: request {number} is not the recorded one; {why}");
            }
            assert_eq!((&outcome, asked.len()), (&tape.outcome, recorded.len()), "{name} over {carrier:?}: it ends differently");
        }
    }
}

/// A service account of nobody, for providers that want a token first.
fn account() -> String {
    let key = include_str!("../../../src/providers/vertex/test-key.pem");
    json!({"type": "service_account", "client_email": "nobody@example.com", "private_key": key, "token_uri": "https://oauth2.googleapis.com/token"}).to_string()
}

async fn replay(tape: &Tape, carrier: Carrier) -> (Value, Vec<Value>) {
    let tokens = Server::start(carrier, vec![Act::good(vec![json!({"access_token": "a-token", "expires_in": 3600}).to_string()])]).await;
    let (mut more, mut key) = (tape.more.clone(), "sk-of-the-replay-0123456789".to_owned());
    if tape.provider == "vertex" {
        more["token_url"] = tokens.address.clone().into();
        key = account();
    }
    let server = Server::start(carrier, tape.exchanges.iter().map(Exchange::act).chain([Act::Mute]).collect()).await;
    let speaker = SPEAKERS.iter().find(|speaker| speaker.id == tape.provider).expect("a provider of the table");
    let settings = speaker.settings(&format!("{}{}", server.address, tape.path), &key, &more);
    let replayed = tokio::time::timeout(std::time::Duration::from_secs(60), converse(&tape.provider, &tape.model, &settings)).await;
    let outcome = match replayed {
        Ok(Ok((outcome, _))) => outcome,
        Ok(Err(why)) => json!(why),
        Err(_) => json!("it asks for more than was recorded"),
    };
    let seen = server.seen.lock().expect("seen");
    let asked = seen.iter().map(|seen| tape::asked(seen.head.split(' ').nth(1).unwrap_or_default(), &seen.body));
    (outcome, asked.collect())
}

#[test]
fn nothing_secret_is_recorded() {
    let exchange = Exchange {
        path: "/v1/x?key=AIza-of-somebody".into(),
        body: json!({"say": "sk-abcdefgh", "prompt_cache_key": "f00"}),
        status: 200,
        content_type: "text/event-stream".into(),
        answer: b"data: {\"told\": \"sk-abcdefgh\"}\n\n".to_vec(),
    };
    let (provider, model, path, outcome) = ("openai".into(), "m".into(), "/v1".into(), json!([{"text": "sk-abcdefgh"}]));
    let tape = Tape { provider, model, path, more: json!({}), outcome, exchanges: vec![exchange] };
    let written = tape.written(&["sk-abcdefgh".into(), "AIza-of-somebody".into()]);
    assert!(!written.contains("sk-abcdefgh") && !written.contains("AIza-of") && written.contains("***"), "{written}");
    let read = Tape::read(&written);
    assert_eq!(read.exchanges[0].asked(), json!({"path": "/v1/x?key=***", "body": {"say": "***"}}));
    assert!(matches!(read.exchanges[0].act(), Act::Bytes(200, _, pieces) if pieces.concat() == b"data: {\"told\": \"***\"}\n\n"));
}
