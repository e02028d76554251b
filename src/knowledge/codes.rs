//! Owns vectors as bytes: exact ones, and compact copies with one byte per number for the first scan.
//!
//! Numbers of a compact copy have an offset of 128, because compilers turn plain loops over unsigned bytes into SIMD instructions for every
//! processor.

/// What a small copy begins with: the number that its bytes are to be multiplied with.
const SCALE: usize = 4;
/// The largest number of a query's copy; sums of 65,536 products still fit.
const QUERY_MOST: f32 = 127.0;

/// The vector with length 1; zeros stay zeros.
pub fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "a length near 1 is what is wanted")]
    let by = if length.is_finite() && length > 0.0 { (1.0 / length) as f32 } else { 0.0 };
    vector.iter_mut().for_each(|value| *value = if value.is_finite() { *value * by } else { 0.0 });
    vector
}

/// Little-endian bytes.
pub fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The numbers of bytes.
pub fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect()
}

/// How alike a vector and the bytes of another are: the sum of their products.
pub fn likeness(vector: &[f32], bytes: &[u8]) -> f32 {
    let (numbers, _) = bytes.as_chunks::<4>();
    vector.iter().zip(numbers).map(|(one, other)| one * f32::from_le_bytes(*other)).sum()
}

/// Appends the small copy of a vector.
pub fn append(codes: &mut Vec<u8>, vector: &[f32]) {
    let most = largest(vector);
    let scale = if most > 0.0 { most / 127.0 } else { 0.0 };
    codes.extend(scale.to_le_bytes());
    codes.extend(vector.iter().map(|value| if scale > 0.0 { byte(value / scale) } else { 128 }));
}

fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |most: f32, value| most.max(value.abs()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 1 and 255")]
fn byte(value: f32) -> u8 {
    (value.round().clamp(-127.0, 127.0) + 128.0) as u8
}

/// A query as small copies are compared with it.
#[derive(Clone, Debug)]
pub struct Query {
    numbers: Vec<i16>,
    scale: f32,
    /// What the added 128 make of every sum.
    offset: i32,
}

impl Query {
    /// The copy of a query's vector.
    #[must_use]
    pub fn new(vector: &[f32]) -> Self {
        let most = largest(vector);
        let scale = if most > 0.0 { most / QUERY_MOST } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, reason = "it is between -127 and 127")]
        let numbers: Vec<i16> = vector.iter().map(|value| (value / scale).round() as i16).collect();
        let offset = numbers.iter().map(|number| i32::from(*number)).sum::<i32>() * 128;
        Self { numbers, scale, offset }
    }

    /// Hands the likeness of each small copy to `take`, in order, with its place among them.
    pub fn compare(&self, codes: &[u8], mut take: impl FnMut(u64, f32)) {
        for (place, code) in (0..).zip(codes.chunks_exact(SCALE + self.numbers.len())) {
            let (scale, code) = code.split_at(SCALE);
            let scale = scale.first_chunk().map_or(0.0, |scale| f32::from_le_bytes(*scale));
            let sum = products(&self.numbers, code) - self.offset;
            #[expect(clippy::cast_precision_loss, reason = "an approximation is what is wanted")]
            take(place, sum as f32 * scale * self.scale);
        }
    }
}

fn products(numbers: &[i16], code: &[u8]) -> i32 {
    let multiply = |numbers: &[i16], code: &[u8]| numbers.iter().zip(code).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum::<i32>();
    let ((wide, rest), (wide_code, rest_code)) = (numbers.as_chunks::<32>(), code.as_chunks::<32>());
    let sum: i32 = wide.iter().zip(wide_code).map(|(numbers, code)| multiply(numbers, code)).sum();
    sum + multiply(rest, rest_code)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_become_one_and_nonsense_nothing() {
        assert_eq!(unit(vec![3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(unit(vec![0.0, 0.0]), [0.0, 0.0]);
        assert_eq!(unit(vec![f32::NAN, 1.0]), [0.0, 0.0]);
        assert_eq!(unit(vec![f32::INFINITY, 1.0]), [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn small_copies_tell_about_the_same(one in prop::collection::vec(-1.0_f32..1.0, 70), other in prop::collection::vec(-1.0_f32..1.0, 70)) {
            let (one, other) = (unit(one), unit(other));
            let exact = likeness(&one, &bytes(&other));
            let mut codes = Vec::new();
            append(&mut codes, &other);
            append(&mut codes, &one);
            let mut told = Vec::new();
            Query::new(&one).compare(&codes, |place, likeness| told.push((place, likeness)));
            prop_assert_eq!(told.len(), 2);
            prop_assert!((told[0].1 - exact).abs() < 0.02, "{} {}", told[0].1, exact);
            prop_assert!((told[1].1 - 1.0).abs() < 0.02);
        }
    }
}
