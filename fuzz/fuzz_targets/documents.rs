//! Texts of documents: pages and plain text are read and cut in their length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::knowledge::chunk;
use wfstudio::knowledge::text::{DocumentKind, Reader};

fuzz_target!(|data: &[u8]| {
    let [most, overlap, bytes @ ..] = data else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let declared = [None, Some("text/html"), Some("text/markdown"), Some("text/plain;x")][usize::from(*most % 4)];
    let Ok(kind) = DocumentKind::sniff(bytes, declared, "a.md") else { return };
    if kind == DocumentKind::Pdf {
        return;
    }
    let Ok(text) = runtime.block_on(Reader::default().read(kind, bytes.to_vec(), "t")) else { return };
    assert!(text.text.len() <= 3 * bytes.len() + 16, "{} of {}", text.text.len(), bytes.len());
    let (most, overlap) = (usize::from(*most), usize::from(*overlap));
    // A small text may be repeated too often by its overlaps: that is refused.
    for passage in chunk::cut(&text, most, overlap, 200_000).into_iter().flatten() {
        assert!(!passage.text.is_empty() && text.text.contains(&passage.text));
    }
});
