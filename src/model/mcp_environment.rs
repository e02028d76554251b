//! Owns the environment variables that an MCP server created in the studio may set for its program.
//!
//! Many variables make a program load other code, and no list of them is complete. So this is a list of allowed names: some plain settings,
//! credentials, and the names that the operator adds.

/// Names that only set values in every program.
const NAMES: [&str; 12] = [
    "CI", "DEBUG", "FORCE_COLOR", "LANG", "LANGUAGE", "LOG_FORMAT", "LOG_LEVEL", "NODE_ENV", "NO_COLOR", "PYTHONUNBUFFERED", "RUST_LOG", "TZ",
];
/// How names of credentials, and of what belongs to them, end.
const ENDINGS: [&str; 12] = [
    "_ACCESS_KEY", "_ACCESS_KEY_ID", "_ACCOUNT_ID", "_API_KEY", "_CLIENT_ID", "_CLIENT_SECRET", "_PASSWORD", "_PROJECT_ID", "_REGION", "_SECRET",
    "_TOKEN", "_USERNAME",
];
/// Beginnings of names that runtimes, loaders and tools read for themselves: their endings do not show what they mean.
const RUNTIMES: [&str; 20] = [
    "BASH", "BUN_", "CARGO_", "COR_", "DENO_", "DOTNET_", "DYLD_", "GIT_", "JAVA", "JDK_", "LD_", "LUA_", "NODE_", "NPM_CONFIG_", "PERL", "PIP_", "PYTHON",
    "RUBY", "RUSTC", "UV_",
];

/// Whether a variable may be set. `listed` are the operator's names; one that ends with `*` stands for all that begin so.
pub fn may_be_set(name: &str, listed: &[String]) -> bool {
    let is_listed = |one: &String| one.strip_suffix('*').map_or(one == name, |start| !start.is_empty() && name.starts_with(start));
    if listed.iter().any(is_listed) || NAMES.contains(&name) || name.starts_with("LC_") {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    let whole = matches!(name, "API_KEY" | "TOKEN" | "PASSWORD");
    (whole || ENDINGS.iter().any(|end| upper.ends_with(end))) && !RUNTIMES.iter().any(|start| upper.starts_with(start))
}

/// Whether a variable of this name can be set at all.
pub fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.len() <= 128 && name.bytes().next().is_some_and(letter) && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_allowed_and_what_nobody_allowed_is_refused() {
        let listed = ["MY_URL".to_owned(), "ACME_*".to_owned(), "*".to_owned()];
        for name in ["LANG", "LC_ALL", "TZ", "GITHUB_TOKEN", "API_KEY", "OPENAI_API_KEY", "NODE_ENV", "PYTHONUNBUFFERED", "MY_URL", "ACME_HOME"] {
            assert!(may_be_set(name, &listed) && is_name(name), "{name}");
        }
        for name in [
            "PATH", "HOME", "LD_PRELOAD", "ld_preload", "Node_Options", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "BROWSER",
            "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "DOTNET_STARTUP_HOOKS", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "npm_config_registry", "npm_config_x_token", "UV_INDEX_X_PASSWORD", "X_URL",
        ] {
            assert!(!may_be_set(name, &listed), "{name}");
        }
        for name in ["", "1A", "A=B", "A-B", "A\0"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
