//! Owns the numbers of each language as JSON numbers: integers exactly, others as 64-bit floats.

use serde_json::{Number, Value};

use super::super::Target;

/// The value of a number as it is written, with a minus before it or not.
pub(super) fn decode(target: Target, written: &str, negative: bool) -> Result<Value, String> {
    let wrong = || format!("`{written}`, which is no number of JSON");
    let bare = without_suffix(target, written);
    let (base, digits) = base(target, bare).ok_or_else(wrong)?;
    let fraction = base == 10 && (digits.contains(['.', 'e', 'E']) || (target == Target::Rust && written.ends_with("f64")));
    let digits = without_separators(digits, base).ok_or_else(wrong)?;
    if fraction {
        return float(&digits, negative).ok_or_else(wrong);
    }
    let value = u64::from_str_radix(&digits, base).ok();
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    match (value, negative) {
        (Some(value), false) => Ok(value.into()),
        (Some(value), true) => 0_i64.checked_sub_unsigned(value).map(Value::from).ok_or_else(|| large(written)),
        (None, _) if valid => Err(large(written)),
        (None, _) => Err(wrong()),
    }
}

fn large(written: &str) -> String {
    let shown: String = written.chars().take(40).collect();
    format!("the whole number `{shown}`, which needs more than 64 bits")
}

fn float(digits: &str, negative: bool) -> Option<Value> {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let plain = exponent.trim_start_matches(['+', '-']);
    let whole = mantissa.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
        && mantissa.contains(|letter: char| letter.is_ascii_digit());
    if !whole || plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: f64 = digits.parse().ok()?;
    Number::from_f64(if negative { -number } else { number }).map(Value::Number)
}

/// What says how wide a number is.
fn without_suffix(target: Target, written: &str) -> &str {
    let hex = written.starts_with("0x") || written.starts_with("0X");
    let known: &[&str] = match target {
        Target::Kotlin => &["UL", "uL", "L", "U", "u"],
        Target::Rust if hex => &["i64", "u64", "i32", "u32", "i16", "u16", "i8", "u8", "usize", "isize"],
        Target::Rust => &["i64", "u64", "f64", "i32", "u32", "i16", "u16", "i8", "u8", "usize", "isize"],
        Target::Php | Target::Python | Target::TypeScript | Target::Swift | Target::Ruby => &[],
    };
    let bare = known.iter().find_map(|suffix| written.strip_suffix(suffix)).unwrap_or(written);
    if target == Target::Rust { bare.trim_end_matches('_') } else { bare }
}

/// The base of a number and its digits.
fn base(target: Target, written: &str) -> Option<(u32, &str)> {
    let Some(rest) = written.strip_prefix('0').filter(|rest| !rest.is_empty()) else { return Some((10, written)) };
    let capital = !matches!(target, Target::Swift | Target::Rust);
    match rest.bytes().next()? {
        b'x' => Some((16, &rest[1..])),
        b'X' if capital => Some((16, &rest[1..])),
        b'b' => Some((2, &rest[1..])),
        b'B' if capital => Some((2, &rest[1..])),
        b'o' if target != Target::Kotlin => Some((8, &rest[1..])),
        b'O' if capital && target != Target::Kotlin => Some((8, &rest[1..])),
        b'd' | b'D' if target == Target::Ruby => Some((10, &rest[1..])),
        b'.' | b'e' | b'E' => Some((10, written)),
        _ if written.contains(['.', 'e', 'E']) => matches!(target, Target::Php | Target::Swift | Target::Rust).then_some((10, written)),
        _ => match target {
            Target::Php | Target::Ruby => Some((8, rest)),
            Target::Swift | Target::Rust => Some((10, written)),
            // More than one zero is allowed, any other digit is not.
            Target::Python => rest.bytes().all(|byte| matches!(byte, b'0' | b'_')).then_some((10, written)),
            Target::TypeScript | Target::Kotlin => None,
        },
    }
}

/// Underscores stand between digits only.
fn without_separators(digits: &str, base: u32) -> Option<String> {
    let bytes = digits.as_bytes();
    let digit = |at: Option<&u8>| at.is_some_and(|byte| (*byte as char).is_digit(base) || *byte == b'_');
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_') {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        // `0x_1` is fine in most languages, so is `1__0` in some.
        let leading = before.is_none() && base != 10;
        if !(digit(before) || leading) || !digit(bytes.get(at + 1)) {
            return None;
        }
    }
    Some(digits.replace('_', ""))
}
