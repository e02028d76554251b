//! Owns the contracts of exported Rust classes, and the macro for their definitions.

use serde_json::Value;

/// A workflow in code. `definition` returns what `GET /api/registry/class` shows.
pub trait StudioWorkflow {
    /// The workflow with the agents that it uses.
    fn definition() -> Value;
}

/// An agent in code.
pub trait StudioAgent {
    /// The agent.
    fn definition() -> Value;
}

/// A tool in code.
pub trait StudioTool {
    /// The tool.
    fn definition() -> Value;
}

/// `serde_json` as exported classes use it. Its `json!` takes literals of any size: the macro of that crate works through the members of
/// a literal one inside the other, and compilers end that at 128, which is a workflow of a dozen nodes.
pub mod serde_json {
    pub use crate::json;
    #[doc(no_inline)]
    pub use ::serde_json::{Map, Number, Value, from_str, from_value, to_string, to_string_pretty, to_value};

    /// What the macro expands to.
    #[doc(hidden)]
    pub use ::serde_json::json as of_expression;
}

/// A JSON value. Members are read beside each other, so that a literal may have as many as it wants; what is more than literals is
/// left to `serde_json::json!`.
#[macro_export]
macro_rules! json {
    (null) => { $crate::serde_json::Value::Null };
    ([ $($item:tt),* $(,)? ]) => { $crate::serde_json::Value::Array(::std::vec![ $( $crate::json!($item) ),* ]) };
    ({ $($key:literal : $value:tt),* $(,)? }) => {{
        #[allow(unused_mut, reason = "an object may be empty")]
        let mut members = $crate::serde_json::Map::new();
        $( members.insert(::std::string::String::from($key), $crate::json!($value)); )*
        $crate::serde_json::Value::Object(members)
    }};
    ($($other:tt)+) => { $crate::serde_json::of_expression!($($other)+) };
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    #[test]
    fn literals_are_what_serde_json_makes_of_them() {
        let here = crate::json!({"a": [1, (-2.5), "x", null, true, {}, []], "b": {"c": 18_446_744_073_709_551_615u64, "": [[{"d": false,}],]}});
        let text = r#"{"a":[1,-2.5,"x",null,true,{},[]],"b":{"c":18446744073709551615,"":[[{"d":false}]]}}"#;
        assert_eq!(here, serde_json::from_str::<Value>(text).expect("JSON"));
        let count = 2;
        assert_eq!(crate::json!({"a": count + 1, "b": [count, -1]}), serde_json::json!({"a": 3, "b": [2, -1]}));
    }
}
