//! Archives for tests: parts, packed or not, with what their directory says of them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// An archive of these parts, packed.
pub fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content.as_bytes()).expect("memory");
        let packed = encoder.finish().expect("memory");
        let (at, sizes) = (file.len() as u32, [packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat());
        let name_length = (name.len() as u16).to_le_bytes();
        file.extend([&b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0"[..], &sizes, &name_length, &[0, 0], name.as_bytes(), &packed].concat());
        let head = [&b"PK\x01\x02\x14\0\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0"[..], &sizes, &name_length, &[0; 12], &at.to_le_bytes(), name.as_bytes()];
        directory.extend(head.concat());
    }
    let (at, length, count) = (file.len() as u32, directory.len() as u32, (parts.len() as u16).to_le_bytes());
    file.extend(directory);
    file.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &length.to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat());
    file
}

fn relations(of: &[(&str, &str, &str)]) -> String {
    let each = of.iter().map(|(id, kind, target)| format!(r#"<Relationship Id="{id}" Type="http://x/{kind}" Target="{target}"/>"#));
    format!("<?xml version=\"1.0\"?><Relationships>{}</Relationships>", each.collect::<String>())
}

/// A Word file with this body.
pub fn docx(body: &str) -> Vec<u8> {
    let styles = r#"<w:styles xmlns:w="w"><w:style w:styleId="Ttulo1"><w:name w:val="heading 1"/></w:style>
        <w:style w:styleId="Ttulo2"><w:name w:val="heading 2"/></w:style></w:styles>"#;
    archive(&[
        ("[Content_Types].xml", "<Types/>"),
        ("_rels/.rels", &relations(&[("r1", "officeDocument", "word/document2.xml")])),
        ("word/document2.xml", &format!(r#"<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>"#)),
        ("word/_rels/document2.xml.rels", &relations(&[("s", "styles", "styles.xml")])),
        ("word/styles.xml", styles),
    ])
}

/// A paragraph of a Word file.
pub fn paragraph(style: &str, text: &str) -> String {
    format!(r#"<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>"#)
}

/// A PowerPoint file with these slides, in an order that is not that of their names; the first has notes.
pub fn pptx(slides: &[&str]) -> Vec<u8> {
    let slide = |text: &str| format!(r#"<p:sld xmlns:a="a" xmlns:p="p"><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:txBody></p:sld>"#);
    let count = slides.len();
    let files: Vec<(String, String)> = slides.iter().enumerate().map(|(at, text)| (format!("ppt/slides/slide{}.xml", count - at), slide(text))).collect();
    let bound: Vec<(String, String)> = (0..count).map(|at| (format!("r{at}"), format!("slides/slide{}.xml", count - at))).collect();
    let bound: Vec<(&str, &str, &str)> = bound.iter().map(|(id, target)| (id.as_str(), "slide", target.as_str())).collect();
    let order: String = (0..count).map(|at| format!(r#"<p:sldId id="{}" r:id="r{at}"/>"#, 256 + at)).collect();
    let (main, presentation) = (relations(&[("m", "officeDocument", "/ppt/presentation.xml")]), relations(&bound));
    let (list, notes_of) = (format!("<p:presentation><p:sldIdLst>{order}</p:sldIdLst></p:presentation>"), relations(&[("n", "notesSlide", "../notesSlides/n.xml")]));
    let (first, notes) = (format!("ppt/slides/_rels/slide{count}.xml.rels"), slide("Say hello."));
    let mut parts = vec![
        ("_rels/.rels", main.as_str()),
        ("ppt/presentation.xml", list.as_str()),
        ("ppt/_rels/presentation.xml.rels", presentation.as_str()),
        (first.as_str(), notes_of.as_str()),
        ("ppt/notesSlides/n.xml", notes.as_str()),
    ];
    parts.extend(files.iter().map(|(name, content)| (name.as_str(), content.as_str())));
    archive(&parts)
}

/// An Excel file with one sheet of these rows, and these shared strings.
pub fn xlsx(rows: &str, shared: &str) -> Vec<u8> {
    archive(&[
        ("_rels/.rels", &relations(&[("m", "officeDocument", "xl/workbook.xml")])),
        ("xl/workbook.xml", r#"<workbook><sheets><sheet name="People &amp; more" sheetId="1" r:id="r1"/></sheets></workbook>"#),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(&[("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "sharedStrings", "sharedStrings.xml"), ("r3", "styles", "styles.xml")]),
        ),
        ("xl/worksheets/sheet1.xml", &format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")),
        ("xl/sharedStrings.xml", &format!("<sst>{shared}</sst>")),
        ("xl/styles.xml", r#"<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#),
    ])
}

/// A book of these chapters.
pub fn epub(chapters: &[&str]) -> Vec<u8> {
    let items: String = (0..chapters.len()).map(|at| format!(r#"<item id="c{at}" href="c%20{at}.xhtml"/>"#)).collect();
    let order: String = (0..chapters.len()).rev().map(|at| format!(r#"<itemref idref="c{at}"/>"#)).collect();
    let package = format!("<package><manifest><item id=\"n\" properties=\"nav\" href=\"n.xhtml\"/>{items}</manifest><spine><itemref idref=\"n\"/>{order}{order}</spine></package>");
    let names: Vec<String> = (0..chapters.len()).map(|at| format!("OEBPS/c {at}.xhtml")).collect();
    let mut parts = vec![
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", r#"<container><rootfiles><rootfile full-path="OEBPS/b.opf"/></rootfiles></container>"#),
        ("OEBPS/b.opf", package.as_str()),
        ("OEBPS/n.xhtml", "<p>contents</p>"),
    ];
    parts.extend(names.iter().map(String::as_str).zip(chapters.iter().copied()));
    archive(&parts)
}
