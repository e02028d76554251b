//! Owns the languages of exported classes, the kinds of classes, and the words for both.

/// A language in which definitions are written and read as classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Target {
    /// PHP 8.1 and later.
    Php,
    /// Python 3.
    Python,
    /// TypeScript.
    TypeScript,
    Kotlin,
    Swift,
    Ruby,
    Rust,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Php, Self::Python, Self::TypeScript, Self::Kotlin, Self::Swift, Self::Ruby, Self::Rust];

    /// The word of the configuration and of requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Php => "php",
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Kotlin => "kotlin",
            Self::Swift => "swift",
            Self::Ruby => "ruby",
            Self::Rust => "rust",
        }
    }

    /// How the names of its files end, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Php => "php",
            Self::Python => "py",
            Self::TypeScript => "ts",
            Self::Kotlin => "kt",
            Self::Swift => "swift",
            Self::Ruby => "rb",
            Self::Rust => "rs",
        }
    }

    /// The target that a word names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == word)
    }

    /// The target whose files end so.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.extension() == extension)
    }

    /// What stands between the parts of a full class name.
    pub fn separator(self) -> &'static str {
        match self {
            Self::Php => "\\",
            Self::Ruby | Self::Rust => "::",
            Self::Python | Self::TypeScript | Self::Kotlin | Self::Swift => ".",
        }
    }
}

/// What a class defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassKind {
    /// A class with the contract `StudioWorkflow`.
    Workflow,
    /// A class with the contract `StudioAgent`.
    Agent,
    /// A class with the contract `StudioTool`.
    Tool,
}

impl ClassKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Workflow, Self::Agent, Self::Tool];

    /// The word of requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Agent => "agent",
            Self::Tool => "tool",
        }
    }

    /// The kind that a word names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// The end of its class names.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Workflow => "Workflow",
            Self::Agent => "Agent",
            Self::Tool => "Tool",
        }
    }

    /// The contract that its classes declare, without a namespace.
    pub fn contract(self) -> &'static str {
        match self {
            Self::Workflow => "StudioWorkflow",
            Self::Agent => "StudioAgent",
            Self::Tool => "StudioTool",
        }
    }

    /// The kind whose contract has this name; a namespace before it does not count.
    pub fn of_contract(name: &str) -> Option<Self> {
        let last = name.rsplit(['\\', '.', ':']).next().unwrap_or(name);
        Self::ALL.into_iter().find(|kind| kind.contract() == last)
    }
}
