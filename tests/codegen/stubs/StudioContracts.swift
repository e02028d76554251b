// The contracts of exported classes, for checks without the binding.

public protocol StudioWorkflow {
    static func definition() -> [String: Any?]
}

public protocol StudioAgent {
    static func definition() -> [String: Any?]
}

public protocol StudioTool {
    static func definition() -> [String: Any?]
}
