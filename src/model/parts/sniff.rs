//! Owns the detection of a file's type from its bytes; the declared type decides only between text formats.

/// A type that files may have, with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileType {
    /// Such as `image/png`.
    pub(crate) mime: &'static str,
    /// `image`, `audio`, `video` or `document`.
    pub(crate) kind: &'static str,
}

impl FileType {
    /// What the name of such a file ends with.
    pub(crate) fn extension(self) -> &'static str {
        match self.mime {
            "image/jpeg" => "jpg",
            "audio/mpeg" => "mp3",
            "text/plain" => "txt",
            "text/markdown" => "md",
            mime => mime.split_once('/').map_or("", |(_, end)| end),
        }
    }
}

const fn image(mime: &'static str) -> FileType {
    FileType { mime, kind: "image" }
}

const fn audio(mime: &'static str) -> FileType {
    FileType { mime, kind: "audio" }
}

const fn video(mime: &'static str) -> FileType {
    FileType { mime, kind: "video" }
}

const fn document(mime: &'static str) -> FileType {
    FileType { mime, kind: "document" }
}

const TEXTS: [FileType; 3] = [document("text/plain"), document("text/markdown"), document("text/csv")];

/// What markup begins with that a browser would run.
const MARKUP: [&[u8]; 4] = [b"<svg", b"<!doctype", b"<html", b"<?xml"];

/// Brands of MP4 files that are films; others (pictures, sound alone) share the container.
const FILM_BRANDS: [&[u8]; 12] =
    [b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"dash", b"M4V ", b"M4VH", b"MSNV"];

/// What a file is, when it is something that is allowed.
pub(crate) fn sniff(bytes: &[u8], declared: Option<&str>, name: Option<&str>) -> Option<FileType> {
    of_signature(bytes).or_else(|| of_text(bytes, declared, name))
}

fn of_signature(bytes: &[u8]) -> Option<FileType> {
    let at = |from: usize, what: &[u8]| bytes.get(from..from + what.len()) == Some(what);
    if at(0, b"\xff\xd8\xff") {
        return Some(image("image/jpeg"));
    }
    if at(0, b"\x89PNG\r\n\x1a\n") {
        return Some(image("image/png"));
    }
    if at(0, b"GIF87a") || at(0, b"GIF89a") {
        return Some(image("image/gif"));
    }
    if at(0, b"RIFF") && at(8, b"WEBP") {
        return Some(image("image/webp"));
    }
    if at(0, b"RIFF") && at(8, b"WAVE") {
        return Some(audio("audio/wav"));
    }
    if at(0, b"OggS") {
        return is_ogg_sound(bytes).then_some(audio("audio/ogg"));
    }
    if at(0, b"ID3") || is_mpeg_frame(bytes) {
        return Some(audio("audio/mpeg"));
    }
    if at(4, b"ftyp") {
        return FILM_BRANDS.iter().any(|brand| at(8, brand)).then_some(video("video/mp4"));
    }
    if at(0, b"\x1a\x45\xdf\xa3") {
        return has(&bytes[..bytes.len().min(4096)], b"webm").then_some(video("video/webm"));
    }
    at(0, b"%PDF-").then_some(document("application/pdf"))
}

/// The first page of an Ogg file names its codec.
fn is_ogg_sound(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    [&b"vorbis"[..], b"OpusHead", b"FLAC", b"Speex"].iter().any(|codec| has(head, codec))
}

/// A frame of MPEG sound, layer 3, with a bit rate and a sample rate that exist.
const fn is_mpeg_frame(bytes: &[u8]) -> bool {
    match bytes {
        [0xff, second, third, ..] => {
            *second & 0xe0 == 0xe0 && *second & 0x18 != 0x08 && *second & 0x06 == 0x02 && *third & 0xf0 != 0xf0 && *third & 0x0c != 0x0c
        }
        _ => false,
    }
}

fn has(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Text takes the text type that it was declared to have, or the one that its name ends in; markup is never text.
fn of_text(bytes: &[u8], declared: Option<&str>, name: Option<&str>) -> Option<FileType> {
    if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() || is_markup(bytes) {
        return None;
    }
    let declared = declared.and_then(|mime| mime.split(';').next()).map(|mime| mime.trim().to_ascii_lowercase());
    match declared.as_deref() {
        None | Some("" | "application/octet-stream") => Some(text_of_name(name)),
        Some(declared) => TEXTS.into_iter().find(|text| text.mime == declared),
    }
}

fn text_of_name(name: Option<&str>) -> FileType {
    let end = name.and_then(|name| name.rsplit_once('.')).map(|(_, end)| end.to_ascii_lowercase());
    match end.as_deref() {
        Some("md" | "markdown") => TEXTS[1],
        Some("csv") => TEXTS[2],
        Some(_) | None => TEXTS[0],
    }
}

fn is_markup(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    MARKUP.iter().any(|start| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
}

/// The last part of a name, without control characters.
pub(crate) fn plain_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let name: String = last.chars().filter(|letter| !letter.is_control()).take(255).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], declared: Option<&str>, wanted: Option<&str>) {
        assert_eq!(sniff(bytes, declared, None).map(|found| found.mime), wanted, "{:?}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn bytes_tell_the_type_whatever_was_declared() {
        check(b"\x89PNG\r\n\x1a\n....", Some("text/html"), Some("image/png"));
        check(b"\xff\xd8\xff\xe0", None, Some("image/jpeg"));
        check(b"GIF89a..", None, Some("image/gif"));
        check(b"RIFF....WEBPVP8 ", None, Some("image/webp"));
        check(b"RIFF....WAVEfmt ", None, Some("audio/wav"));
        check(b"RIFF....AVI LIST\0", None, None);
        check(b"OggS\0\x02......OpusHead", None, Some("audio/ogg"));
        check(b"OggS\0\x02......\x80theora", None, None);
        check(b"ID3\x04\0", None, Some("audio/mpeg"));
        check(b"\xff\xfb\x90\x44\0", None, Some("audio/mpeg"));
        check(b"\0\0\0\x18ftypmp42....", None, Some("video/mp4"));
        check(b"\0\0\0\x18ftypheic....", Some("video/mp4"), None);
        check(b"\x1a\x45\xdf\xa3\x9fB\x82\x84webm", None, Some("video/webm"));
        check(b"%PDF-1.7", Some("text/plain"), Some("application/pdf"));
        check(b"MZ\x90\0", Some("image/png"), None);
    }

    #[test]
    fn text_is_what_it_is_declared_to_be_but_never_markup() {
        check(b"a,b", Some("text/csv; charset=utf-8"), Some("text/csv"));
        check(b"# Hi", Some("text/markdown"), Some("text/markdown"));
        check(b"hello", None, Some("text/plain"));
        check(b"{}", Some("application/json"), None);
        check(b"hello", Some("image/png"), None);
        check(b"caf\xe9", Some("text/plain"), None);
        check(b"a\0b", Some("text/plain"), None);
        for markup in ["<svg/>", " \n<SVG>", "\u{feff}<!DOCTYPE html>", "<html>", "<?xml version='1.0'?>"] {
            check(markup.as_bytes(), Some("text/plain"), None);
        }
        assert_eq!(sniff(b"# Hi", None, Some("a.MD")).map(|found| found.mime), Some("text/markdown"));
    }
}
