//! Templates: every text is one; it is rendered once, and what a value holds is not rendered again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use wfstudio::model::sketch;
use wfstudio::model::state::State;
use wfstudio::model::template_text::Template;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let fields = json!({"a": "{{b}}", "b": {"c": ["x", 1.5, null]}, "é": true, "input": text});
    let state = State::from_json(fields.as_object().cloned().unwrap_or_default());
    let template = Template::parse(text);
    assert_eq!(template.source(), text);
    let rendered = template.render(&state, &sketch::system());
    if template.is_static() {
        assert_eq!(rendered, text);
    }
    assert_eq!(Template::parse("{{a}}").render(&state, &sketch::system()), "{{b}}");
});
