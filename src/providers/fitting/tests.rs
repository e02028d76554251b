use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host::HostDoor;
use crate::model::chat::{ProviderBlocks, Role, ToolCall};
use crate::model::registry::{self, Cache, Structured};
use crate::providers::mock::rich;
use crate::providers::openai::dialect::Dialect;
use crate::providers::http_client::Outbound;
use crate::providers::prompt_cache_key::Conversation;
use crate::providers::registry::Providers;
use crate::providers::{anthropic, bedrock, cohere, gemini, ollama, openai, responses};

fn id() -> crate::model::Id {
    "01a1faaf-fd00-7000-8000-000000000001".parse().expect("an id")
}

/// A body as the family of a kind writes it.
fn body(kind: &str, request: &ChatRequest) -> Value {
    match kind {
        "anthropic" => anthropic::request::body(request, anthropic::request::version(None, request)),
        "gemini" => gemini::request::body(request),
        "ollama" => ollama::request::body(request, None),
        "cohere" => cohere::request::body(request),
        "openai-responses" => responses::request::body(request, true),
        "bedrock" => bedrock::request::body(request),
        "vertex" if request.model.contains("claude") => anthropic::request::body(request, anthropic::request::SAMPLING),
        "vertex" => gemini::request::body(request),
        _ => openai::request::body(request, &Dialect::of(kind)),
    }
}

/// A tool has to be called.
fn is_forced(choice: &Value) -> bool {
    let word = choice.as_str().or_else(|| choice["type"].as_str()).or_else(|| choice["mode"].as_str());
    matches!(word, Some("required" | "REQUIRED" | "any" | "ANY" | "tool" | "function"))
}

/// What a body asks for that the facts say is refused.
fn refused(facts: &Facts, body: &Value) -> Vec<&'static str> {
    let at = |paths: &[&str]| paths.iter().find_map(|path| body.pointer(path)).cloned();
    let sampling = at(&[
        "/temperature",
        "/top_p",
        "/p",
        "/generationConfig/temperature",
        "/generationConfig/topP",
        "/options/temperature",
        "/options/top_p",
        "/inferenceConfig/temperature",
        "/inferenceConfig/topP",
    ]);
    let stop = at(&["/stop", "/stop_sequences", "/generationConfig/stopSequences", "/options/stop", "/inferenceConfig/stopSequences"]);
    let schema =
        at(&["/response_format/json_schema", "/text/format/schema", "/output_config/format", "/generationConfig/responseJsonSchema", "/outputConfig/textFormat/structure"]);
    let limit =
        at(&["/max_tokens", "/max_completion_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens", "/options/num_predict", "/inferenceConfig/maxTokens"]);
    let effort = at(&[
        "/reasoning_effort",
        "/reasoning/effort",
        "/output_config/effort",
        "/generationConfig/thinkingConfig/thinkingLevel",
        "/additionalModelRequestFields/output_config/effort",
        "/additionalModelRequestFields/reasoning_effort",
    ]);
    let thinking = at(&["/thinking/type", "/think", "/generationConfig/thinkingConfig", "/additionalModelRequestFields/thinking/type"]);
    let forced = at(&["/tool_choice/type", "/toolConfig/toolChoice"])
        .is_some_and(|choice| choice == "any" || choice == "tool" || choice.get("any").is_some() || choice.get("tool").is_some());
    let claude = body.get("messages").is_some() && (body.get("thinking").is_some() || body.pointer("/additionalModelRequestFields/thinking").is_some());
    let is = |word: &str| thinking.as_ref().is_some_and(|kind| kind == word);
    let unknown = |effort: &Value| facts.efforts.as_ref().is_some_and(|efforts| efforts.iter().all(|one| effort != one));
    let checks = [
        ("sampling", facts.sampling == Some(false) && sampling.is_some()),
        ("stop", facts.stop == Some(false) && stop.is_some()),
        ("tools", facts.tools == Some(false) && at(&["/tools", "/toolConfig/tools"]).is_some()),
        ("a forced call", facts.reasoning == Some(Reasoning::Always) && claude && forced),
        (
            "a forced call behind a marketplace",
            facts.reasoning == Some(Reasoning::Always) && facts.cache == Some(Cache::Marked) && at(&["/tool_choice"]).is_some_and(|choice| choice == "required"),
        ),
        ("a choice of tools", facts.tool_choice == Some(false) && at(&["/tool_choice", "/toolConfig/functionCallingConfig"]).is_some_and(|choice| is_forced(&choice))),
        ("parallel", facts.parallel_tools == Some(false) && at(&["/parallel_tool_calls"]).is_some()),
        ("schema", facts.structured() != Structured::Schema && schema.is_some()),
        ("limit", limit.and_then(|limit| limit.as_u64()).zip(facts.max_output).is_some_and(|(limit, most)| limit > most)),
        ("effort", effort.is_some_and(|effort| unknown(&effort))),
        ("thinking", facts.reasoning == Some(Reasoning::None) && thinking.is_some()),
        ("thinking is turned off", facts.reasoning == Some(Reasoning::Always) && is("disabled")),
        (
            "budget",
            facts.reasoning != Some(Reasoning::Budget) && facts.reasoning.is_some() && is("enabled") && body.get("output_config").is_some(),
        ),
    ];
    checks.into_iter().filter_map(|(name, wrong)| wrong.then_some(name)).collect()
}

/// A request with a setting of each kind.
fn request(model: &str, n: usize) -> ChatRequest {
    let mut request = rich();
    request.model = model.into();
    request.parameters.temperature = (n & 1 != 0).then_some(0.5);
    request.parameters.top_p = (n & 2 != 0).then_some(0.9);
    request.parameters.max_tokens = (n & 4 != 0).then_some(9_000_000);
    request.tool_choice = (n & 4 != 0).then_some(ToolChoice::Required);
    if n & 8 != 0 {
        request.tools.clear();
        request.messages.truncate(2);
        request.schema = Some(crate::providers::mock::schema());
    }
    request
}

#[test]
fn no_request_asks_for_what_the_table_says_is_refused() {
    let (mut models, mut wrong, mut seen) = (0, Vec::new(), Vec::new());
    let config = Config::with(json!({"providers": {"openai-compatible": {"kind": "openai-compatible"}}})).expect("a configuration");
    let outbound = Arc::new(Outbound::direct(Arc::new(SystemClock::default())));
    let providers = Providers::new(&Arc::new(config), outbound, HostDoor::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    for kind in registry::kinds() {
        // Names that only begin like known ones, and unknown ones, too.
        let names = registry::models(kind).map(|(name, _)| name.to_owned());
        for model in names.chain(["x".to_owned(), "claude-next-9".to_owned(), "gpt-4o-2099-01-01".to_owned()]) {
            models += 1;
            let facts = registry::find(kind, &model).facts;
            // Names and windows change no request: models that are alike in all else are tried once.
            let alike =
                Facts { label: None, context_window: None, deprecated_at: None, retired_at: None, replacement: None, ..(*facts).clone() };
            if seen.contains(&(kind, alike.clone())) {
                continue;
            }
            seen.push((kind, alike));
            wrong.extend(tried(&providers, kind, &model, &facts));
        }
    }
    assert!(wrong.is_empty(), "{} of {models} models:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(models > 800 && seen.len() > 80, "{models} {}", seen.len());
}

/// Every effort with every setting of sampling, limit, tools and schema: what went out though it is refused.
fn tried(providers: &Providers, kind: &str, model: &str, facts: &Arc<Facts>) -> Vec<String> {
    let mut wrong = Vec::new();
    for effort in EFFORTS.into_iter().map(Some).chain([None, Some("as you like")]) {
        for n in 0..16 {
            let mut request = request(model, n);
            request.parameters.reasoning_effort = effort.map(str::to_owned);
            let conversation = Conversation { tenant: "t", entity: id(), thread: id() };
            providers.fit(kind, &mut request, &conversation, Timestamp(0));
            assert_eq!(request.facts.as_ref(), Some(facts), "{kind} {model}");
            let found = refused(facts, &body(kind, &request));
            if !found.is_empty() {
                wrong.push(format!("{kind} {model} {effort:?} {n}: {found:?}"));
            }
            let again = fit(&mut request, facts, Timestamp(0));
            assert!(again.iter().all(|warning| warning.code == "attachment_dropped"), "{kind} {model}: {again:?}");
        }
    }
    wrong
}

/// What is changed in a request to a model, and how it goes out.
fn changes(kind: &str, model: &str, effort: Option<&str>) -> Vec<String> {
    let mut request = request(model, 7);
    request.parameters.reasoning_effort = effort.map(str::to_owned);
    let facts = registry::find(kind, model).facts;
    let mut warnings = fit(&mut request, &facts, Timestamp(1_796_860_800_000));
    if kind == "anthropic" {
        fit_anthropic(&mut request, &facts, None, &mut warnings);
    }
    warnings
        .into_iter()
        .map(|warning| format!("{} {} {}", warning.code, warning.parameter.as_deref().unwrap_or("-"), warning.message))
        .collect()
}

#[test]
fn each_change_is_told() {
    expect_test::expect![[r#"
        parameter_dropped temperature `temperature` is left out: it is not taken by `gpt-5.2`
        parameter_dropped top_p `top_p` is left out: it is not taken by `gpt-5.2`
        parameter_dropped stop `stop` is left out: it is not taken by `gpt-5.2`
        parameter_changed reasoning_effort `reasoning_effort` is `low` instead of `minimal`, which `gpt-5.2` does not have
        parameter_changed max_tokens `max_tokens` is 128000 instead of 9000000, the most that `gpt-5.2` takes
        attachment_dropped - `gpt-5.2` does not read audio/wav: the file `audio.wav` is only named"#]]
    .assert_eq(&changes("openai", "gpt-5.2", Some("minimal")).join("\n"));
    expect_test::expect![[r#"
        model_retired model `claude-opus-4-1` ended on 2026-08-05; use `claude-opus-5`
        parameter_changed max_tokens `max_tokens` is 32000 instead of 9000000, the most that `claude-opus-4-1` takes
        attachment_dropped - `claude-opus-4-1` does not read audio/wav: the file `audio.wav` is only named
        parameter_dropped tool_choice `tool_choice` is left out: it is not taken while the model thinks
        parameter_dropped temperature `temperature` is left out: it is not taken while the model thinks
        parameter_dropped top_p `top_p` is left out: it is not taken while the model thinks"#]]
    .assert_eq(&changes("anthropic", "claude-opus-4-1", Some("high")).join("\n"));
    assert_eq!(changes("openai-compatible", "gpt-5.2", Some("minimal")), Vec::<String>::new(), "an unknown server takes everything");
}

#[test]
fn an_effort_becomes_the_nearest_one() {
    let of = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (wanted, efforts, near) in [
        ("minimal", "none low medium high", Some("low")),
        ("none", "low high", Some("low")),
        ("xhigh", "low high max", Some("high")),
        ("max", "medium", Some("medium")),
        ("as you like", "low", None),
    ] {
        assert_eq!(nearest(wanted, &of(efforts)), near, "{wanted} of {efforts}");
    }
    assert_eq!(nearest("low", &[]), None);
}

#[test]
fn a_file_that_is_not_read_is_named() {
    let mut request = request("x", 0);
    let facts = Facts { input: Some(vec![Medium::Text]), ..Facts::default() };
    let warnings = fit(&mut request, &facts, Timestamp(0));
    assert_eq!(warnings.iter().filter(|warning| warning.code == "attachment_dropped").count(), 3);
    let told = body("openai", &request)["messages"][1]["content"].clone();
    let kinds: Vec<&Value> = told.as_array().expect("parts").iter().map(|part| &part["type"]).collect();
    assert_eq!(kinds, [&json!("text"); 5]);
}

#[test]
fn a_file_that_a_family_has_no_place_for_is_named_with_a_warning() {
    let types = ["image/png", "image/bmp", "application/pdf", "audio/wav", "audio/mpeg", "audio/ogg", "video/mp4", "video/x-msvideo", "text/plain",
        "application/json", "application/msword", "application/zip"];
    for (kind, carries, none) in [
        ("openai-compatible", openai::request::carries as Carries, 5),
        ("openai-responses", responses::items::carries, 7),
        ("anthropic", anthropic::blocks::carries, 8),
        ("gemini", gemini::parts::carries, 2),
        ("ollama", ollama::request::carries, 8),
        ("cohere", cohere::request::carries, 8),
        ("bedrock", bedrock::blocks::carries, 6),
    ] {
        let mut named = 0;
        for mime in types {
            let mut request = ChatRequest { model: "x".into(), ..rich() };
            request.messages.truncate(2);
            let file = |mime: &str| serde_json::from_value(json!({"type": "document", "mime_type": mime, "storage_key": "k", "name": "n"})).expect("a file");
            request.messages[1].attachments = vec![file(mime)];
            request.media = vec![Media { storage_key: "k".into(), mime_type: mime.into(), name: Some("n".into()), bytes: "b".into(), refused: false }];
            let (facts, mut warnings) = (Facts::default(), Vec::new());
            request.facts = Some(facts.clone().into());
            let before = body(kind, &request).to_string().contains("cannot be shown");
            carried(&mut request, &facts, carries, &mut warnings);
            let codes: Vec<&str> = warnings.iter().map(|warning| &*warning.code).collect();
            assert_eq!(codes, vec!["attachment_dropped"; usize::from(before)], "{kind} {mime}");
            assert_eq!(body(kind, &request).to_string().contains("cannot be shown"), before, "{kind} {mime}");
            named += usize::from(before);
            carried(&mut request, &facts, carries, &mut warnings);
            assert_eq!(warnings.len(), usize::from(before), "once");
        }
        assert_eq!(named, none, "{kind}");
    }
}

#[test]
fn each_family_is_told_which_tools_to_call_in_its_own_words() {
    let told = |kind: &str, choice: ToolChoice| {
        let request = ChatRequest { tool_choice: Some(choice), parallel_tool_calls: None, ..rich() };
        let body = body(kind, &request);
        body.get("tool_choice").or_else(|| body.pointer("/toolConfig/functionCallingConfig")).cloned().unwrap_or(Value::Null)
    };
    let wanted = |kind: &str| match kind {
        "openai" => [json!("auto"), json!("none"), json!("required"), json!({"type": "function", "function": {"name": "t"}})],
        "openai-responses" => [json!("auto"), json!("none"), json!("required"), json!({"type": "function", "name": "t"})],
        "anthropic" => [json!({"type": "auto"}), json!({"type": "none"}), json!({"type": "any"}), json!({"type": "tool", "name": "t"})],
        "gemini" => {
            [json!({"mode": "AUTO"}), json!({"mode": "NONE"}), json!({"mode": "ANY"}), json!({"mode": "ANY", "allowedFunctionNames": ["t"]})]
        }
        "cohere" => [Value::Null, json!("NONE"), json!("REQUIRED"), Value::Null],
        _ => [Value::Null, Value::Null, Value::Null, Value::Null],
    };
    for kind in ["openai", "openai-responses", "anthropic", "gemini", "cohere", "ollama"] {
        let choices = [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, ToolChoice::Tool("t".into())];
        assert_eq!(choices.map(|choice| told(kind, choice)), wanted(kind), "{kind}");
    }
    let one = ChatRequest { tool_choice: Some(ToolChoice::Required), ..rich() };
    assert_eq!(body("anthropic", &one)["tool_choice"], json!({"type": "any", "disable_parallel_tool_use": true}));
}

#[test]
fn a_choice_of_tools_that_is_not_taken_is_told() {
    let check = |choice, facts: &Facts, taken: bool, wanted: &[&str]| {
        let (mut request, mut warnings) = (ChatRequest { tool_choice: Some(choice), ..rich() }, Vec::new());
        tool_choice(&mut request, facts, |_| taken, &mut warnings);
        let told: Vec<&str> = warnings.iter().map(|warning| &*warning.code).collect();
        assert_eq!((request.tool_choice.is_some(), told.as_slice()), (wanted.is_empty() && taken, wanted));
    };
    let none = Facts { tool_choice: Some(false), ..Facts::default() };
    check(ToolChoice::Required, &Facts::default(), true, &[]);
    check(ToolChoice::Required, &Facts::default(), false, &["parameter_dropped"]);
    check(ToolChoice::Required, &none, true, &["parameter_dropped"]);
    check(ToolChoice::Auto, &Facts::default(), false, &[]);
}

#[test]
fn tools_of_gemini_give_way_to_functions_where_it_takes_only_one_of_both() {
    for (model, left) in [("gemini-2.5-flash", 0), ("gemini-3.5-flash", 1)] {
        let mut request = ChatRequest { native_tools: vec!["web_search".into()], ..request(model, 0) };
        let mut warnings = Vec::new();
        fit_gemini(&mut request, &registry::find("gemini", model).facts, &mut warnings);
        let told: Vec<_> = warnings.iter().map(|warning| (&*warning.code, warning.parameter.as_deref())).collect();
        assert_eq!((request.native_tools.len(), request.tools.len()), (left, 1), "{model}");
        assert_eq!(told, if left == 0 { vec![("parameter_dropped", Some("native_tools"))] } else { Vec::new() }, "{model}");
    }
}

#[test]
fn kinds_that_cannot_be_told_to_call_one_tool_at_a_time_say_so() {
    for (kind, model, told) in [
        ("gemini", "gemini-3.5-flash", 1),
        ("vertex", "gemini-3.5-flash", 1),
        ("vertex", "claude-sonnet-4-5", 0),
        ("bedrock", "us.amazon.nova-pro-v1:0", 1),
        ("ollama", "qwen3", 1),
        ("cohere", "command-a-03-2025", 1),
        ("openai", "gpt-4o", 0),
    ] {
        let mut request = request(model, 0);
        let warnings = fit(&mut request, &registry::find(kind, model).facts, Timestamp(0));
        let found = warnings.iter().filter(|warning| warning.parameter.as_deref() == Some("parallel_tool_calls")).count();
        assert_eq!((found, request.parallel_tool_calls.is_none()), (told, told == 1), "{kind} {model}");
    }
}

#[test]
fn an_effort_that_a_turn_of_another_model_cannot_take_is_told() {
    let facts = Facts { reasoning: Some(Reasoning::Budget), ..Facts::default() };
    let turn = |block: Value, family: &str| {
        let call = ToolCall { id: "c".into(), name: "t".into(), arguments: json!({}), invalid: None };
        let own = ProviderBlocks { family: family.into(), by: None, value: json!([block]) };
        Message { tool_calls: vec![call], blocks: Some(own), ..Message::text(Role::Assistant, "") }
    };
    for (said, dropped) in [
        (turn(json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}), "anthropic"), false),
        (turn(json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}), "other"), true),
        (turn(json!({"type": "tool_use", "id": "c", "name": "t", "input": {}}), "anthropic"), true),
        (Message::text(Role::Assistant, "Hi"), false),
    ] {
        let mut request = ChatRequest::new("claude-sonnet-4-5", vec![Message::text(Role::User, "hi"), said]);
        request.parameters.reasoning_effort = Some("high".into());
        let mut warnings = Vec::new();
        fit_thoughts(&mut request, &facts, anthropic::request::begins_with_thought, &mut warnings);
        assert_eq!((warnings.len() == 1, request.parameters.reasoning_effort.is_none()), (dropped, dropped), "{:?}", request.messages[1]);
        let body = anthropic::request::body(&ChatRequest { facts: Some(Arc::new(facts.clone())), ..request }, anthropic::request::SAMPLING);
        assert_eq!(body.get("thinking").is_none(), dropped, "{body}");
    }
}
