//! Masking over long and repeated text.

use serde_json::json;
use wfstudio::model::redaction::{Masks, Redaction};

use crate::trial::{STACK, each, trial, trials};

fn masks() -> Masks {
    let names = ["token", "password", "api-key"].map(str::to_owned);
    Masks::new(Redaction::new(&names).expect("names"))
}

#[test]
fn schemes_of_headers_one_after_another_need_no_deep_stack() {
    trial("masking::schemes_of_headers_one_after_another_need_no_deep_stack", STACK, || {
        let mut text = format!("token: {}x", "bearer ".repeat(200_000));
        masks().text(&mut text);
        assert_eq!(text, "token: [redacted]");
    });
}

#[test]
fn text_full_of_keys_and_values_takes_its_length_in_time() {
    trial("masking::text_full_of_keys_and_values_takes_its_length_in_time", STACK, || {
        for piece in ["token=a ", "token:", "token: \"", "token: {", "token\\\\\"", "password: [\"token\": ", "token='", "token: \\\"", "\"token\" ", "token =\t"] {
            let mut text = piece.repeat((512 << 10) / piece.len());
            masks().text(&mut text);
        }
    });
}

#[test]
fn many_known_values_in_a_long_text_are_found() {
    trial("masking::many_known_values_in_a_long_text_are_found", STACK, || {
        let mut masks = masks();
        for n in 0..2_000 {
            masks.learn(&json!(format!("a\"secret-{n}-{}", "x".repeat(100))));
        }
        let mut text = "a\\\"secret-1 ".repeat(100_000);
        masks.text(&mut text);
        let mut held = String::new();
        for piece in ["a", "\"secret-", "1-", "xxxxxxxx"].iter().cycle().take(2_000) {
            held.push_str(piece);
            let _told = masks.settled(&mut held);
        }
    });
}

#[test]
fn how_much_can_be_told_is_found_in_the_length_of_the_text() {
    const NAME: &str = "masking::how_much_can_be_told_is_found_in_the_length_of_the_text";
    trials(NAME, STACK, || {
        let mut masks = masks();
        let begin = "ab".repeat(100_000);
        for n in 0..1_000 {
            masks.learn(&json!(format!("{}{n}", &begin[..begin.len() - n])));
        }
        for _ in 0..20 {
            each(NAME, || {
                let _told = masks.settled(&mut begin[1..].to_owned());
            });
        }
    });
}
