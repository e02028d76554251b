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
    for (held, told) in [("a ca", "a "), ("a cat", "a cat"), ("é", "é"), ("", ""), ("a canary", "a [redacted]")] {
        assert_eq!(masks.settled(&mut held.to_owned()), told, "{held}");
    }
}

/// What a reader of a stream is told, piece by piece and at its end.
fn streamed(pieces: &[&str]) -> String {
    let (mut masks, mut held, mut told) = (masks(&["password"]), String::new(), String::new());
    for piece in pieces {
        held.push_str(piece);
        told += &masks.settled(&mut held);
    }
    masks.text(&mut held);
    told + &held
}

#[test]
fn text_in_pieces_is_held_back_from_a_named_key_to_the_end_of_its_value() {
    for (whole, masked) in [
        (r#"{"password": "hunter2222", "x": 1} hunter2222"#, r#"{"password": "[redacted]", "x": 1} [redacted]"#),
        (r#"{"body": "{\"password\": \"hunter2222\", \"b\": 1}"}"#, r#"{"body": "{\"password\": \"[redacted]\", \"b\": 1}"}"#),
        (r#"{"Password": {"a": "hunter2222"}, "b": 1}"#, r#"{"Password": [redacted], "b": 1}"#),
        ("PASSWORD : Bearer hunter2222 end", "PASSWORD : [redacted] end"),
        ("?password=hunter2222&a=1", "?password=[redacted]&a=1"),
        ("password=hunter2222", "password=[redacted]"),
        ("the pass, and the passwords: none", "the pass, and the passwords: none"),
    ] {
        for cut in whole.char_indices().map(|(at, _)| at) {
            assert_eq!(streamed(&[&whole[..cut], &whole[cut..]]), masked, "cut at {cut}");
        }
        let letters: Vec<String> = whole.chars().map(String::from).collect();
        assert_eq!(streamed(&letters.iter().map(String::as_str).collect::<Vec<_>>()), masked, "letter by letter");
    }
}

#[test]
fn text_without_a_named_key_is_told_at_once() {
    let mut masks = masks(&["password"]);
    for text in ["hello ", "a password is ", "asked for; pass it. ", "password: secret now, "] {
        let mut held = text.to_owned();
        masks.settled(&mut held);
        assert_eq!(held, "", "{text}");
    }
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

    #[test]
    fn no_cut_of_a_stream_tells_a_value(words in proptest::collection::vec("\\PC{0,6}|\"|\\\\|:|password|=|[{]|[}]", 0..12), cuts in proptest::collection::vec(0_usize..200, 0..9)) {
        let whole = words.concat() + "\n{\"password\": \"hunter2222\"} " + &words.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| whole.is_char_boundary(*cut)).chain([0, whole.len()]).collect();
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
        let mut at_once = whole.clone();
        masks(&["password"]).text(&mut at_once);
        proptest::prop_assert!(at_once.contains("hunter2222") || !streamed(&pieces).contains("hunter2222"), "{whole}");
    }
}

#[test]
fn signed_blocks_are_left_out_when_masking_would_change_them() {
    use crate::model::chat::{Message, ProviderBlocks, Role};
    let mut masks = masks(&["pin"]);
    masks.value(&mut json!({"pin": "4711-4711"}));
    let block = |thought: &str, signature: Option<&str>| {
        let mut block = json!({"type": "thinking", "thinking": thought});
        signature.iter().for_each(|signature| block["signature"] = (*signature).into());
        Some(ProviderBlocks { family: "anthropic".into(), by: None, value: json!([block]) })
    };
    let masked = |masks: &mut Masks, blocks| {
        let mut message = Message { blocks, ..Message::text(Role::Assistant, "It is 4711-4711.") };
        masks.message(&mut message);
        assert!(!message.content.contains("4711"), "{}", message.content);
        message.blocks
    };
    assert_eq!(masked(&mut masks, block("so 4711-4711", Some("s"))), None);
    assert_eq!(masked(&mut masks, block("nothing of it", Some("s"))), block("nothing of it", Some("s")));
    assert!(masked(&mut masks, block("so 4711-4711", None)).is_some_and(|blocks| !blocks.value.to_string().contains("4711")), "nobody signed it");
}
