//! Owns telling variables of the environment that only set values from those that make a program load other code.

/// How names of such variables begin.
const BEGINNINGS: [&str; 3] = ["LD_", "DYLD_", "BASH_FUNC_"];
/// Such names as a whole.
const NAMES: [&str; 16] = [
    "BASH_ENV", "ENV", "GCONV_PATH", "IFS", "JAVA_TOOL_OPTIONS", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT", "PYTHONHOME",
    "PYTHONINSPECT", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT", "SHELLOPTS",
];

/// Whether a variable only sets a value. A command that is listed must not become another one by its environment.
#[must_use]
pub fn is_harmless(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    !BEGINNINGS.iter().any(|start| upper.starts_with(start)) && !NAMES.contains(&upper.as_str())
}

/// Whether a variable of this name can be set at all.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.len() <= 128 && name.bytes().next().is_some_and(letter) && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_load_code_are_told_apart() {
        for name in ["PATH", "HOME", "API_KEY", "NODE_ENV", "PYTHONUNBUFFERED"] {
            assert!(is_harmless(name) && is_name(name), "{name}");
        }
        for name in ["LD_PRELOAD", "ld_preload", "Node_Options", "DYLD_INSERT_LIBRARIES", "BASH_ENV"] {
            assert!(!is_harmless(name), "{name}");
        }
        for name in ["", "1A", "A=B", "A-B", "A\0"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
