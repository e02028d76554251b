//! Expressions, regular expressions and templates over the largest state.

use serde_json::{Value, json};
use wfstudio::model::condition::Test;
use wfstudio::model::sketch;
use wfstudio::model::state::State;
use wfstudio::model::template_text::Template;

use crate::trial::{STACK, each, trial, trials};

/// A state of about 4 MiB, the default of `limits.state_kb`.
fn large() -> State {
    let words: Vec<String> = (0..60_000).map(|n| format!("word {n}")).collect();
    let fields = json!({"n": 4_611_686_018_427_387_904_i64, "w": 1_000_000_000, "text": "a".repeat(2 << 20), "words": words, "zeros": vec![0; 300_000],
        "items": (0..2_000).map(|n| json!({"k": n, "t": "x"})).collect::<Vec<_>>()});
    State::from_json(fields.as_object().cloned().expect("an object"))
}

/// Refused, failed or answered: all three are fine.
fn evaluate(expression: &str) {
    if let Ok(Some(test)) = Test::parse(json!({"expression": expression}).as_object().expect("an object")) {
        let _answer = test.holds(&large());
    }
}

#[test]
fn a_width_from_the_state_allocates_nothing_of_its_size() {
    const NAME: &str = "conditions::a_width_from_the_state_allocates_nothing_of_its_size";
    trials(NAME, STACK, || {
        for width in ["state.n", "state.w", "100000000", "4611686018427387904"] {
            for expression in [
                "'x'|indent(W)", "'x'|indent(width=W)", "'%4611686018427387904d'|format(1)", "'%*d'|format(W, 1)", "'x'|center(W)", "'x'|ljust(W)",
                "'x'*W", "W*'x'", "[1]*W", "(1,)*W", "[1]*W|list", "([1]*W)|sum", "[1]*W == [1]*W", "range(W)", "range(W)|list", "[[1]*W]|tojson",
                "1|round(W)", "1.5|round(W)", "[1]|batch(W)", "[1]|batch(W, 0)|list", "[1]|slice(W)", "[1]|tojson(indent=W)", "state|tojson(indent=W)",
                "1.5|round(-W)", "2**W", "'x'|replace('', state.text)", "'a'|int(0, W)", "state.words|join(state.text)", "state.text[::W]", "state.text[-W:W]",
            ] {
                each(NAME, || evaluate(&expression.replace('W', width)));
            }
        }
    });
}

#[test]
fn growth_upon_growth_is_bounded() {
    trial("conditions::growth_upon_growth_is_bounded", STACK, || {
        let doubled = |piece: &str, sign: &str, times: usize| vec![piece; times].join(sign);
        for expression in [
            doubled("\"a\"*100000000", "~", 200),
            doubled("state.text", "~", 800),
            doubled("state.text", "+", 800),
            doubled("state.words", "+", 800) + "|length",
            doubled("state.words|list", "+", 500) + " == 1",
            format!("[{}]", doubled("state.text|upper", ",", 500)),
            format!("[{}]", doubled("[state.words]*1000", ",", 400)) + "|tojson",
            format!("state.text{}", "|replace('a','aaaaaaaaaa')".repeat(50)),
            format!("state.words{}", "|map('replace','w',state.text)".repeat(5)),
            format!("state.words{}", "|sort".repeat(1000)),
            format!("state.words{}", "|unique".repeat(1000)),
            format!("state.words{}", "|tojson".repeat(100)),
            format!("state.words{}", "|string".repeat(100)),
            format!("(({0}) ~ ({0}))", doubled("(state ~ state)", "~", 100)),
        ] {
            evaluate(&expression);
        }
    });
}

#[test]
fn the_same_value_read_many_times_costs_little() {
    trial("conditions::the_same_value_read_many_times_costs_little", STACK, || {
        evaluate(&vec!["state.words[7] == 'x'"; 400].join(" or "));
        evaluate(&vec!["state.words|length == 1"; 400].join(" or "));
        evaluate(&vec!["state.zeros == state.zeros"; 350].join(" and "));
        evaluate(&vec!["'aaab' in state.text"; 480].join(" or "));
        evaluate(&vec!["7 in state.zeros"; 600].join(" or "));
        evaluate(&vec!["state.zeros|max > 7"; 480].join(" or "));
        evaluate(&vec!["state.text < state.text"; 400].join(" or "));
    });
}

#[test]
fn deep_and_long_expressions_need_no_deep_stack() {
    const NAME: &str = "conditions::deep_and_long_expressions_need_no_deep_stack";
    trials(NAME, STACK, || {
        let around = |open: &str, close: &str| [20, 100, 1_000, 4_900].map(|times| open.repeat(times) + "1" + &close.repeat(times));
        let mut all: Vec<String> = [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("- -", ""), ("{1:", "}"), ("state[", "]"), ("range(", ")"), ("1|d(", ")"), ("1 if 1 else ", ""), ("1 if ", " else 1")]
            .iter()
            .flat_map(|(open, close)| around(open, close))
            .collect();
        for (first, next) in [
            ("state.x", "+1"), ("1", "~1"), ("1", "*1"), ("1", "**1"), ("1", " and 1"), ("1", " or 1"), ("1", "<1"), ("1", " in [1]"), ("state", ".a"), ("state", "[0]"),
            ("state", "[0:1]"), ("'a'", "|upper"), ("1", " is odd"), ("1", " is not odd"), ("1", " if 1"), ("1", "-1"), ("1", "//1"), ("state", "()"), ("'a'", " 'a'"),
            ("1", " not in [1]"), ("1", "+-1"), ("1", "+not 1"),
        ] {
            all.extend([200, 1_500, 4_990].map(|times| first.to_owned() + &next.repeat(times)));
        }
        for expression in all {
            each(NAME, || evaluate(&expression[..expression.len().min(10_000)]));
            each(NAME, || evaluate(&expression));
        }
    });
}

#[test]
fn regular_expressions_take_bounded_time_over_long_text() {
    trial("conditions::regular_expressions_take_bounded_time_over_long_text", STACK, || {
        for pattern in [r"\w{20}", r"(?i)(a|b|ab)*c{500}$", r"(a?){200}a{200}b", r"[ab]*a[ab]{300}c", r"(\w+\s?)+$", r"(?:.*a){100}b", r"\b\w+\b.*\bz\b", r"(x+x+)+y"] {
            let rule = json!({"state_key": "text", "operator": "regex", "value": pattern});
            for text in ["a".repeat(4 << 20), "ab".repeat(2 << 20), "é ".repeat(1 << 20)] {
                if let Ok(test) = Test::parse_or_default(rule.as_object().expect("an object")) {
                    let state = State::from_json(json!({"text": text}).as_object().cloned().expect("an object"));
                    let _answer = test.holds(&state);
                }
            }
        }
    });
}

#[test]
fn a_template_of_many_large_values_is_bounded() {
    trial("conditions::a_template_of_many_large_values_is_bounded", STACK, || {
        for placeholder in ["{{text}}", "{{words}}", "{{items}}", "{{text.a.b}}", "{{__studio_now}}"] {
            let template = Template::parse(&placeholder.repeat((1 << 20) / placeholder.len()));
            assert!(template.render(&large(), &sketch::system()).len() < 64 << 20);
        }
        let _parsed = Template::parse(&"{{".repeat(1 << 19));
        let _parsed = Template::parse(&format!("{{{{a{}", ".a".repeat(1 << 19)));
        let _parsed = Template::parse(&format!("{{{{a{}", "[0]".repeat(1 << 18)));
    });
}

#[test]
fn rules_compare_the_largest_values() {
    trial("conditions::rules_compare_the_largest_values", STACK, || {
        let state = large();
        let many: Vec<Value> = (0..10_000).map(|n| json!({"state_key": "words", "operator": "contains", "value": n.to_string()})).collect();
        for data in [
            json!({"rules": many, "logic": "any"}),
            json!({"state_key": "text", "operator": "in", "value": vec!["b".repeat(90); 10_000]}),
            json!({"state_key": "zeros", "operator": "equals", "value": vec![0; 300_000]}),
        ] {
            if let Ok(test) = Test::parse_or_default(data.as_object().expect("an object")) {
                let _answer = test.holds(&state);
            }
        }
    });
}
