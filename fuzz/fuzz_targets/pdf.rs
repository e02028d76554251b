//! PDF files: any file gives text or a reason, in bounded time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::knowledge::text::{DocumentKind, Reader};

fuzz_target!(|data: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _text = runtime.block_on(Reader::default().read(DocumentKind::Pdf, data.to_vec(), "t"));
});
