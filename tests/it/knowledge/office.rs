//! Office files, books and tables: their text is found with where it stands, and no file ends the process.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfstudio::knowledge::text::{DocumentKind, Reader};
use wfstudio::studio::Scope;

use super::archive::{archive, docx, epub, paragraph, pptx, xlsx};
use super::bench;

async fn read(kind: DocumentKind, file: Vec<u8>) -> Result<String, String> {
    Reader::new(20, 64).read(kind, file, "t").await.map(|text| text.text)
}

/// Adds a file to a base of its own, and asks it.
async fn found(name: &str, file: &[u8], query: &str) -> (Value, Value) {
    let bench = bench(json!({}));
    let base = bench.base(json!({"chunking": {"max_words": 8, "overlap_words": 2}})).await;
    let made = bench.add_file(&base, name, None, file).await.expect("taken");
    assert_eq!((&made["status"], &made["error"]), (&json!("completed"), &Value::Null), "{made}");
    let answer = bench.ask(&base, json!({"query": query, "mode": "text"})).await;
    let other = Scope { tenant: "other".into(), user: None };
    assert!(bench.studio.search(&other, &base, &json!({"query": query})).await.is_err(), "another tenant");
    (made, answer["results"][0].clone())
}

#[tokio::test]
async fn a_word_file_is_found_by_its_headings() {
    let body = [
        paragraph("Ttulo1", "Refunds"),
        paragraph("", "Money comes back."),
        paragraph("Ttulo2", "Cards &amp; cash"),
        r#"<w:p><w:r><w:t>Within </w:t><w:delText>ninety</w:delText><w:t>thirty days</w:t><w:br/><w:t>always.</w:t></w:r></w:p>"#.to_owned(),
        r#"<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>Box.</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>Box.</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"#.to_owned(),
        r#"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"#.to_owned(),
        paragraph("Ttulo1", "Shipping"),
        r#"<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>Parcels leave from Lisbon.</w:t></w:r></w:p>"#.to_owned(),
    ];
    let file = docx(&body.concat());
    let text = read(DocumentKind::Docx, file.clone()).await.expect("a text");
    assert_eq!(text, "Refunds\n\nMoney comes back.\n\nCards & cash\n\nWithin thirty days\nalways.\n\nBox.\n\na | b\n\nShipping\n\n- Parcels leave from Lisbon.");
    let (made, chunk) = found("faq.docx", &file, "thirty").await;
    assert_eq!(made["mime_type"], json!("application/vnd.openxmlformats-officedocument.wordprocessingml.document"));
    assert_eq!((&chunk["heading"], &chunk["page"]), (&json!("Refunds > Cards & cash"), &Value::Null), "{chunk}");
    assert_eq!(found("faq.docx", &file, "Lisbon").await.1["heading"], json!("Shipping"));
}

#[tokio::test]
async fn slides_are_pages_in_the_order_in_which_they_are_shown() {
    let file = pptx(&["Welcome everybody.", "Figures of Lisbon.", "Thanks."]);
    assert_eq!(read(DocumentKind::Pptx, file.clone()).await.expect("a text"), "Welcome everybody.\n\nSay hello.\n\nFigures of Lisbon.\n\nThanks.");
    let chunk = found("talk.pptx", &file, "Lisbon").await.1;
    assert_eq!((&chunk["page"], &chunk["content"]), (&json!(2), &json!("Figures of Lisbon.")));
}

#[tokio::test]
async fn rows_of_sheets_say_their_columns_and_dates_are_dates() {
    let shared = "<si><t>Name</t></si><si><r><t>An</t></r><r><t>a</t></r><rPh><t>x</t></rPh></si><si><t>Born</t></si>";
    let rows = r#"<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>2</v></c><c r="D1" t="inlineStr"><is><t>Paid</t></is></c></row>
        <row><c r="A2" t="s"><v>1</v></c><c r="C2" s="1"><v>45292</v></c><c r="D2" t="b"><v>1</v></c><c t="s"><v>99</v></c></row>"#;
    let file = xlsx(rows, shared);
    assert_eq!(read(DocumentKind::Xlsx, file.clone()).await.expect("a text"), "- Name | Born | Paid\n- Name: Ana | Born: 2024-01-01 | Paid: TRUE");
    assert_eq!(found("people.xlsx", &file, "Ana").await.1["sheet"], json!("People & more"));
}

#[tokio::test]
async fn chapters_of_a_book_are_read_once_in_their_order() {
    let file = epub(&["<html><body><h1>Two</h1><p>The end of it.</p></body></html>", "<html><body><h1>One</h1><h2>Begin</h2><p>Once upon a time.</p></body></html>"]);
    assert_eq!(read(DocumentKind::Epub, file.clone()).await.expect("a text"), "One\n\nBegin\n\nOnce upon a time.\n\nTwo\n\nThe end of it.");
    assert_eq!(found("book.epub", &file, "upon").await.1["heading"], json!("One"), "where the chunk begins");
}

#[tokio::test]
async fn tables_and_markdown_have_places_too() {
    let (made, chunk) = found("a.csv", b"name;city\nAna;Lisbon\nBo;Porto\n", "Porto").await;
    assert_eq!(made["mime_type"], json!("text/csv"));
    assert!(chunk["content"].as_str().expect("a text").contains("- name: Bo | city: Porto"), "{chunk}");
    let (_, chunk) = found("a.md", b"# Refunds\n\nMoney comes back soon enough.\n\n## Cards\n\nWithin thirty days.\n", "thirty").await;
    assert_eq!(chunk["heading"], json!("Refunds > Cards"));
}

#[tokio::test]
async fn a_file_that_cannot_be_read_fails_alone_and_says_why() {
    let bench = bench(json!({"rag": {"reader_mb": 1}}));
    let base = bench.base(json!({})).await;
    let broken = docx("<w:p><w:r><w:t>never closed");
    let cut = &docx(&paragraph("", "Fine."))[..200];
    let bomb = docx(&paragraph("", &"bomb ".repeat(1 << 19)));
    let deep = docx(&format!("{}<w:t>deep</w:t>{}", "<w:x>".repeat(5_000), "</w:x>".repeat(5_000)));
    for (file, why) in [(broken, "Word file is damaged"), (bomb, "unpacks to more than is read at once"), (deep, "unpacks to more")] {
        let made = bench.add_file(&base, "x.docx", None, &file).await.expect("taken");
        assert_eq!(made["status"], json!("failed"), "{made}");
        assert!(made["error"].as_str().expect("a reason").contains(why), "{made}");
    }
    let refused = bench.add_file(&base, "x.docx", None, cut).await.expect_err("an archive without an end");
    assert_eq!(refused.kind, wfstudio::Kind::UnsupportedMediaType);
    let other = archive(&[("a.txt", "hello")]);
    assert_eq!(bench.add_file(&base, "x.zip", None, &other).await.expect_err("no document").kind, wfstudio::Kind::UnsupportedMediaType);
    let made = bench.add_file(&base, "y.docx", None, &docx(&paragraph("", "Fine."))).await.expect("taken");
    assert_eq!((&made["status"], &made["chunk_count"]), (&json!("completed"), &json!(1)));
}

#[tokio::test]
async fn entities_are_not_followed_and_parts_outside_of_the_archive_are_not_there() {
    let laughs = "<!DOCTYPE w [<!ENTITY a \"haha\"><!ENTITY b \"&a;&a;&a;\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]>";
    let file = archive(&[("word/document.xml", &format!("{laughs}<w:document><w:body><w:p><w:r><w:t>A&b;&c;&amp;&#66;</w:t></w:r></w:p></w:body></w:document>"))]);
    assert_eq!(read(DocumentKind::Docx, file).await, Ok("A&B".to_owned()));
    let outside = archive(&[("_rels/.rels", r#"<Relationships><Relationship Type="x/officeDocument" Target="../../../etc/passwd"/></Relationships>"#), ("word/a", "")]);
    assert!(read(DocumentKind::Docx, outside).await.is_err());
}

#[tokio::test]
async fn shared_strings_and_columns_are_bounded() {
    let begun = Instant::now();
    let long = format!("<si><t>{}</t></si>", "x".repeat(1 << 20));
    let repeated = "<row>".to_owned() + &r#"<c t="s"><v>0</v></c>"#.repeat(200_000) + "</row>";
    assert!(read(DocumentKind::Xlsx, xlsx(&repeated, &long)).await.expect_err("too much").contains("more than is read"));
    let far = r#"<row><c r="ZZZZ1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>"#.repeat(1_000);
    assert!(read(DocumentKind::Xlsx, xlsx(&far, "")).await.expect("a text").starts_with("- 2\n- 2"));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn no_damage_ends_the_process() {
    let whole = [
        (DocumentKind::Docx, docx(&paragraph("Ttulo1", "Text."))),
        (DocumentKind::Pptx, pptx(&["One.", "Two."])),
        (DocumentKind::Xlsx, xlsx(r#"<row><c t="s"><v>0</v></c></row>"#, "<si><t>a</t></si>")),
        (DocumentKind::Epub, epub(&["<p>a</p>"])),
    ];
    for (kind, file) in whole {
        for at in (0..file.len()).step_by(13) {
            let mut harmed = file.clone();
            harmed[at] ^= 0x55;
            let _whatever = read(kind, harmed).await;
            let _shorter = read(kind, file[..at].to_vec()).await;
        }
    }
}
