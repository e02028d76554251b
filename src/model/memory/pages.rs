//! Owns the approximate number of pages of a PDF, without parsing it.

/// Bytes of a page if the number of pages cannot be read because it is compressed.
const PACKED_PAGE: usize = 50_000;
/// A page takes at least so many bytes; a file that claims more pages is wrong.
const LEAST: usize = 20;

/// The pages of a PDF: as many as it has page objects or says to have, else by its size.
pub fn pages(file: &[u8]) -> u64 {
    let (mut objects, mut most) = (0_usize, 0_usize);
    for (at, _) in file.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let rest = &file[at + 1..];
        if let Some(rest) = rest.strip_prefix(b"Type") {
            let name = rest.trim_ascii_start();
            let is_page = name.strip_prefix(b"/Page").is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric));
            objects += usize::from(is_page);
        } else if let Some(rest) = rest.strip_prefix(b"Count") {
            let digits = rest.trim_ascii_start().iter().take(9).take_while(|byte| byte.is_ascii_digit());
            let count = digits.fold(0, |count, digit| count * 10 + usize::from(digit - b'0'));
            most = most.max(count);
        }
    }
    let told = objects.max(most.min(file.len() / LEAST));
    let pages = if told == 0 { file.len().div_ceil(PACKED_PAGE).max(1) } else { told };
    pages as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_as_far_as_a_file_tells_them() {
        let told = |text: &str| pages(text.as_bytes());
        assert_eq!(told("/Type/Page /Type /Page\n/Type /Pages /PageLabels"), 2);
        assert_eq!(told(&format!("/Type /Pages /Count 7 {}", "x".repeat(200))), 7, "its pages are packed, their number is not");
        assert_eq!(told("/Count 999999999"), 1, "more than the file has room for");
        assert_eq!(told(&"x".repeat(120_000)), 3);
        assert_eq!(told(""), 1);
    }
}
