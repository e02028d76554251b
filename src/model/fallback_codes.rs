//! Owns the failures after which a fallback model is asked.

use super::event::FaultCode;
use super::registry::Facts;

/// How much a model takes and says in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    window: Option<u64>,
    output: Option<u64>,
}

impl Reach {
    /// Of a model, when it may say so many tokens at most.
    #[must_use]
    pub fn new(facts: &Facts, max_tokens: Option<u64>) -> Self {
        let output = facts.max_output.map(|most| max_tokens.map_or(most, |wanted| wanted.min(most)));
        Self { window: facts.context_window, output }
    }

    /// Whether another model may do better after a call that failed with a code.
    pub fn is_helped_by(self, other: Self, code: FaultCode) -> bool {
        let larger = |own: Option<u64>, other: Option<u64>| own.zip(other).is_some_and(|(own, other)| other > own);
        let window = code == FaultCode::ContextOverflow && larger(self.window, other.window);
        let output = code == FaultCode::OutputTruncated && larger(self.output, other.output);
        window || output || is_about_the_provider(code)
    }
}

/// The call failed for a reason that another provider does not share.
pub const fn is_about_the_provider(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::ProviderRateLimited
            | FaultCode::ProviderUnavailable
            | FaultCode::ProviderTimeout
            | FaultCode::ProviderAuth
            | FaultCode::CredentialMissing
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(window: Option<u64>, output: Option<u64>, max_tokens: Option<u64>) -> Reach {
        Reach::new(&Facts { context_window: window, max_output: output, ..Facts::default() }, max_tokens)
    }

    #[test]
    fn a_larger_model_is_asked_only_where_size_was_what_failed() {
        let small = reach(Some(100), Some(10), None);
        for (other, code, helps) in [
            (reach(None, None, None), FaultCode::ProviderRateLimited, true),
            (reach(None, None, None), FaultCode::CredentialMissing, true),
            (reach(Some(200), Some(20), None), FaultCode::ProviderBadRequest, false),
            (reach(Some(200), Some(20), None), FaultCode::ProviderProtocol, false),
            (reach(Some(101), None, None), FaultCode::ContextOverflow, true),
            (reach(Some(100), Some(20), None), FaultCode::ContextOverflow, false),
            (reach(None, None, None), FaultCode::ContextOverflow, false),
            (reach(None, Some(11), None), FaultCode::OutputTruncated, true),
            (reach(Some(200), Some(10), None), FaultCode::OutputTruncated, false),
            (reach(None, Some(99), Some(10)), FaultCode::OutputTruncated, false),
        ] {
            assert_eq!(small.is_helped_by(other, code), helps, "{other:?} {code:?}");
        }
        assert!(!reach(None, None, None).is_helped_by(reach(Some(1), Some(1), None), FaultCode::ContextOverflow), "nothing is known of the first");
    }
}
