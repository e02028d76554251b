//! Owns bytes as hexadecimal text.

/// Two small digits for each byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let pair = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)]));
    bytes.iter().flat_map(pair).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_is_two_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        let wanted: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(super::hex(&bytes), wanted);
    }
}
