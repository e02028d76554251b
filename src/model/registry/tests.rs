use super::*;

#[test]
fn every_row_of_the_file_is_read() {
    let written: Value = serde_json::from_str(include_str!("bundled.json")).expect("JSON");
    let rows = written["models"].as_array().expect("rows");
    assert!(rows.len() > 600, "{}", rows.len());
    for row in rows {
        let (kind, id) = (row["kind"].as_str().expect("a kind"), row["id"].as_str().expect("an id"));
        let found = find(kind, id);
        assert!(found.is_known, "{kind} {id}");
        for (name, value) in
            row.as_object().expect("an object").iter().filter(|(name, _)| !["kind", "id", "family"].contains(&name.as_str()))
        {
            assert_eq!(serde_json::to_value(&*found.facts).expect("JSON")[name], *value, "{kind} {id} {name}");
        }
    }
}

#[test]
fn a_name_is_found_exactly_or_by_its_longest_beginning() {
    let window = |kind: &str, model: &str| find(kind, model).facts.max_output;
    for (kind, model, wanted) in [
        ("anthropic", "claude-opus-4-8", Some(128_000)),
        ("anthropic", "claude-opus-4-8-20270101", Some(128_000)),
        ("anthropic", "anthropic/claude-opus-4.8", Some(128_000)),
        ("anthropic", "claude-3-opus-20240229", Some(4096)),
        ("anthropic", "claude-next-9", Some(64_000)),
        ("anthropic", "qwen-3", None),
        ("openai", "gpt-4o-2031-01-01", Some(16_384)),
        ("openai", "gpt-4", Some(4096)),
        ("azure-openai", "gpt-4o", Some(16_384)),
        ("openai-responses", "openai/gpt-5.2", Some(128_000)),
        ("openai-compatible", "gpt-4o", None),
        ("bedrock", "us.anthropic.claude-opus-4-6-v1", Some(128_000)),
        ("bedrock", "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", Some(64_000)),
        ("vertex", "claude-sonnet-4-5@20250929", Some(64_000)),
        ("vertex", "gemini-2.5-pro", Some(65_536)),
        ("nobody", "gpt-4o", None),
    ] {
        assert_eq!(window(kind, model), wanted, "{kind} {model}");
    }
    assert!(!find("anthropic", "qwen-3").is_known && find("anthropic", "claude-next-9").is_known);
    assert_eq!(find("openai", "gpt-5").facts.retired_at.as_deref(), Some("2026-12-11"));
    assert_eq!(find("azure-openai", "gpt-5").facts.retired_at, None, "other doors have days of their own");
    assert_eq!((find("openai", "gpt-4o").facts.stop, find("openai-responses", "gpt-4o").facts.stop), (None, Some(false)));
}

#[test]
fn models_of_a_marketplace_are_known_by_their_makers() {
    let of = |model: &str| find("openrouter", model).facts;
    let claude = of("anthropic/claude-opus-4.5");
    assert_eq!((claude.max_output, claude.reads(Medium::Image), claude.reads(Medium::Audio)), (Some(64_000), true, false));
    assert!(of("google/gemini-2.5-flash").is_known_to_read(Medium::Audio) && !of("openai/o3-mini").reads(Medium::Image));
    assert!(of("openai/o3-mini").reads(Medium::Pdf), "the marketplace reads PDF files to every model");
    let unknown = of("meta-llama/llama-3-8b-instruct");
    assert!(unknown.reads(Medium::Image) && !unknown.is_known_to_read(Medium::Image) && unknown.is_known_to_read(Medium::Text));
    let says = |facts: &Facts, word: &str| facts.capabilities().contains(&word);
    assert!(says(&claude, "vision") && !says(&unknown, "vision") && !says(&unknown, "audio"));
    let painter = of("google/gemini-2.5-flash-image");
    assert!(painter.makes(Medium::Image) && painter.tools == Some(false) && !of("google/gemini-2.5-flash").makes(Medium::Image));
}

#[test]
fn models_that_make_pictures_or_speech_are_not_those_that_their_names_begin_with() {
    for model in ["gemini-2.5-flash-image", "gemini-2.5-flash-image-preview", "gemini-2.5-flash-preview-tts", "gemini-2.5-pro-preview-tts"] {
        let facts = find("gemini", model).facts;
        assert_eq!((facts.reasoning, facts.tools), (Some(Reasoning::None), Some(false)), "{model}");
        assert!(facts.makes(Medium::Image) || facts.makes(Medium::Audio), "{model}");
    }
    assert!(find("vertex", "gemini-3-pro-image").facts.makes(Medium::Image));
    assert_eq!(find("gemini", "gemini-2.5-flash").facts.reasoning, Some(Reasoning::Budget));
}

#[test]
fn names_of_families_are_no_models() {
    let names: Vec<&str> = models("anthropic").map(|(name, _)| name).collect();
    assert!(names.contains(&"claude-opus-5") && !names.contains(&"claude"), "{names:?}");
    assert_eq!(models("nobody").count(), 0);
}

#[test]
fn a_model_ends_on_its_day() {
    let facts = Facts { retired_at: Some("2026-12-11".into()), ..Facts::default() };
    let day = |days: i64| Timestamp(1_796_860_800_000 + days * 86_400_000);
    assert_eq!(&day(0).rfc3339()[..10], "2026-12-10");
    assert!(!facts.is_retired(day(0)) && facts.is_retired(day(1)));
    assert!(!Facts::default().is_retired(day(9999)));
}

#[test]
fn what_is_not_known_is_not_refused() {
    let nothing = Facts::default();
    assert!(nothing.reads(Medium::Video) && nothing.structured() == Structured::Schema);
    assert_eq!(nothing.capabilities(), ["stream", "tools", "structured"], "what nobody knows is not said of it");
    let own = Facts { sampling: Some(false), ..Facts::default() };
    let below = Facts { sampling: Some(true), stop: Some(false), ..Facts::default() };
    assert_eq!(own.over(&below), Facts { sampling: Some(false), stop: Some(false), ..Facts::default() });
}
