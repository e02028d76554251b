//! What is masked, and what is left.

use serde_json::json;

use super::*;

fn masks(names: &[&str]) -> Masks {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Masks::new(Redaction::new(&names).expect("names"))
}

fn text(masks: &mut Masks, text: &str) -> String {
    let mut text = text.to_owned();
    masks.text(&mut text);
    text
}

#[test]
fn values_of_named_keys_are_masked_at_every_depth_and_in_every_spelling() {
    let mut value = json!({"a": [{"Api-Key": "k1", "x": 1}], "api_key": {"inner": [1, "two"]}, "API_KEY": null, "api_keys": "k", "n": ""});
    masks(&["api-key", "n"]).value(&mut value);
    assert_eq!(value, json!({"a": [{"Api-Key": MASK, "x": 1}], "api_key": MASK, "API_KEY": null, "api_keys": "k", "n": ""}));
}

#[test]
fn a_value_that_was_seen_is_masked_wherever_it_turns_up() {
    let mut masks = masks(&["password"]);
    let mut state = json!({"password": "can\"ary-1", "pin": {"password": 4711_4711}, "note": "short"});
    masks.value(&mut state);
    assert_eq!(text(&mut masks, "log in with can\"ary-1 and 47114711"), "log in with [redacted] and [redacted]");
    assert_eq!(text(&mut masks, r#"{"told": "can\"ary-1!"}"#), r#"{"told": "[redacted]!"}"#);
    let mut number = json!([47_114_711, 47_114_712]);
    masks.value(&mut number);
    assert_eq!(number, json!([MASK, 47_114_712]));
}

#[test]
fn texts_are_searched_for_keys() {
    for (before, after) in [
        (r#"{"token":"abc","b":1}"#, r#"{"token":"[redacted]","b":1}"#),
        (r#"{"token": {"a": "}", "b": [1]}, "c": 2}"#, r#"{"token": [redacted], "c": 2}"#),
        (r#"{"token": "cut of"#, r#"{"token": "[redacted]"#),
        (r#"{"body": "{\"token\": \"abc\", \"b\": 1}"}"#, r#"{"body": "{\"token\": \"[redacted]\", \"b\": 1}"}"#),
        ("Token: abc def", "Token: [redacted] def"),
        ("token: Bearer abc, next", "token: [redacted], next"),
        ("?token=abc&b=1", "?token=[redacted]&b=1"),
        ("the token is here; tokens: 3; my_token: 4", "the token is here; tokens: 3; my_token: 4"),
        ("token:", "token:"),
        ("token=é", "token=[redacted]"),
        ("token: \"\\", "token: \"[redacted]"),
    ] {
        assert_eq!(text(&mut masks(&["token"]), before), after);
        assert_eq!(text(&mut masks(&["token"]), after), after, "masking again changes nothing");
    }
}

#[test]
fn a_text_full_of_keys_takes_its_length_in_time() {
    let mut masks = masks(&["token"]);
    let long = "token=a ".repeat(100_000);
    assert_eq!(text(&mut masks, &long), "token=[redacted] ".repeat(100_000));
}

#[test]
fn a_word_of_plain_language_is_not_remembered() {
    let mut masks = masks(&["password"]);
    assert_eq!(text(&mut masks, "password: mustbe long"), "password: [redacted] long");
    assert_eq!(text(&mut masks, "it mustbe long"), "it mustbe long");
}

#[test]
fn text_in_pieces_is_held_back_where_a_known_value_may_have_begun() {
    let mut masks = masks(&["password"]);
    masks.learn(&json!("canary"));
    assert_eq!(masks.settled("a ca"), 2);
    assert_eq!(masks.settled("a cat"), 5);
    assert_eq!(masks.settled("é"), 2);
    assert_eq!(masks.settled(""), 0);
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_it_and_no_known_value_stays(words in proptest::collection::vec("\\PC{0,12}|\"|\\\\|:|token|password=", 0..20), known in "[a-zé\"\\\\]{6,12}") {
        let mut masks = masks(&["token", "password"]);
        masks.learn(&json!(known));
        let mut told = words.join("") + &known + &words.concat();
        masks.text(&mut told);
        proptest::prop_assert!(!told.contains(&known), "{told}");
    }
}
