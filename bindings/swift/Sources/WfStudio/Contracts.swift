// Owns the contracts of definitions in code: what an export writes, and what `Studio.register` takes.

/// A workflow with the agents that it uses.
public protocol StudioWorkflow {
    static func definition() -> [String: Any?]
}

/// An agent.
public protocol StudioAgent {
    static func definition() -> [String: Any?]
}

/// A tool.
public protocol StudioTool {
    static func definition() -> [String: Any?]
}
