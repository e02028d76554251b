//! Owns templates in node fields: `{{ path }}` is expanded once, all other text is unchanged.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Number, Value};

use super::path::Path;
use super::state::State;
use super::{Id, Timestamp};

/// Bytes that are inserted into one text: what would come after them stays empty. Far more than `limits.state_kb` lets be stored.
const INSERTED: usize = 32 << 20;

/// What the `__studio_*` keys say in one step.
#[derive(Clone, Debug)]
pub struct System {
    /// The thread of the run.
    pub thread_id: Id,
    /// When the step started.
    pub now: Timestamp,
    /// The time zone of the inserted time.
    pub timezone: TimeZone,
    /// Such as `en` or `pt_BR`.
    pub locale: Arc<str>,
}

impl System {
    fn text(&self, path: &Path) -> Option<Cow<'_, str>> {
        let name = path.root().strip_prefix("__studio_").filter(|_| path.is_key())?;
        match name {
            "thread_id" => Some(self.thread_id.to_string().into()),
            "now" => Some(self.now.rfc3339_in(&self.timezone).into()),
            "timezone" => Some(self.timezone.iana_name().unwrap_or("UTC").into()),
            "locale" => Some(Cow::Borrowed(&*self.locale)),
            _ => None,
        }
    }
}

/// A compiled template.
#[derive(Clone, Debug, Default)]
pub struct Template {
    source: Arc<str>,
    pieces: Box<[Piece]>,
    fixed: usize,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(Box<str>),
    Path(Path),
}

impl Template {
    /// Compiles a text; every text is a template.
    #[must_use]
    pub fn parse(source: &str) -> Self {
        let mut pieces = Vec::new();
        let mut from = 0;
        let mut at = 0;
        while let Some(open) = source[at..].find("{{").map(|found| at + found) {
            if let Some((path, length)) = placeholder(&source[open..]) {
                if from < open {
                    pieces.push(Piece::Text(source[from..open].into()));
                }
                pieces.push(Piece::Path(path));
                at = open + length;
                from = at;
            } else {
                at = open + 1;
            }
        }
        if from < source.len() {
            pieces.push(Piece::Text(source[from..].into()));
        }
        let fixed = pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 16 }).sum();
        Self { source: source.into(), pieces: pieces.into(), fixed }
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Has no placeholder.
    pub fn is_static(&self) -> bool {
        self.paths().next().is_none()
    }

    /// The paths that it reads, in order; one read twice comes twice.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Path(path) => Some(path),
        })
    }

    /// Would it render to nothing but blanks?
    pub fn is_blank(&self, state: &State) -> bool {
        let mut left = INSERTED;
        self.pieces.iter().all(|piece| match piece {
            Piece::Text(text) => text.trim().is_empty(),
            Piece::Path(path) if is_system(path) => false,
            Piece::Path(path) => match state.lookup(path) {
                None | Some(Value::Null) => true,
                Some(Value::String(text)) => takes(&mut left, text).is_none_or(|text| text.trim().is_empty()),
                Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => false,
            },
        })
    }

    /// The text with every placeholder replaced, in one pass.
    pub fn render(&self, state: &State, system: &System) -> String {
        let mut left = INSERTED;
        let mut out = String::with_capacity(self.fixed);
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Path(_) if left == 0 => {}
                Piece::Path(path) => out.push_str(takes(&mut left, &value_text(path, state, system)).unwrap_or_default()),
            }
        }
        out
    }

    /// As `render`, with every inserted value handed to `insert` first.
    pub fn render_with(&self, state: &State, system: &System, insert: &mut dyn FnMut(&Path, String) -> String) -> String {
        let mut left = INSERTED;
        let mut out = String::with_capacity(self.fixed);
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Path(_) if left == 0 => {}
                Piece::Path(path) => {
                    let text = value_text(path, state, system);
                    if takes(&mut left, &text).is_some() {
                        out.push_str(&insert(path, text.into_owned()));
                    }
                }
            }
        }
        out
    }
}

/// The text while there is room; the first that does not fit takes what is left.
fn takes<'t>(left: &mut usize, text: &'t str) -> Option<&'t str> {
    let rest = left.checked_sub(text.len());
    *left = rest.unwrap_or(0);
    rest.map(|_| text)
}

/// Does a path read one of the `__studio_*` keys that every step has?
pub fn is_system(path: &Path) -> bool {
    path.is_key() && matches!(path.root(), "__studio_thread_id" | "__studio_now" | "__studio_timezone" | "__studio_locale")
}

/// Reads `{{ path }}`, and says how long it is.
fn placeholder(text: &str) -> Option<(Path, usize)> {
    let inner = text.strip_prefix("{{")?;
    let start = inner.len() - inner.trim_start_matches(' ').len();
    let (path, length) = Path::scan(&inner[start..])?;
    let after = &inner[start + length..];
    let closing = after.trim_start_matches(' ');
    closing.starts_with("}}").then(|| (path, text.len() - closing.len() + 2))
}

fn value_text<'s>(path: &Path, state: &'s State, system: &'s System) -> Cow<'s, str> {
    if let Some(text) = system.text(path) {
        return text;
    }
    state.lookup(path).map_or(Cow::Borrowed(""), text_of)
}

/// A value as templates show it.
pub fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(number) => number_text(number).into(),
        Value::String(text) => text.into(),
        Value::Array(_) | Value::Object(_) => value.to_string().into(),
    }
}

/// The shortest form of a number: `1` also for `1.0`.
fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => format!("{float:.0}"),
        Some(_) | None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn system() -> System {
        System {
            thread_id: Id(uuid::Uuid::nil()),
            now: Timestamp(1_795_984_794_123),
            timezone: TimeZone::fixed(jiff::tz::offset(-3)),
            locale: "en".into(),
        }
    }

    fn render(template: &str, state: &Value) -> String {
        let state = State::from_json(state.as_object().cloned().unwrap_or_default());
        Template::parse(template).render(&state, &system())
    }

    #[test]
    fn values_are_shown_as_the_contract_says() {
        let state = json!({"s": "a\n\"é", "t": true, "f": false, "n": null, "i": -7, "x": 1.0, "y": 0.1, "big": 1e21,
            "l": [1, "é"], "o": {"k": {"v": "deep"}}, "two words": "tw"});
        for (template, text) in [
            ("{{s}}", "a\n\"é"),
            ("{{ t }}{{f}}[{{n}}][{{missing.a}}]", "truefalse[][]"),
            ("{{i}} {{x}} {{y}} {{big}}", "-7 1 0.1 1e+21"),
            ("{{l}} {{o}}", "[1,\"é\"] {\"k\":{\"v\":\"deep\"}}"),
            ("{{o.k.v}} {{o[\"k\"].v}} {{l.1}} {{l[0]}} {{[\"two words\"]}}", "deep deep é 1 tw"),
        ] {
            assert_eq!(render(template, &state), text, "{template}");
        }
    }

    #[test]
    fn text_that_is_no_placeholder_stays() {
        for text in
            ["{{}}", "{{ }}", "{{a|upper}}", "{{ a b }}", "{{a", "{ {a}}", "{{1}}", "{% if a %}", "{{a()}}", "{{a.}}", "{{é}}"]
        {
            assert_eq!(render(text, &json!({"a": 1})), text);
        }
        assert_eq!(render("{{{a}}} {{ {{a}}", &json!({"a": 1})), "{1} {{ 1");
    }

    #[test]
    fn system_keys_are_told() {
        assert_eq!(
            render("{{__studio_now}} {{__studio_locale}} {{__studio_thread_id}}", &json!({"__studio_locale": "xx"})),
            "2026-11-29T17:39:54.123-03:00 en 00000000-0000-0000-0000-000000000000"
        );
    }

    #[test]
    fn blank_is_known_before_rendering() {
        let state = State::from_json(json!({"a": " ", "b": 0}).as_object().cloned().unwrap());
        for (template, blank) in [("", true), (" {{a}}{{zz}}", true), ("{{b}}", false), ("x", false), ("{{__studio_now}}", false)]
        {
            assert_eq!(Template::parse(template).is_blank(&state), blank, "{template}");
        }
    }

    #[test]
    fn inserted_values_can_be_cut() {
        let state = State::from_json(json!({"a": "long", "b": "x"}).as_object().cloned().unwrap());
        let cut = Template::parse("{{a}}-{{b}}")
            .render_with(&state, &system(), &mut |path, text| format!("{}={}", path.source(), text.len()));
        assert_eq!(cut, "a=4-b=1");
    }

    proptest! {
        #[test]
        fn inserted_text_is_never_read_again(value in "[{}a ]{0,12}", before in "[^{}]{0,5}", after in "[^{}]{0,5}") {
            let shown = render(&format!("{before}{{{{ a }}}}{after}"), &json!({"a": value}));
            prop_assert_eq!(shown, format!("{before}{value}{after}"));
        }

        #[test]
        fn any_text_renders(template in "[{}a-c.\\[\\]\"0-9 |é\\\\]{0,40}", value in ".{0,10}") {
            let _ = render(&template, &json!({"a": value, "b": [1, {"c": 2}]}));
        }
    }
}
