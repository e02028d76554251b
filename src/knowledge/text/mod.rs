//! Owns the text of documents: which kinds are read, what a file is, and getting the text out of it.

#[cfg(feature = "documents")]
mod html;
#[cfg(feature = "documents")]
mod names;
#[cfg(feature = "documents")]
mod pdf;
#[cfg(feature = "documents")]
mod stuck;
#[cfg(feature = "documents")]
mod weight;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DocumentKind {
    Plain,
    Markdown,
    Html,
    Pdf,
}

/// Every kind that this build reads.
const KINDS: &[DocumentKind] = if cfg!(feature = "documents") {
    &[DocumentKind::Plain, DocumentKind::Markdown, DocumentKind::Html, DocumentKind::Pdf]
} else {
    &[DocumentKind::Plain, DocumentKind::Markdown]
};

/// Why a document of a type is not read.
#[must_use]
pub fn unreadable(mime: &str) -> String {
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.mime()).collect();
    format!("documents of the type `{mime}` are not read here; send {}", known.join(", "))
}

impl DocumentKind {
    /// Its media type.
    #[must_use]
    pub const fn mime(self) -> &'static str {
        match self {
            Self::Plain => "text/plain",
            Self::Markdown => "text/markdown",
            Self::Html => "text/html",
            Self::Pdf => "application/pdf",
        }
    }

    /// The kind of a media type, if this build reads it.
    #[must_use]
    pub fn of_mime(mime: &str) -> Option<Self> {
        let bare = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let known = match bare.as_str() {
            "text/x-markdown" => "text/markdown",
            "application/xhtml+xml" => "text/html",
            other => other,
        };
        KINDS.iter().copied().find(|kind| kind.mime() == known)
    }

    fn of_name(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
            Some("md" | "markdown") => Self::Markdown,
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some(_) | None => Self::Plain,
        }
    }

    /// What a file is, by its bytes; between kinds of text by what its sender says, else by its name.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn sniff(bytes: &[u8], declared: Option<&str>, name: &str) -> Result<Self, String> {
        if bytes.starts_with(b"%PDF-") {
            return Self::of_mime("application/pdf").ok_or_else(|| unreadable("application/pdf"));
        }
        if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
            return Err("the file is neither UTF-8 text nor a PDF; save it as UTF-8 text, Markdown, HTML or PDF".to_owned());
        }
        let declared = declared.map(str::trim).filter(|mime| !mime.is_empty() && *mime != "application/octet-stream");
        let kind = match declared {
            Some(mime) => Self::of_mime(mime).filter(|kind| *kind != Self::Pdf).ok_or_else(|| unreadable(mime))?,
            None if is_markup(bytes) => Self::Html,
            None => Self::of_name(name),
        };
        Self::of_mime(kind.mime()).ok_or_else(|| unreadable(kind.mime()))
    }

    /// Why a document of this kind that has no text cannot be found.
    #[must_use]
    pub const fn without_text(self) -> &'static str {
        match self {
            Self::Plain | Self::Markdown => "the document has no words; there is nothing to find in it",
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

/// Reads texts, on a thread of its own where a document may be hostile.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    #[cfg(feature = "documents")]
    stuck: stuck::Stuck,
}

impl Reader {
    /// The text of a document of a tenant.
    ///
    /// # Errors
    /// Why there is none.
    #[cfg_attr(not(feature = "documents"), expect(unused_variables, reason = "only PDF needs threads"))]
    pub async fn read(&self, kind: DocumentKind, content: Vec<u8>, tenant: &str) -> Result<String, String> {
        match kind {
            DocumentKind::Plain | DocumentKind::Markdown => text(&content).map(str::to_owned),
            #[cfg(feature = "documents")]
            DocumentKind::Html => {
                let page = tokio::task::spawn_blocking(move || text(&content).map(html::text)).await;
                page.unwrap_or_else(|_| Err("the page could not be read".to_owned()))
            }
            #[cfg(feature = "documents")]
            DocumentKind::Pdf => pdf::text(content, &self.stuck, tenant).await,
            #[cfg(not(feature = "documents"))]
            DocumentKind::Html | DocumentKind::Pdf => Err(unreadable(kind.mime())),
        }
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
