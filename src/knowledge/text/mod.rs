//! Owns the text of documents: supported formats, detection of the format, extraction.

#[cfg(feature = "documents")]
mod bounded;
#[cfg(feature = "documents")]
mod dates;
#[cfg(feature = "documents")]
mod docx;
#[cfg(feature = "documents")]
mod epub;
#[cfg(feature = "documents")]
mod html;
#[cfg(feature = "documents")]
mod names;
#[cfg(feature = "documents")]
mod pdf;
#[cfg(feature = "documents")]
mod pptx;
#[cfg(feature = "documents")]
mod stuck;
#[cfg(feature = "documents")]
mod weight;
#[cfg(feature = "documents")]
mod xlsx;
#[cfg(feature = "documents")]
mod xml;
#[cfg(feature = "documents")]
mod zip;
mod csv;
mod markdown;
mod outline;
mod table;

pub use outline::{Mark, Text};

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DocumentKind {
    Plain,
    Markdown,
    Csv,
    Html,
    Pdf,
    Docx,
    Pptx,
    Xlsx,
    Epub,
}

/// Every kind that this build reads.
const KINDS: &[DocumentKind] = if cfg!(feature = "documents") {
    &[
        DocumentKind::Plain,
        DocumentKind::Markdown,
        DocumentKind::Csv,
        DocumentKind::Html,
        DocumentKind::Pdf,
        DocumentKind::Docx,
        DocumentKind::Pptx,
        DocumentKind::Xlsx,
        DocumentKind::Epub,
    ]
} else {
    &[DocumentKind::Plain, DocumentKind::Markdown, DocumentKind::Csv]
};

/// What is said of bytes that are no document.
const UNKNOWN: &str = if cfg!(feature = "documents") {
    "the file is neither UTF-8 text nor a PDF, DOCX, PPTX, XLSX or EPUB file without protection; save it as one of those"
} else {
    "the file is no UTF-8 text; save it as UTF-8 text, Markdown or CSV"
};

/// Why a document of a type is not read.
pub fn unreadable(mime: &str) -> String {
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.mime()).collect();
    format!("documents of the type `{mime}` are not read here; send {}", known.join(", "))
}

impl DocumentKind {
    /// Its media type.
    pub const fn mime(self) -> &'static str {
        match self {
            Self::Plain => "text/plain",
            Self::Markdown => "text/markdown",
            Self::Html => "text/html",
            Self::Csv => "text/csv",
            Self::Pdf => "application/pdf",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Pptx => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Epub => "application/epub+zip",
        }
    }

    /// Is it written as text, and not as bytes that only its programs read?
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Plain | Self::Markdown | Self::Csv | Self::Html)
    }

    /// What a file of this kind is called.
    #[cfg(feature = "documents")]
    const fn name(self) -> &'static str {
        match self {
            Self::Plain | Self::Markdown => "text",
            Self::Csv => "table",
            Self::Html => "page",
            Self::Pdf => "PDF",
            Self::Docx => "Word file",
            Self::Pptx => "PowerPoint file",
            Self::Xlsx => "Excel file",
            Self::Epub => "EPUB book",
        }
    }

    /// The kind of a media type, if this build reads it.
    #[must_use]
    pub fn of_mime(mime: &str) -> Option<Self> {
        let bare = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let known = match bare.as_str() {
            "text/x-markdown" => "text/markdown",
            "application/xhtml+xml" => "text/html",
            "text/tab-separated-values" | "application/csv" => "text/csv",
            other => other,
        };
        KINDS.iter().copied().find(|kind| kind.mime() == known)
    }

    fn of_name(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
            Some("md" | "markdown") => Self::Markdown,
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some("csv" | "tsv") => Self::Csv,
            Some(_) | None => Self::Plain,
        }
    }

    /// What a file is, by its bytes; between kinds of text by what its sender says, else by its name.
    pub fn sniff(bytes: &[u8], declared: Option<&str>, name: &str) -> Result<Self, String> {
        if bytes.starts_with(b"%PDF-") {
            return Self::of_mime("application/pdf").ok_or_else(|| unreadable("application/pdf"));
        }
        if bytes.starts_with(b"PK\x03\x04") {
            return Self::of_archive(bytes).ok_or_else(|| UNKNOWN.to_owned());
        }
        if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
            return Err(UNKNOWN.to_owned());
        }
        let declared = declared.map(str::trim).filter(|mime| !mime.is_empty() && *mime != "application/octet-stream");
        let kind = match declared {
            Some(mime) => Self::of_mime(mime).filter(|kind| kind.is_text()).ok_or_else(|| unreadable(mime))?,
            None if is_markup(bytes) => Self::Html,
            None => Self::of_name(name),
        };
        Self::of_mime(kind.mime()).ok_or_else(|| unreadable(kind.mime()))
    }

    /// What an archive is, by its parts.
    #[cfg(feature = "documents")]
    fn of_archive(bytes: &[u8]) -> Option<Self> {
        let names = zip::names(bytes)?;
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        let kinds = [("meta-inf/container.xml", Self::Epub), ("word/", Self::Docx), ("ppt/", Self::Pptx), ("xl/", Self::Xlsx)];
        kinds.into_iter().find_map(|(start, kind)| has(start).then_some(kind))
    }

    #[cfg(not(feature = "documents"))]
    const fn of_archive(_: &[u8]) -> Option<Self> {
        None
    }

    /// Why a document of this kind that has no text cannot be found.
    pub const fn without_text(self) -> &'static str {
        match self {
            Self::Plain | Self::Markdown | Self::Csv | Self::Docx | Self::Pptx | Self::Xlsx | Self::Epub => {
                "the document has no words; there is nothing to find in it"
            }
            Self::Html => "the page has no text outside of scripts and styles; there is nothing to find in it",
            Self::Pdf => {
                "the PDF has no text that can be read: it may be a scan, or hold pictures of text only; make it searchable (OCR) and add it again"
            }
        }
    }
}

fn is_markup(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"].iter().any(|start| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
}

#[cfg(feature = "documents")]
pub use bounded::Limits;

/// Reads texts, on a thread of its own where a document may be hostile.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    #[cfg(feature = "documents")]
    stuck: stuck::Stuck,
    #[cfg(feature = "documents")]
    limits: Limits,
}

impl Reader {
    /// Reads in so many seconds, and unpacks so many MiB of one document.
    #[must_use]
    #[cfg_attr(not(feature = "documents"), expect(unused_variables, reason = "texts are not unpacked"))]
    pub fn new(seconds: u64, mb: u64) -> Self {
        Self {
            #[cfg(feature = "documents")]
            limits: Limits { time: std::time::Duration::from_secs(seconds), bytes: mb << 20 },
            ..Self::default()
        }
    }

    /// The text of a document of a tenant.
    #[cfg(feature = "documents")]
    pub async fn read(&self, kind: DocumentKind, content: Vec<u8>, tenant: &str) -> Result<Text, String> {
        bounded::within(self.limits, kind.name(), &self.stuck, tenant, move |bounds| {
            let archive = || zip::Archive::open(&content, bounds);
            match kind {
                DocumentKind::Plain => text(&content).map(|text| text.to_owned().into()),
                DocumentKind::Markdown => text(&content).map(markdown::read),
                DocumentKind::Csv => text(&content).and_then(csv::read),
                DocumentKind::Html => text(&content).map(html::read),
                DocumentKind::Docx => docx::read(&archive()?),
                DocumentKind::Pptx => pptx::read(&archive()?),
                DocumentKind::Xlsx => xlsx::read(&archive()?),
                DocumentKind::Epub => epub::read(&archive()?),
                DocumentKind::Pdf => pdf::read(content, bounds),
            }
        })
        .await
    }

    /// The text of a document of a tenant.
    #[cfg(not(feature = "documents"))]
    pub async fn read(&self, kind: DocumentKind, content: Vec<u8>, _: &str) -> Result<Text, String> {
        let read = tokio::task::spawn_blocking(move || match kind {
            DocumentKind::Plain => text(&content).map(|text| text.to_owned().into()),
            DocumentKind::Markdown => text(&content).map(markdown::read),
            DocumentKind::Csv => text(&content).and_then(csv::read),
            DocumentKind::Html | DocumentKind::Pdf | DocumentKind::Docx | DocumentKind::Pptx | DocumentKind::Xlsx | DocumentKind::Epub => {
                Err(unreadable(kind.mime()))
            }
        });
        read.await.unwrap_or_else(|_| Err("the document could not be read".to_owned()))
    }
}

fn text(content: &[u8]) -> Result<&str, String> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    std::str::from_utf8(content).map_err(|_| "the document is not UTF-8 text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_more_than_names_and_senders() {
        let sniff = |bytes: &[u8], declared, name| DocumentKind::sniff(bytes, declared, name).map(DocumentKind::mime).map_err(|_| ());
        assert_eq!(sniff(b"hello", None, "a"), Ok("text/plain"));
        assert_eq!(sniff(b"hello", None, "a.MD"), Ok("text/markdown"));
        assert_eq!(sniff(b"hello", Some("text/markdown; charset=utf-8"), "a.txt"), Ok("text/markdown"));
        assert_eq!(sniff(b"hello", Some("application/octet-stream"), "a.md"), Ok("text/markdown"));
        assert_eq!(sniff(b"a,b", None, "a.CSV"), Ok("text/csv"));
        assert_eq!(sniff(b"hello", Some("application/pdf"), "a.pdf"), Err(()));
        assert_eq!(sniff(b"hello", Some("image/png"), "a.png"), Err(()));
        assert_eq!(sniff(b"\x89PNG\r\n\x1a\n\0", Some("text/plain"), "a.txt"), Err(()));
        assert_eq!(sniff(b"caf\xe9", None, "a.txt"), Err(()));
        if cfg!(feature = "documents") {
            assert_eq!(sniff(b" <!DOCTYPE html><p>", None, "a"), Ok("text/html"));
            assert_eq!(sniff(b"%PDF-1.7 ...", Some("text/plain"), "a.txt"), Ok("application/pdf"));
        }
    }
}
