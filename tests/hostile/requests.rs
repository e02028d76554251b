//! Bodies, forms, positions and filters of requests.

use std::fmt::Write as _;

use wfstudio::fuzzing::{adapter, form_once, query};

use crate::trial::{STACK, each, trial, trials};

/// Bytes of a form with the largest document.
const FORM: usize = 20 << 20;

fn full_of(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}

#[test]
fn a_form_of_very_many_parts_is_refused() {
    trial("requests::a_form_of_very_many_parts_is_refused", STACK, || {
        let head = "Content-Disposition: form-data; name=a";
        for piece in ["--b\r\n\r\n\r\n".to_owned(), format!("--b\r\n{head}\r\n\r\n\r\n"), format!("--b\r\n{}\r\n\r\n", "a:\r\n".repeat(30))] {
            let told = form_once("b", (full_of(&piece, FORM) + "--b--").as_bytes(), 1 << 20);
            assert!(told.contains("parts"), "{told}");
        }
    });
}

#[test]
fn a_form_that_comes_in_small_pieces_is_searched_once() {
    trial("requests::a_form_that_comes_in_small_pieces_is_searched_once", STACK, || {
        let head = "--b\r\nContent-Disposition: form-data; name=file; filename=";
        for begin in ["", "--b\r\n", "--b\r\na: ", head, "--b\r\nContent-Disposition: form-data; name=file\r\n\r\n"] {
            for piece in ["a", "\r\n", "\r\n-", "--b", "-"] {
                let _told = form_once("b", (begin.to_owned() + &full_of(piece, FORM / 4)).as_bytes(), 512);
            }
        }
    });
}

#[test]
fn the_largest_file_of_a_form_is_held_a_few_times() {
    trial("requests::the_largest_file_of_a_form_is_held_a_few_times", STACK, || {
        let head = "--b\r\nContent-Disposition: form-data; name=file; filename=\"a\"\r\n\r\n";
        let told = form_once("b", [head, &full_of("a", FORM - 200), "\r\n--b--"].concat().as_bytes(), 64 << 10);
        assert!(told.contains(&(FORM - 200).to_string()), "{told}");
    });
}

#[test]
fn a_body_of_very_many_values_is_refused_before_it_is_read() {
    const NAME: &str = "requests::a_body_of_very_many_values_is_refused_before_it_is_read";
    trials(NAME, STACK, || {
        // A file of 20 MiB as JSON may have six times as many bytes.
        for piece in ["0,", "[],", "{},", "{\"\":0},", "\"\",", "{\"a\":{\"b\":[0]}},"] {
            for bytes in [2 << 20, 60 << 20] {
                for (open, close) in [("{\"messages\":[", "0]}"), ("[", "0]")] {
                    let body = format!("{open}{}{close}", full_of(piece, bytes));
                    each(NAME, || adapter(body.as_bytes()));
                }
            }
        }
        for piece in ["[", "{\"a\":"] {
            let body = full_of(piece, 60 << 20);
            each(NAME, || adapter(body.as_bytes()));
        }
    });
}

#[test]
fn answers_to_very_many_interrupts_are_read_in_their_number() {
    trial("requests::answers_to_very_many_interrupts_are_read_in_their_number", STACK, || {
        let mut body = "{\"threadId\":\"t\",\"messages\":[],\"resume\":[".to_owned();
        for n in 0..90_000 {
            let _ = write!(body, "{{\"interruptId\":\"{n}\",\"status\":\"cancelled\"}},");
        }
        body.pop();
        adapter((body + "]}").as_bytes());
    });
}

#[test]
fn messages_of_very_many_parts_are_read_in_their_number() {
    trial("requests::messages_of_very_many_parts_are_read_in_their_number", STACK, || {
        for part in [
            "{\"type\":\"text\",\"text\":\"\"}", "{\"type\":\"binary\",\"url\":\"data:,\"}", "{\"type\":\"file\",\"url\":\"data:,\"}",
            "{\"type\":\"tool-a\",\"toolCallId\":\"a\",\"state\":\"approval-responded\",\"approval\":{\"id\":\"a:b\",\"approved\":true}}",
        ] {
            for (key, role) in [("content", "user"), ("parts", "user"), ("parts", "assistant"), ("content", "assistant")] {
                let parts = vec![part; 40_000].join(",");
                adapter(format!("{{\"id\":\"c\",\"messages\":[{{\"role\":\"{role}\",\"id\":\"m\",\"{key}\":[{parts}]}}]}}").as_bytes());
            }
            let message = format!("{{\"role\":\"assistant\",\"parts\":[{part}],\"content\":[{part}]}}");
            adapter(format!("{{\"messages\":[{}]}}", vec![message; 20_000].join(",")).as_bytes());
        }
        adapter(format!("{{\"messages\":[{{\"role\":\"user\",\"content\":[{{\"type\":\"binary\",\"data\":\"{}\"}}]}}]}}", full_of("%41", 15 << 20)).as_bytes());
    });
}

#[test]
fn positions_filters_and_cursors_of_any_length_are_read() {
    trial("requests::positions_filters_and_cursors_of_any_length_are_read", STACK, || {
        for piece in [
            "9", "L", "0", "bytes=", "bytes=1-", "-", ",", "a,", "q=", "q=a&", "cursor=", "include=a,&", "=1+", "\t", "\"\"", ".", "2026-01-01", "2026-01-01T", "W/\"tag\",",
        ] {
            query(&full_of(piece, 64 << 10));
            query(&format!("L{}", full_of(piece, 64 << 10)));
            query(&format!("cursor={}", full_of(piece, 64 << 10)));
        }
    });
}
