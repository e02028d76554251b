//! Tests of how ids become providers, and of what is told of their secrets.

use serde_json::json;

use super::*;
use crate::clock::SystemClock;
use crate::model::chat::{Attachment, Message, Role};
use crate::providers::{Delta, Media, anthropic, bedrock, cohere, gemini, ollama, openai, responses};
use crate::providers::mock::{self, Canned};
use crate::sync::Mutex;

fn providers(configured: &serde_json::Value) -> Result<Providers, Vec<String>> {
    let config = Config::with(json!({"providers": configured, "secrets": {"SET": "s3cret"}})).expect("a configuration");
    let outbound = Arc::new(Outbound::direct(Arc::new(SystemClock::default())));
    Providers::new(&Arc::new(config), outbound, HostDoor::default())
}

async fn asked(providers: &Providers, id: &str) -> String {
    let request = ChatRequest::new("echo", vec![Message::text(Role::User, "hi")]);
    let answer = match providers.get(id) {
        Ok(provider) => provider.chat(&request, &|_| {}).await,
        Err(failure) => Err(failure),
    };
    answer.map_or_else(|failure| format!("{}: {}", failure.fault.code.as_str(), failure.fault.message), |reply| reply.message.content)
}

#[tokio::test]
async fn tools_of_the_provider_are_refused_where_there_are_none() {
    let configured = json!({
        "mine": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:9/v1", "max_retries": 0},
        "hosted": {"kind": "host"},
    });
    let providers = providers(&configured).ok().expect("valid");
    let mut told = Vec::new();
    for id in ["openai", "azure-openai", "deepseek", "mistral", "ollama", "cohere", "script", "hosted", "openai-responses", "anthropic", "gemini", "mine"] {
        let mut request = ChatRequest::new("m", vec![Message::text(Role::User, "hi")]);
        request.native_tools = vec!["web_search".into()];
        let named = providers.get(id).expect("a provider");
        let failure = named.chat(&request, &|_| {}).await.expect_err("a refusal");
        told.push((id, failure.fault.message.contains("has no tool `web_search` of its own")));
    }
    let refused: Vec<&str> = told.iter().filter(|(_, refused)| *refused).map(|(id, _)| *id).collect();
    assert_eq!(refused, ["openai", "azure-openai", "deepseek", "mistral", "ollama", "cohere", "script", "hosted"]);
}

#[tokio::test]
async fn ids_become_providers() {
    let configured = json!({
        "mine": {"kind": "openai-compatible", "credential": "secret:SET"},
        "local": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:9/v1", "max_retries": 0},
        "keyed": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "credential": "secret:SET", "headers": {"x s3cret": "secret:SET"}},
    });
    let providers = providers(&configured).ok().expect("valid");
    assert_eq!(asked(&providers, "script").await, "You said: hi");
    assert_eq!(asked(&providers, "nobody").await, "provider_bad_request: there is no provider `nobody`; configure `providers.nobody`");
    assert!(asked(&providers, "openai").await.starts_with("credential_missing: the secret `OPENAI_API_KEY` is not set"));
    assert_eq!(asked(&providers, "mine").await, "provider_bad_request: `providers.mine.base_url` is not set");
    assert!(asked(&providers, "local").await.starts_with("provider_unavailable"));
    assert_eq!(asked(&providers, "keyed").await, "provider_bad_request: the configured header `x s3cret` is not valid");
    assert!(asked(&providers, "hash").await.starts_with("provider_bad_request: the provider `hash` makes embeddings only"));
    assert!(providers.is_configured("local", "").await && providers.is_configured("keyed", "").await);
    assert!(!providers.is_configured("mine", "").await && !providers.is_configured("openai", "").await);
}

#[tokio::test]
async fn who_cannot_be_reached_is_named_without_what_its_address_hides() {
    let configured = json!({"mine": {"kind": "openai-compatible", "base_url": "http://me:pa55word@127.0.0.1:9/v1"}});
    let why = providers(&configured).ok().expect("valid").reach("mine").await.expect("a server").expect_err("nobody is there");
    assert!(why.starts_with("no answer from http://") && why.contains("127.0.0.1:9/v1") && !why.contains("pa55word"), "{why}");
}

/// What a provider with the credential `sk-secret-1` and the header `a` answers, as it is told and as it ends.
async fn keyed(answer: Canned) -> (String, String) {
    keyed_of("m", answer).await
}

async fn keyed_of(model: &str, answer: Canned) -> (String, String) {
    let (wire, _) = mock::start("/v1", vec![answer]).await;
    let mine = json!({"kind": "openai-compatible", "base_url": wire.base_url, "credential": "secret:KEY", "headers": {"x-a": "secret:A"}, "max_retries": 0});
    let config = Config::with(json!({"providers": {"mine": mine}, "secrets": {"KEY": "sk-secret-1", "A": "a"}})).expect("a configuration");
    let outbound = Arc::new(Outbound::direct(Arc::new(SystemClock::default())));
    let providers = Providers::new(&Arc::new(config), outbound, HostDoor::default()).ok().expect("valid");
    let mut request = ChatRequest::new(model, vec![Message::text(Role::User, "hi")]);
    request.stream = true;
    let told = Mutex::new(String::new());
    let hear = |delta: Delta| {
        if let Delta::Text(text) | Delta::Reasoning(text) = delta {
            told.lock().push_str(&text);
        }
    };
    let answer = providers.get("mine").expect("a provider").chat(&request, &hear).await;
    let end = answer.map_or_else(|failure| failure.fault.message, |reply| serde_json::to_string(&reply.message).expect("JSON"));
    let told = told.lock().clone();
    (told, end)
}

#[tokio::test]
async fn a_key_that_a_model_repeats_is_masked() {
    let delta = |delta: serde_json::Value| format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}));
    let call = json!({"tool_calls": [{"id": "c", "function": {"name": "t", "arguments": "{\"key\":\"sk-\\u0073ecret-1\"}"}}]});
    let pieces = [json!({"reasoning_content": "hm sk-se"}), json!({"reasoning_content": "cret-1 sk-. "}), json!({"content": "a key: sk-se"}), json!({"content": "cret-1, sk-"}), call].map(delta);
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned();
    let (told, end) = keyed(Canned(200, &[], pieces.into_iter().chain([end]).collect())).await;
    assert_eq!(told, "hm *** sk-. a key: ***, sk-");
    assert!(end.contains("\"hm *** sk-. \""), "{end}");
    assert!(end.contains("\"a key: ***, sk-\"") && end.contains("{\"key\":\"***\"}") && !end.contains("secret-1"), "{end}");
}

#[tokio::test]
async fn a_key_in_a_thought_that_goes_back_is_masked() {
    let pieces = ["<think>hm sk-se", "cret-1</think>", "Yes"].map(|text| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]})));
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned();
    let (told, end) = keyed_of("MiniMax-M2", Canned(200, &[], pieces.into_iter().chain([end]).collect())).await;
    assert_eq!(told, "hm ***Yes");
    assert!(end.contains("\"<think>hm ***</think>\"") && !end.contains("secret-1"), "{end}");
}

#[tokio::test]
async fn a_key_in_a_refusal_is_masked_before_the_text_is_cut() {
    for before in 570..600 {
        let text = format!("{}sk-secret-1 and more", "x".repeat(before));
        let (_, end) = keyed(Canned(401, &[], vec![text])).await;
        assert!(!end.contains("sk-") && end.ends_with('…'), "{before}: {end}");
    }
    let (_, end) = keyed(Canned(401, &[], vec![r#"{"odd": "sk\u002dsecret-1 a bad key"}"#.into()])).await;
    assert_eq!(end, r#"the provider answered 401: {"odd":"*** a bad key"}"#);
}

#[test]
fn wrong_settings_are_all_told() {
    let configured = json!({"a": {"kind": "x"}, "b": {}, "script": {"scripts": {"m": 5}}});
    let problems = providers(&configured).err().expect("wrong");
    assert_eq!(
        problems,
        [
            "providers.a.kind: `x` is no kind of provider",
            "providers.b.kind: `b` is no kind of provider",
            "providers.script.scripts.m: a script is an object",
        ]
    );
}

#[tokio::test]
async fn who_refuses_to_stream_is_asked_for_the_whole() {
    let refused = Canned(400, &[], vec![json!({"error": {"message": "Your organization must be verified to stream this model.", "param": "stream"}}).to_string()]);
    let good = mock::whole(&json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}));
    let (wire, mock) = mock::start("/v1", vec![refused, good]).await;
    let providers = providers(&json!({"mine": {"kind": "openai-compatible", "base_url": wire.base_url}})).ok().expect("valid");
    let mut request = ChatRequest::new("m", vec![Message::text(Role::User, "hi")]);
    (request.stream, request.live) = (true, true);
    let told = Mutex::new(Vec::new());
    let reply = providers.get("mine").expect("a provider").chat(&request, &|delta| told.lock().push(delta)).await.expect("an answer");
    assert_eq!(*told.lock(), [Delta::Made, Delta::Text("Hi".into())], "who listens hears the whole");
    assert_eq!((reply.message.content.as_str(), reply.warnings[0].code.as_ref()), ("Hi", "parameter_changed"));
    let seen = mock.seen.lock().expect("seen");
    assert_eq!((seen.len(), seen[0].1.get("stream"), seen[1].1.get("stream")), (2, Some(&json!(true)), None));
}

/// What a provider of a cloud answers a question, and what it was asked; secrets and the address of the server are filled in.
async fn cloud(configured: serde_json::Value, secrets: serde_json::Value, answers: Vec<Canned>) -> (String, Vec<(String, serde_json::Value)>) {
    let (mut told, seen) = asked_of_cloud(1, configured, secrets, answers).await;
    (told.remove(0), seen)
}

/// What so many calls in turn are told.
async fn asked_of_cloud(calls: usize, configured: serde_json::Value, secrets: serde_json::Value, answers: Vec<Canned>) -> (Vec<String>, Vec<(String, serde_json::Value)>) {
    let (wire, mock) = mock::start("", answers).await;
    let text = configured.to_string().replace("SERVER", &wire.base_url);
    let configured: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let config = Config::with(json!({"providers": {"cloud": configured}, "secrets": secrets})).expect("a configuration");
    let outbound = Arc::new(Outbound::direct(Arc::new(SystemClock::default())));
    let providers = Providers::new(&Arc::new(config), outbound, HostDoor::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert!(providers.is_configured("cloud", "").await);
    let mut request = ChatRequest::new("claude-m", vec![Message::text(Role::User, "hi")]);
    request.native_tools.clear();
    let mut told = Vec::new();
    for _ in 0..calls {
        let answer = providers.get("cloud").expect("a provider").chat(&request, &|_| {}).await;
        told.push(answer.map_or_else(|failure| format!("{}: {}", failure.fault.code.as_str(), failure.fault.message), |reply| reply.message.content));
    }
    let seen = mock.seen.lock().expect("seen").clone();
    (told, seen)
}

#[tokio::test]
async fn requests_to_bedrock_are_signed_or_carry_a_key() {
    let good = || mock::whole(&json!({"output": {"message": {"content": [{"text": "Hi"}]}}, "stopReason": "end_turn"}));
    let base = json!({"kind": "bedrock", "region": "us-east-1", "base_url": "SERVER", "max_retries": 0});
    let with = |more: serde_json::Value| {
        let mut all = base.clone();
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all
    };
    let signing = with(json!({"access_key_id": "secret:ID", "secret_access_key": "secret:KEY", "session_token": "secret:SESSION"}));
    let secrets = json!({"ID": "AKIDEXAMPLE", "KEY": "wJalrXUtnFEMI", "SESSION": "session-token"});
    let (told, seen) = cloud(signing.clone(), secrets.clone(), vec![good()]).await;
    let asked = &seen[0].0;
    assert!(told == "Hi" && asked.starts_with("/model/claude-m/converse AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{told} {asked}");
    assert!(asked.contains("/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=") && asked.ends_with(" session-token"), "{asked}");
    let (told, seen) = cloud(with(json!({"credential": "secret:KEY"})), secrets.clone(), vec![good()]).await;
    assert_eq!((told.as_str(), seen[0].0.as_str()), ("Hi", "/model/claude-m/converse Bearer wJalrXUtnFEMI"));
    let busy = Canned(503, &[("retry-after-ms", "1100")], vec!["busy".into()]);
    let retried = with(json!({"access_key_id": "secret:ID", "secret_access_key": "secret:KEY", "max_retries": 1}));
    let (told, seen) = cloud(retried, secrets.clone(), vec![busy, good()]).await;
    assert_eq!((told.as_str(), seen.len(), seen[0].0 == seen[1].0), ("Hi", 2, false), "a signature holds for minutes only: each attempt has its own");
    let echo = Canned(403, &[], vec![json!({"message": "bad wJalrXUtnFEMI of AKIDEXAMPLE with session-token"}).to_string()]);
    let (told, _) = cloud(signing, secrets, vec![echo]).await;
    assert_eq!(told, "provider_auth: the provider answered 403: bad *** of *** with ***");
}

#[tokio::test]
async fn a_service_account_becomes_a_token_and_neither_is_told() {
    let key = include_str!("../vertex/test-key.pem");
    let account = json!({"type": "service_account", "client_email": "robot@p", "private_key": key}).to_string();
    let configured = json!({"kind": "vertex", "project": "p", "location": "global", "base_url": "SERVER", "token_url": "SERVER/token", "credential": "secret:ACCOUNT", "max_retries": 0});
    let granted = || mock::whole(&json!({"access_token": "ya29.token", "expires_in": 3600}));
    let good = mock::whole(&json!({"content": [{"type": "text", "text": "the token is ya29.token"}], "stop_reason": "end_turn"}));
    let (told, seen) = cloud(configured.clone(), json!({"ACCOUNT": account}), vec![granted(), good]).await;
    assert_eq!((told.as_str(), seen[1].0.as_str()), ("the token is ***", "/v1/projects/p/locations/global/publishers/anthropic/models/claude-m:rawPredict Bearer ya29.token"));
    let echo = Canned(401, &[], vec![json!({"error": {"message": format!("bad ya29.token {key}")}}).to_string()]);
    let good = mock::whole(&json!({"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}));
    let (told, _) = asked_of_cloud(2, configured, json!({"ACCOUNT": account}), vec![granted(), echo, granted(), good]).await;
    assert!(told[0].starts_with("provider_auth: the provider answered 401: bad ***") && !told[0].contains("PRIVATE"), "{told:?}");
    assert_eq!(told[1], "Hi", "a token that was refused is not used again");
}

#[test]
fn what_a_cloud_lacks_is_told_with_what_to_do() {
    let told = |settings: serde_json::Value| providers(&json!({"c": settings})).err().map_or_else(String::new, |problems| problems.join("; "));
    for (settings, wanted) in [
        (json!({"kind": "bedrock"}), "providers.c.region: is not set; name the region of the models, such as `us-east-1`"),
        (json!({"kind": "bedrock", "region": "us east"}), "providers.c.region: may contain only letters, digits, `-`, `.` and `:`"),
        (json!({"kind": "bedrock", "region": "us-east-1"}), "providers.c.credential: is not set; name the secret with an API key, or `access_key_id` and `secret_access_key`"),
        (
            json!({"kind": "bedrock", "region": "us-east-1", "access_key_id": "secret:A"}),
            "providers.c.access_key_id: requests are signed with `access_key_id` and `secret_access_key` together; set both, or a `credential` with an API key",
        ),
        (
            json!({"kind": "bedrock", "region": "us-east-1", "access_key_id": "secret:A", "secret_access_key": "secret:B", "credential": "secret:C"}),
            "providers.c.credential: an API key and keys that sign exclude each other; take one away",
        ),
        (json!({"kind": "vertex"}), "providers.c.project: is not set; name the Google Cloud project"),
        (json!({"kind": "vertex", "project": "p"}), "providers.c.location: is not set; name the location of the models, such as `us-east5` or `global`"),
        (json!({"kind": "vertex", "project": "p", "location": "global"}), "providers.c.credential: is not set; name the secret that holds the JSON of a service account"),
        (json!({"kind": "openai", "access_key_id": "secret:A"}), "providers.c.access_key_id: only providers of the kind `bedrock` sign their requests"),
    ] {
        assert_eq!(told(settings), wanted);
    }
    let unset = providers(&json!({})).ok().expect("nothing is configured, nothing is wrong");
    assert!(unset.list().any(|(id, _)| id == "bedrock") && unset.list().any(|(id, _)| id == "vertex"));
}

fn any_id() -> crate::model::Id {
    "01a1faaf-fd00-7000-8000-000000000001".parse().expect("an id")
}

/// Files of these types in a request to a model of which nothing is known.
fn with_files(model: &str) -> ChatRequest {
    let mut request = mock::hello(true);
    request.model = model.into();
    let file = |mime: &&str| {
        let mime = (*mime).to_owned();
        Attachment { kind: "document".into(), storage_key: mime.clone(), name: Some(mime.clone()), mime_type: mime, size: None }
    };
    let types = ["image/png", "application/pdf", "audio/wav", "audio/mpeg", "audio/ogg", "video/mp4", "text/plain"];
    request.messages[1].attachments = types.iter().map(file).collect();
    let bytes = |file: &Attachment| Media {
        storage_key: file.storage_key.clone(),
        mime_type: file.mime_type.clone(),
        name: file.name.clone(),
        bytes: "1".into(),
        refused: false,
    };
    request.media = request.messages[1].attachments.iter().map(bytes).collect();
    request
}

#[test]
fn files_that_a_familys_requests_have_no_place_for_are_named_and_told() {
    let every = json!(["text", "image", "audio", "video", "pdf"]);
    let reads_all = |kind: &str| json!({"kind": kind, "base_url": "http://127.0.0.1:9/v1", "models": [{"id": "m", "input": every}]});
    let cloud = json!({"kind": "bedrock", "region": "eu-west-1", "credential": "secret:SET", "models": [{"id": "m", "input": every}]});
    let configured = json!({
        "compatible": reads_all("openai-compatible"), "responses": reads_all("openai-responses"), "claude": reads_all("anthropic"),
        "google": reads_all("gemini"), "local": reads_all("ollama"), "command": reads_all("cohere"), "converse": cloud, "hosted": {"kind": "host"},
    });
    let providers = providers(&configured).ok().expect("valid");
    for (id, dropped) in [
        ("compatible", "audio/ogg video/mp4"),
        ("responses", "audio/wav audio/mpeg audio/ogg video/mp4"),
        ("claude", "audio/wav audio/mpeg audio/ogg video/mp4"),
        ("google", ""),
        ("local", "application/pdf audio/wav audio/mpeg audio/ogg video/mp4"),
        ("command", "application/pdf audio/wav audio/mpeg audio/ogg video/mp4"),
        ("converse", "audio/wav audio/mpeg audio/ogg"),
        ("hosted", ""),
    ] {
        let mut request = with_files("m");
        let conversation = Conversation { tenant: "t", entity: any_id(), thread: any_id() };
        let warnings = providers.fit(id, &mut request, &conversation, Timestamp(0));
        let refused: Vec<&str> = request.media.iter().filter(|file| file.refused).map(|file| &*file.mime_type).collect();
        assert_eq!(refused.join(" "), dropped, "{id}");
        let told = warnings.iter().filter(|warning| warning.code == "attachment_dropped").count();
        assert_eq!(told, refused.len(), "{id}: {warnings:?}");
        // What is not told as dropped is sent as it is: nothing is described in words alone.
        let body = match id {
            "compatible" => openai::request::body(&request, &Dialect::of("openai-compatible")),
            "responses" => responses::request::body(&request, true),
            "claude" => anthropic::request::body(&request, anthropic::request::SAMPLING),
            "google" => gemini::request::body(&request),
            "local" => ollama::request::body(&request, None),
            "command" => cohere::request::body(&request),
            "converse" => bedrock::request::body(&request),
            _ => continue,
        };
        assert_eq!(body.to_string().matches("cannot be shown to this model").count(), refused.len(), "{id}: {body}");
    }
}
