//! `bindings/abi.json` says what the header, the operations and the description of the API say: bindings are generated from it.

use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value, json};
use wfstudio::ffi::uniffi::StudioEngine;
use wfstudio::host::HostOp;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// What `studio_start` begins beside the operations.
const STARTED: [&str; 3] = ["http", "run", "resume"];
/// Codes, types and functions of version 1.0, as they were released to the bindings. Later versions only add to them, so this file is never edited.
const FIRST: &str = include_str!("../../bindings/abi-1.0.json");
/// Functions that may wait though they have no time for it.
const WAITING: [&str; 6] = ["studio_call", "studio_run", "studio_resume", "studio_trace", "studio_usage", "studio_http"];

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn matches<'t>(pattern: &str, text: &'t str) -> Vec<regex::Captures<'t>> {
    Regex::new(pattern).expect("a pattern").captures_iter(text).collect()
}

/// A declaration's type and name.
fn declared(text: &str) -> (String, String) {
    let text = words(text);
    let at = text.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |at| at + 1);
    let (kind, name) = text.split_at(at);
    (kind.trim().to_owned(), name.to_owned())
}

fn codes(header: &str) -> Vec<Value> {
    let found = matches(r"/\* ([^*]*(?:\*[^/][^*]*)*) \*/\n#define (STUDIO_[A-Z_]+) (-?\d+)\n", header);
    let code = |found: &regex::Captures<'_>| {
        let value: i64 = found[3].parse().expect("a number");
        json!({"name": found[2], "value": value, "error": value < 0, "doc": words(&found[1])})
    };
    found.iter().map(code).collect()
}

fn role(function: &str, kind: &str, name: &str) -> &'static str {
    match kind {
        "struct studio_engine *" | "struct studio_stream *" => "handle",
        "struct studio_engine **" | "struct studio_stream **" => "out_handle",
        "struct studio_buf *" if function == "studio_buf_free" => "in_out_buffer",
        "struct studio_buf *" => "out_buffer",
        "const char *" => "name",
        "const uint8_t *" if name.starts_with("body") => "bytes",
        "const uint8_t *" => "text",
        "uint64_t *" => "out_numbers",
        "size_t *" => "out_count",
        "size_t" if name == "len" || name.ends_with("_len") => "length",
        "size_t" if name == "room" => "room",
        "studio_host_fn" | "studio_event_fn" | "studio_log_fn" | "studio_destroy_fn" => "callback",
        "void *" => "user_data",
        "int32_t" | "uint32_t" if name == "timeout_ms" => "timeout",
        "int32_t" | "uint32_t" | "uint64_t" | "size_t" => "value",
        other => panic!("{function}: nothing is known of `{other} {name}`"),
    }
}

fn parameters(function: &str, list: &str) -> Vec<Value> {
    let declared: Vec<_> = list.split(',').filter(|text| text.trim() != "void").map(declared).collect();
    let one = |(at, (kind, name)): (usize, &(String, String))| {
        let role = role(function, kind, name);
        let mut parameter = json!({"name": name, "type": kind, "role": role});
        if role.ends_with("handle") {
            parameter["of"] = kind.split(' ').nth(1).into();
        }
        if role == "text" || role == "bytes" {
            parameter["length"] = declared.get(at + 1).map(|(_, next)| next.as_str()).into();
        }
        if role == "out_numbers" {
            parameter["room"] = "room".into();
            parameter["count"] = "count".into();
        }
        parameter
    };
    declared.iter().enumerate().map(one).collect()
}

fn first() -> Value {
    serde_json::from_str(FIRST).expect("JSON")
}

fn functions(header: &str) -> Vec<Value> {
    let first = first();
    let first: Vec<_> = first["functions"].as_array().expect("a list").iter().map(|function| function["name"].as_str()).collect();
    let found = matches(r"/\* ([^*]*(?:\*[^/][^*]*)*) \*/\n((?:const )?\w+ \*?)(studio_\w+)\(([^;]*)\);", header);
    let function = |found: &regex::Captures<'_>| {
        let name = &found[3];
        let parameters = parameters(name, &found[4]);
        let timed = parameters.iter().any(|parameter| parameter["role"] == "timeout");
        let result = match (name, found[2].trim()) {
            (_, "void") => Value::Null,
            ("studio_abi_version", _) => "version".into(),
            (_, "const char *") => "text".into(),
            (name, _) if name.ends_with("_fd") => "descriptor".into(),
            (_, "int32_t") => "code".into(),
            (_, other) => panic!("{name} gives {other}"),
        };
        let since = if first.contains(&Some(name)) { "1.0" } else { "1.1" };
        let waits: Value = if timed { "timeout_ms".into() } else { WAITING.contains(&name).into() };
        json!({"name": name, "since": since, "returns": found[2].trim(), "result": result, "waits": waits, "parameters": parameters, "doc": words(&found[1])})
    };
    found.iter().map(function).collect()
}

fn types(header: &str) -> Vec<Value> {
    let handles = matches(r"typedef struct (\w+) (?:\w+);", header);
    let handles = handles.iter().map(|found| json!({"name": found[1], "kind": "handle"}));
    let fields = |text: &str| -> Vec<Value> {
        let plain = Regex::new(r"/\*[^*]*\*/").expect("a pattern").replace_all(text, "").into_owned();
        let fields = plain.split(';').filter(|field| !field.trim().is_empty()).map(declared);
        fields.map(|(kind, name)| json!({"name": name, "type": kind})).collect()
    };
    let structs = matches(r"typedef struct (\w+) \{([^}]*)\}", header);
    let structs = structs.iter().map(|found| json!({"name": found[1], "kind": "struct", "fields": fields(&found[2])}));
    let callbacks = matches(r"typedef (\w+) \(\*(\w+)\)\(([^)]*)\);", header);
    let callbacks = callbacks.iter().map(|found| {
        let parameters: Vec<_> = found[3].split(',').map(declared).map(|(kind, name)| json!({"name": name, "type": kind})).collect();
        json!({"name": found[2], "kind": "callback", "returns": found[1], "parameters": parameters})
    });
    handles.chain(structs).chain(callbacks).collect()
}

fn properties(schemas: &Value, name: &str) -> Map<String, Value> {
    schemas[name]["properties"].as_object().cloned().expect("properties")
}

fn document() -> Value {
    let header = fs::read_to_string(Path::new(ROOT).join("include/wfstudio.h")).expect("a header");
    let schemas = wfstudio::http::description()["components"]["schemas"].take();
    let engine = StudioEngine::open(r#"{"environment":"local","database":{"path":":memory:"}}"#.into()).expect("an engine");
    let about: Value = serde_json::from_str(&engine.call("about".into(), String::new()).expect("an answer")).expect("JSON");
    engine.shutdown(5000).expect("closed");
    let number = wfstudio::ffi::uniffi::abi_version();
    let named = |list: &Value| -> Vec<Value> { list.as_array().expect("a list").iter().map(|name| json!({"name": name})).collect() };
    let calls = properties(&schemas, "HostCalls");
    let host_ops = HostOp::ALL.map(|op| {
        let described = &calls[op.as_str()]["properties"];
        let payload = described["payload"]["$ref"].as_str().and_then(|target| target.rsplit('/').next());
        json!({"name": op.as_str(), "answered": described.get("result").is_some(), "payload": payload})
    });
    assert_eq!(calls.len(), host_ops.len(), "calls are described that there are not");
    let schema_of = |kind: &str, event: &Value| {
        let events = &schemas[kind]["properties"];
        events[event.as_str().unwrap_or_default()]["$ref"].as_str().and_then(|target| target.rsplit('/').next()).map(str::to_owned)
    };
    let events = about["events"].as_array().expect("a list").iter();
    let events = events.map(|event| json!({"name": event, "workflow": schema_of("WorkflowEvents", event), "chat": schema_of("ChatEvents", event)}));
    let marks = properties(&schemas, "HostMarks");
    let marks = marks.iter().map(|(name, schema)| json!({"name": name, "schema": schema}));
    json!({
        "library": "wfstudio",
        "abi": {"major": number >> 16, "minor": number & 0xffff, "number": number},
        "codes": codes(&header),
        "types": types(&header),
        "functions": functions(&header),
        "started": STARTED,
        "ops": named(&about["ops"]),
        "host_ops": host_ops,
        "marks": marks.collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(),
    })
}

/// `make generate` sets `STUDIO_GENERATE`: then the file is written instead of compared.
#[test]
fn the_description_of_the_functions_is_up_to_date() {
    let path = Path::new(ROOT).join("bindings/abi.json");
    let document = document();
    let made = serde_json::to_string_pretty(&document).expect("JSON") + "\n";
    if std::env::var_os("STUDIO_GENERATE").is_some() {
        fs::write(&path, &made).expect("bindings/abi.json can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == made, "bindings/abi.json is out of date: run `make generate`");
    let declared = fs::read_to_string(Path::new(ROOT).join("include/wfstudio.h")).expect("a header");
    assert_eq!(document["functions"].as_array().map(Vec::len), Some(matches(r"(?m)^(?:const )?\w+ \*?studio_\w+\(", &declared).len()), "every function is read");
    assert_eq!(document["codes"].as_array().map(Vec::len), Some(matches(r"#define STUDIO_[A-Z_]+ -?\d+\n", &declared).len()), "every code is read");
}

#[test]
fn what_can_be_started_is_what_is_listed() {
    let engine = StudioEngine::open(r#"{"environment":"local","database":{"path":":memory:"}}"#.into()).expect("an engine");
    for op in STARTED {
        assert!(engine.start(op.into(), "{}".into(), Vec::new()).is_ok(), "{op}");
    }
    assert!(engine.start("trace".into(), "{}".into(), Vec::new()).is_err());
    engine.shutdown(5000).expect("closed");
}

/// Whether `now` has all that `was` has; objects may have more members.
fn kept(was: &Value, now: &Value) -> bool {
    match (was, now) {
        (Value::Object(was), Value::Object(now)) => was.iter().all(|(name, was)| now.get(name).is_some_and(|now| kept(was, now))),
        (Value::Array(was), Value::Array(now)) => was.len() == now.len() && was.iter().zip(now).all(|(was, now)| kept(was, now)),
        (was, now) => was == now,
    }
}

/// What of an older version is gone or different.
fn broken(was: &Value, now: &Value) -> Vec<String> {
    let list = |document: &Value, kind: &str| document[kind].as_array().cloned().expect("a list");
    let mut found = Vec::new();
    for kind in ["codes", "types", "functions"] {
        let now = list(now, kind);
        let same = |was: &Value| now.iter().any(|now| now["name"] == was["name"] && kept(was, now));
        found.extend(list(was, kind).iter().filter(|was| !same(was)).map(|was| was["name"].as_str().unwrap_or_default().to_owned()));
    }
    found
}

#[test]
fn later_versions_of_the_functions_only_add() {
    let header = fs::read_to_string(Path::new(ROOT).join("include/wfstudio.h")).expect("a header");
    let read = |header: &str| json!({"codes": codes(header), "types": types(header), "functions": functions(header)});
    let first = first();
    assert_eq!(broken(&first, &read(&header)), Vec::<String>::new(), "of version 1.0 this is gone or has another form");
    let number = wfstudio::ffi::uniffi::abi_version();
    let added = read(&header)["functions"].as_array().map(Vec::len) > first["functions"].as_array().map(Vec::len);
    assert_eq!((number >> 16, number & 0xffff > 0), (1, added), "an addition is a new minor version");

    // Each kind of change is seen.
    for (from, to, name) in [
        ("#define STUDIO_BUSY -13", "#define STUDIO_BUSY -14", "STUDIO_BUSY"),
        ("  size_t cap;\n", "  uint32_t cap;\n", "studio_buf"),
        ("void studio_shutdown(uint32_t timeout_ms)", "void studio_shutdown(int32_t timeout_ms)", "studio_shutdown"),
        ("int32_t studio_stream_close(", "int32_t studio_stream_shut(", "studio_stream_close"),
        ("int32_t studio_stream_cancel(struct studio_stream *stream)", "void studio_stream_cancel(struct studio_stream *stream)", "studio_stream_cancel"),
    ] {
        let other = header.replace(from, to);
        assert!(other != header, "{from} is not in the header");
        assert_eq!(broken(&first, &read(&other)), [name], "{to}");
    }
}
