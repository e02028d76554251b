//! Documents that are built to be slow or large.

use std::time::{Duration, Instant};

use wfstudio::knowledge::text::{DocumentKind, Reader};

use crate::trial::{STACK, trial, trials};

/// Reads a document; how long that took.
fn read(kind: DocumentKind, content: Vec<u8>) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let begun = Instant::now();
    let _text = runtime.block_on(Reader::default().read(kind, content, "default"));
    begun.elapsed()
}

#[test]
fn a_pdf_full_of_streams_is_given_up_soon() {
    // Readers have a thread of their own with a stack of 64 MiB.
    trial("documents::a_pdf_full_of_streams_is_given_up_soon", STACK, || {
        let pieces = ["streamvw~~", "1 0 obj<<>>stream\n\u{1}", "stream\nendstream", "stream\n<~zzzzzzzz", "stream x\u{9c}", "/Columns 5 ", "stream\n00000000"];
        // Without optimisation each of them takes many times as long.
        for piece in &pieces[..if cfg!(debug_assertions) { 2 } else { pieces.len() }] {
            let content = [b"%PDF-1.4\n".as_slice(), &piece.repeat((20 << 20) / piece.len()).into_bytes()].concat();
            let taken = read(DocumentKind::Pdf, content);
            assert!(taken < Duration::from_secs(if cfg!(debug_assertions) { 90 } else { 20 }), "{piece}: {taken:?}");
        }
    });
}

#[test]
fn a_page_of_any_shape_is_read_in_its_length() {
    trial("documents::a_page_of_any_shape_is_read_in_its_length", STACK, || {
        for piece in ["<div>", "<p a=b c='d' ", "<svg><svg>", "&amp", "<!--", "<li>", "<td>", "<pre>", "</p>", "<a b=\"", "<script>", "- ", "<textarea>\n", "<br>", "<x y y y y y"] {
            let taken = read(DocumentKind::Html, piece.repeat((4 << 20) / piece.len()).into_bytes());
            assert!(taken < Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 }), "{piece}: {taken:?}");
        }
    });
}

/// Bytes of the largest document.
const DOCUMENT: usize = 20 << 20;

#[test]
fn a_tag_of_very_many_attributes_takes_little_memory() {
    trial("documents::a_tag_of_very_many_attributes_takes_little_memory", STACK, || {
        let bytes = if cfg!(debug_assertions) { DOCUMENT / 4 } else { DOCUMENT };
        let mut page = "<p ".to_owned();
        for n in 0_u64.. {
            page.push_str(&format!("{n:x} "));
            if page.len() > bytes {
                break;
            }
        }
        page.push_str(">text</p>");
        assert!(read(DocumentKind::Html, page.into_bytes()) < Duration::from_secs(60));
    });
}

#[test]
fn the_largest_text_is_cut_in_little_memory() {
    // Cutting has a thread of its own.
    trials("documents::the_largest_text_is_cut_in_little_memory", STACK, || {
        for piece in ["a ", "a. ", "\u{4f60}\u{3002}", ". ", "\n\n", "a\n", "1.", "\u{1f468}\u{200d}", "'"] {
            let bytes = if cfg!(debug_assertions) { DOCUMENT / 8 } else { DOCUMENT };
            for most in [1, 400, 10_000] {
                let text = wfstudio::knowledge::text::Text::from(piece.repeat(bytes / piece.len()));
                let begun = Instant::now();
                let _passages = wfstudio::knowledge::chunk::cut(&text, most, most / 2, 200_000);
                assert!(begun.elapsed() < Duration::from_secs(20), "{piece}: {:?}", begun.elapsed());
            }
        }
    });
}
