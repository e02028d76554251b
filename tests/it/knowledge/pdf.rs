//! PDF files: their text is found, and no file ends the process.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;
use wfstudio::knowledge::text::{DocumentKind, Reader};

use super::bench;

/// A file of these objects, numbered from 1; the first is the catalog.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut table = String::new();
    for (n, object) in (1..).zip(objects) {
        let _ = writeln!(table, "{:010} 00000 n ", out.len());
        out.extend(format!("{n} 0 obj\n").into_bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n{table}", objects.len() + 1).into_bytes());
    out.extend(format!("trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF", objects.len() + 1).into_bytes());
    out
}

fn stream(dictionary: &str, data: &[u8]) -> Vec<u8> {
    [format!("<<{dictionary}/Length {}>>\nstream\n", data.len()).as_bytes(), data, b"\nendstream"].concat()
}

fn packed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

/// A page with this content and these resources.
fn page_with(content: Vec<u8>, resources: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let page = format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<<{resources}>>>>");
    let head = [&b"<</Type/Catalog/Pages 2 0 R>>"[..], b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page.as_bytes()].map(<[u8]>::to_vec);
    file(&[&head[..], &[content], more].concat())
}

/// A file with a page for each of these lines.
pub(super) fn pages(lines: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..lines.len()).map(|n| format!("{} 0 R", 4 + n * 2)).collect();
    let tree = format!("<</Type/Pages/Kids[{}]/Count {}>>", kids.join(" "), lines.len());
    let mut objects = vec![b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), tree.into_bytes(), helvetica()];
    for (n, line) in lines.iter().enumerate() {
        let resources = "/Resources<</Font<</F 3 0 R>>>>";
        objects.push(format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {} 0 R{resources}>>", 5 + n * 2).into_bytes());
        objects.push(stream("", format!("BT /F 12 Tf 50 700 Td ({line}) Tj ET").as_bytes()));
    }
    file(&objects)
}

const FONT: &str = "/Font<</F 5 0 R>>";
const WORDS: &str = "BT /F 12 Tf 50 700 Td (Refunds take thirty days.) Tj 0 -14 Td (They go to) Tj 90 0 Td (your card.) Tj \
    -90 -60 Td [(Par) -20 (cels) -600 (come) -400 (soon.)] TJ ET";

fn helvetica() -> Vec<u8> {
    b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec()
}

fn plain() -> Vec<u8> {
    page_with(stream("", WORDS.as_bytes()), FONT, &[helvetica()])
}

fn compressed() -> Vec<u8> {
    page_with(stream("/Filter/FlateDecode", &packed(WORDS.as_bytes())), FONT, &[helvetica()])
}

async fn read(file: Vec<u8>) -> Result<String, String> {
    Reader::default().read(DocumentKind::Pdf, file, "t").await.map(|text| text.text)
}

#[tokio::test]
async fn glyphs_become_lines_and_paragraphs() {
    for file in [plain(), compressed()] {
        let text = read(file).await.expect("a text");
        assert_eq!(text.trim(), "Refunds take thirty days.\nThey go to your card.\n\nParcels come soon.");
    }
}

#[tokio::test]
async fn a_file_of_too_many_pages_is_refused_with_their_number() {
    let of = |count: usize| {
        let kids: Vec<String> = (0..count).map(|n| format!("{} 0 R", n + 5)).collect();
        let tree = format!("<</Type/Pages/Kids[{}]/Count {count}>>", kids.join(" ")).into_bytes();
        let head = [b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), tree, stream("", b"BT /F 12 Tf 1 1 Td (p) Tj ET"), helvetica()];
        let page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 3 0 R/Resources<</Font<</F 4 0 R>>>>>>".to_vec();
        file(&[&head[..], &vec![page; count]].concat())
    };
    let told = read(of(5_001)).await.expect_err("too many");
    assert_eq!(told, "the PDF has 5001 pages, and at most 5000 are read; split it, or send its text");
    assert!(read(of(50)).await.expect("a text").starts_with('p'));
}

#[tokio::test]
async fn a_pdf_is_a_document_and_a_scan_says_why_it_is_none() {
    let bench = bench(json!({}));
    let base = bench.base(json!({})).await;
    let made = bench.add_file(&base, "refunds.pdf", Some("application/pdf"), &compressed()).await.expect("taken");
    assert_eq!((&made["status"], &made["mime_type"]), (&json!("completed"), &json!("application/pdf")), "{made}");
    let found = bench.ask(&base, json!({"query": "parcels"})).await;
    assert!(found["results"][0]["content"].as_str().expect("a text").contains("Parcels come soon."));
    let scan = page_with(stream("", b"0 0 100 100 re f"), "", &[]);
    let made = bench.add_file(&base, "scan.pdf", None, &scan).await.expect("taken");
    assert_eq!(made["status"], json!("failed"));
    assert!(made["error"].as_str().expect("a text").starts_with("the PDF has no text that can be read"), "{made}");
    let broken = bench.add_file(&base, "broken.pdf", None, b"%PDF-1.7 nothing").await.expect("taken");
    assert_eq!((&broken["status"], broken["error"].is_string()), (&json!("failed"), true));
}

/// Files that go round in circles, or deeper than any stack.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let many = 200_000;
    let form = |content: &str| stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>", content.as_bytes());
    let glyphs = "<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[1 0 0 1 0 0]/FirstChar 65/LastChar 65/Widths[9]/CharProcs<</A 6 0 R>>\
        /Encoding<</Differences[65/A]>>/Resources<</Font<</F 5 0 R>>>>>>";
    let circle = b"<</Type/Catalog/Pages 2 0 R>>".to_vec();
    let deep_tree: Vec<Vec<u8>> = std::iter::once(circle.clone())
        .chain((3..9000).map(|n| format!("<</Type/Pages/Count 1/Kids[{n} 0 R]>>").into_bytes()))
        .chain([b"<</Type/Page>>".to_vec()])
        .collect();
    let function = |depth: usize| "{".repeat(depth) + &"}".repeat(depth);
    let shade = "/Shading<</S <</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 1 1]/Function 5 0 R>>>>";
    let stitched = "<</FunctionType 3/Domain[0 1]/Functions[5 0 R 5 0 R]/Bounds[0.5]/Encode[0 1 0 1]>>";
    let spaces: Vec<Vec<u8>> = (6..3000).map(|n| format!("[/Indexed {n} 0 R 1 <00>]").into_bytes()).collect();
    vec![
        ("a form that draws itself", page_with(stream("", b"/X Do"), "/XObject<</X 6 0 R>>", &[helvetica(), form("/X Do /X Do")])),
        ("a glyph that shows itself", page_with(stream("", b"BT /F 9 Tf (AAAA) Tj ET"), FONT, &[glyphs.into(), stream("", b"BT /F 9 Tf (AA) Tj ET")])),
        ("pages that are their own parents", file(&[circle.clone(), b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>".to_vec()])),
        ("a tree without end", file(&deep_tree)),
        ("arrays in arrays", page_with(stream("", &[vec![b'['; many], b" TJ".to_vec()].concat()), FONT, &[helvetica()])),
        ("dictionaries in dictionaries", page_with(stream("", &[b"/A <</A ".repeat(many), b" BDC".to_vec()].concat()), FONT, &[helvetica()])),
        ("parentheses", page_with(stream("", &vec![b'('; many]), FONT, &[helvetica()])),
        ("states without end", page_with(stream("", &b"q ".repeat(many)), FONT, &[helvetica()])),
        ("a program of braces", page_with(stream("", b"/S sh"), shade, &[stream("/FunctionType 4/Domain[0 1]/Range[0 1]", function(many).as_bytes())])),
        ("a function of itself", page_with(stream("", b"/S sh"), shade, &[stitched.into()])),
        ("a colour of itself", page_with(stream("", b"/C cs 0 sc 0 0 9 9 re f"), "/ColorSpace<</C 5 0 R>>", &[b"[/Indexed 5 0 R 1 <00>]".to_vec()])),
        ("colours of colours", page_with(stream("", b"/C cs 0 sc 0 0 9 9 re f"), "/ColorSpace<</C 5 0 R>>", &[vec![b"[/Indexed 6 0 R 1 <00>]".to_vec()], spaces].concat())),
        ("a length of itself", page_with(b"<</Length 4 0 R>>\nstream\nBT ET\nendstream".to_vec(), FONT, &[helvetica()])),
        ("a filter of itself", page_with(b"<</Length 5/Filter 4 0 R>>\nstream\nBT ET\nendstream".to_vec(), FONT, &[helvetica()])),
        ("wide rows", page_with(stream("/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 2147483647/Colors 32/BitsPerComponent 16>>", &packed(b"x")), FONT, &[helvetica()])),
        ("a bomb", page_with(stream("/Filter/FlateDecode", &packed(&vec![b' '; 80 << 20])), FONT, &[helvetica()])),
        ("tables of tables", [&b"%PDF-1.7\nxref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 1/Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF"[..]].concat()),
        ("huge numbers", page_with(stream("", b"BT /F 1e38 Tf 1e38 0 0 1e38 1e38 1e38 cm 1e38 1e38 Td (a) Tj 9999999999999999999999 Tc (b) Tj ET"), FONT, &[helvetica()])),
    ]
}

#[tokio::test]
async fn files_that_go_round_in_circles_come_to_an_end() {
    for (name, file) in hostile() {
        let began = Instant::now();
        let _whatever_it_says = read(file).await;
        assert!(began.elapsed() < Duration::from_secs(90), "{name} took {:?}", began.elapsed());
    }
}

/// A generator of numbers that is the same with each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).expect("small")
    }
}

/// Flips bytes, cuts, repeats, and puts words of the format where they do not belong.
fn mutated(file: &[u8], other: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    const WORDS: [&[u8]; 16] = [
        b"/Filter/LZWDecode", b"-1", b"4294967296", b"5 0 R", b"1 0 R", b"<<", b">>", b"[", b"]", b"stream\n", b"endstream", b"/Type0", b"BI ID EI", b"/Kids", b"Do",
        b"99999 0 obj",
    ];
    let mut out = file.to_vec();
    for _ in 0..=numbers.next(6) {
        let at = numbers.next(out.len());
        match numbers.next(6) {
            0 => out[at] = u8::try_from(numbers.next(256)).expect("a byte"),
            1 => out.truncate(at.max(8)),
            2 => drop(out.drain(at..(at + numbers.next(40)).min(out.len()))),
            3 => drop(out.splice(at..at, WORDS[numbers.next(WORDS.len())].iter().copied())),
            4 => {
                let from = numbers.next(other.len());
                let piece = other[from..(from + numbers.next(200)).min(other.len())].to_vec();
                drop(out.splice(at..at, piece));
            }
            _ => out[at] ^= 1 << numbers.next(8),
        }
        if out.len() < 8 {
            break;
        }
    }
    out.splice(..5.min(out.len()), file[..5].iter().copied());
    out
}

#[tokio::test]
async fn three_thousand_damaged_files_end_nothing_but_themselves() {
    let mut seeds: Vec<Vec<u8>> = hostile().into_iter().filter(|(_, file)| file.len() < 8_000).map(|(_, file)| file).collect();
    seeds.extend([plain(), compressed()]);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut read_well, reader) = (0, Reader::default());
    for _ in 0..3_000 {
        let (one, other) = (numbers.next(seeds.len()), numbers.next(seeds.len()));
        let file = mutated(&seeds[one], &seeds[other], &mut numbers);
        read_well += usize::from(reader.read(DocumentKind::Pdf, file, "t").await.is_ok());
    }
    assert!(read_well > 300, "{read_well} could be read");
}
