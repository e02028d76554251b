//! Owns bytes as hexadecimal text.

/// Two small digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The bytes of a text of so many pairs of digits; none for any other text.
pub fn bytes<const LENGTH: usize>(hex: &str) -> Option<[u8; LENGTH]> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let mut bytes = [0; LENGTH];
    if pairs.len() != LENGTH || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

const fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        b'A'..=b'F' => Some(letter - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_is_two_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        let wanted: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(super::hex(&bytes), wanted);
        assert_eq!(super::bytes::<256>(&wanted).unwrap(), *bytes);
        assert_eq!(super::bytes::<256>(&wanted.to_uppercase()).unwrap(), *bytes);
    }

    #[test]
    fn other_texts_are_no_bytes() {
        for text in ["", "0", "00a", "0g", "g0", "é", "0000"] {
            assert_eq!(super::bytes::<1>(text), None, "{text}");
        }
    }
}
