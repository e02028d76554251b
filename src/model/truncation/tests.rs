//! What is cut, and where.

use proptest::prelude::*;
use serde_json::json;
use unicode_segmentation::UnicodeSegmentation as _;

use super::*;

fn short(text: &str, budget: u64) -> (String, &'static str) {
    let (text, strategy) = cut(text, budget);
    (text, strategy.as_str())
}

#[test]
fn a_text_is_cut_at_a_sentence_or_where_the_budget_ends() {
    let text = "x".repeat(100);
    assert_eq!(short(&text, 4), ("[truncated]".into(), "hard"));
    assert_eq!(short(&text, 1), ("[truncated]".into(), "hard"));
    assert_eq!(short(&text, 5), ("xxxx\n\n[truncated]".into(), "hard"));
    assert_eq!(short(&text, 14).0.chars().count(), 40 + 13);
    let ended = |at: usize| format!("{}.{}", "x".repeat(at), "y".repeat(100));
    assert_eq!(short(&ended(36), 14), (format!("{}.\n\n[truncated]", "x".repeat(36)), "sentence"), "the last tenth begins here");
    assert_eq!(short(&ended(35), 14).1, "hard");
    assert_eq!(short(&ended(39), 14).1, "sentence");
    assert_eq!(short(&ended(40), 14).1, "hard");
    assert_eq!(short(&format!("{}! a? b", "x".repeat(36)).repeat(3), 14).0, format!("{}! a?\n\n[truncated]", "x".repeat(36)), "the last of several");
    assert_eq!(short(&format!("{}    {}", "x".repeat(10), "y".repeat(90)), 7).0, "xxxxxxxxxx\n\n[truncated]", "blanks go");
}

#[test]
fn what_people_see_as_one_character_stays_whole() {
    let family = "👩‍👩‍👧";
    assert_eq!(short(&format!("abc{family}{}", "x".repeat(50)), 5), ("abc\n\n[truncated]".into(), "hard"));
    let accented = format!("abc.\u{301}{}", "x".repeat(50));
    assert_eq!(short(&accented, 5), ("abc\n\n[truncated]".into(), "hard"), "a point with an accent ends no sentence");
    assert_eq!(short(&format!("a{}", "\u{301}".repeat(90)), 5).0, "[truncated]");
}

#[test]
fn within_tells_what_it_cut() {
    let mut cuts = Vec::new();
    assert_eq!(within("short".into(), Some(2), Source::Tool("look"), &mut cuts), "short");
    assert_eq!(within("long ".repeat(9), None, Source::Tool("look"), &mut cuts), "long ".repeat(9));
    assert_eq!(cuts, []);
    within("long ".repeat(9), Some(6), Source::Tool("look"), &mut cuts);
    within("long ".repeat(9), Some(6), Source::State("a.b"), &mut cuts);
    let told: Vec<String> = cuts.iter().map(|cut| cut.span_output.to_string()).collect();
    assert_eq!(told, [
        r#"{"kind":"tool_result","tool":"look","tokens_before":12,"tokens_after":6,"strategy":"hard"}"#,
        r#"{"kind":"state_field","field":"a.b","tokens_before":12,"tokens_after":6,"strategy":"hard"}"#,
    ]);
}

fn retrieval(contents: &[&str]) -> Value {
    let results: Vec<Value> = contents.iter().map(|content| json!({"content": content, "score": 1})).collect();
    let context = contents.iter().enumerate().map(|(at, content)| format!("[{}] {content}", at + 1)).collect::<Vec<_>>().join("\n---\n");
    json!({"query": "q", "results": results, "context": context})
}

#[test]
fn whole_chunks_stay_while_they_fit() {
    let whole = retrieval(&[&"a".repeat(40), &"b".repeat(40), &"c---\n".repeat(8), "d"]);
    let context = |budget| {
        let mut cuts = Vec::new();
        let text = cut_retrieved(&whole["context"], &whole, budget, "rag_context.context", &mut cuts);
        (text, cuts)
    };
    let (a, b) = (format!("[1] {}", "a".repeat(40)), format!("[2] {}", "b".repeat(40)));
    assert_eq!(context(1000), (whole["context"].as_str().unwrap().to_owned(), vec![]));
    assert_eq!(context(24).0, format!("{a}\n---\n{b}"), "two chunks and no room for a marker");
    assert_eq!(context(18).0, format!("{a}\n---\n[2] {}\n\n[truncated]", "b".repeat(0)).replace("[2] \n\n", "[2]\n\n"));
    assert_eq!(context(8).0, format!("[1] {}\n\n[truncated]", "a".repeat(12)), "not even one");
    let told = context(20).1[0].span_output.to_string();
    assert_eq!(told, r#"{"kind":"rag_context","field":"rag_context.context","tokens_before":38,"tokens_after":19,"strategy":"hard"}"#);
    let mut cuts = Vec::new();
    let whole_value = cut_retrieved(&whole, &whole, 60, "rag_context", &mut cuts);
    let read: Value = serde_json::from_str(&whole_value).expect("JSON with fewer chunks");
    assert_eq!((read["results"].as_array().map(Vec::len), read["context"].as_str()), (Some(1), Some(&*a)));
    let list = cut_retrieved(&whole["results"], &whole, 32, "rag_context.results", &mut cuts);
    let read: Value = serde_json::from_str(&list).expect("JSON with fewer chunks");
    assert_eq!(read[0]["content"], "a".repeat(40));
    assert!(read[1]["content"].as_str().is_some_and(|text| text.starts_with("bb") && text.ends_with("[truncated]")), "{list}");
}

proptest! {
    #[test]
    fn a_cut_text_keeps_to_its_budget_and_to_whole_graphemes(text in "([a-z .!?é漢\u{301}👩👧\u{200d}🇧🇷\r\n]|अनु){0,120}", budget in 4_u64..40) {
        prop_assume!(text_tokens(&text) > budget);
        let (short, _) = cut(&text, budget);
        prop_assert!(text_tokens(&short) <= budget);
        let kept = short.strip_suffix(MARKER).expect("a marker").trim_end_matches("\n\n");
        prop_assert!(text.starts_with(kept));
        let borders: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
        // Blanks at the end are gone; what stays ends where a visible character ends, or inside blanks.
        let blank = text[kept.len()..].chars().next().is_none_or(char::is_whitespace);
        prop_assert!(borders.contains(&kept.len()) || blank, "{:?} of {:?}", kept, text);
    }

    #[test]
    fn retrieved_text_keeps_to_its_budget(contents in proptest::collection::vec("[a-z漢 .\\-\n]{0,60}", 1..6), budget in 4_u64..80) {
        let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
        let whole = retrieval(&contents);
        for value in [&whole, &whole["context"], &whole["results"], &whole["query"]] {
            let mut cuts = Vec::new();
            let text = cut_retrieved(value, &whole, budget, "f", &mut cuts);
            prop_assert!(text_tokens(&text) <= budget, "{} {}", budget, text);
        }
    }
}
