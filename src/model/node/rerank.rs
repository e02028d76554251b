//! Owns the setting `rerank`: provider, model and number of candidates.

use serde_json::{Map, Value};

/// Candidates where nothing else is written, and the most.
pub const CANDIDATES: u32 = 50;
/// The most candidates.
pub const MOST: u32 = 200;

/// A model that puts passages in the order in which they answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerank {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
    /// How many of the best found it is shown.
    pub candidates: u32,
}

impl Rerank {
    /// Reads `{provider, model, candidates}`; none when it is empty.
    ///
    /// # Errors
    /// The key that is wrong, and what it must be.
    pub fn parse(written: &Map<String, Value>) -> Result<Option<Self>, (&'static str, String)> {
        let given = |key: &str| written.get(key).filter(|value| !value.is_null());
        if ["provider", "model", "candidates"].iter().all(|key| given(key).is_none()) {
            return Ok(None);
        }
        let text = |key: &'static str| {
            let text = given(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty() && text.chars().count() <= 255);
            text.map(str::to_owned).ok_or_else(|| (key, "must be a text of 1 to 255 characters".to_owned()))
        };
        let (provider, model) = (text("provider")?, text("model")?);
        let candidates = match given("candidates") {
            None => CANDIDATES,
            Some(value) => {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| (1..=MOST).contains(number));
                number.ok_or_else(|| ("candidates", format!("must be an integer from 1 to {MOST}")))?
            }
        };
        Ok(Some(Self { provider, model, candidates }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_or_refused() {
        let read = |value: Value| Rerank::parse(value.as_object().expect("an object")).map_err(|(key, _)| key);
        let one = |candidates| Ok(Some(Rerank { provider: "cohere".into(), model: "m".into(), candidates }));
        assert_eq!(read(json!({})), Ok(None));
        assert_eq!(read(json!({"provider": null})), Ok(None));
        assert_eq!(read(json!({"provider": "cohere", "model": "m"})), one(50));
        assert_eq!(read(json!({"provider": "cohere", "model": "m", "candidates": 200})), one(200));
        assert_eq!(read(json!({"provider": "cohere"})), Err("model"));
        assert_eq!(read(json!({"provider": "", "model": "m"})), Err("provider"));
        for odd in [json!(0), json!(201), json!(1.5), json!("50")] {
            assert_eq!(read(json!({"provider": "cohere", "model": "m", "candidates": odd})), Err("candidates"));
        }
    }
}
