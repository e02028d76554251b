//! Owns money: exact amounts, rounded half up to six digits when they are shown.

use serde::{Deserialize, Serialize};

/// Money in 10⁻¹² of the currency unit: a rate has at most six digits per million tokens, so this is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Picos(pub i64);

impl Picos {
    /// `0.000450`: rounded half up to six digits.
    pub fn shown(self) -> String {
        show_picos(i128::from(self.0))
    }
}

/// A sum of money that may be larger than one amount can be.
pub fn show_picos(picos: i128) -> String {
    let sign = if picos < 0 { "-" } else { "" };
    let micros = (picos.unsigned_abs() + 500_000) / 1_000_000;
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
