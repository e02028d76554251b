// Owns the registration of exported classes.
import Foundation

extension Studio {
    /// Registers a workflow in code: it is listed and run, and nobody can write it in the studio.
    public func register(_ workflow: StudioWorkflow.Type) async throws { try await register(String(reflecting: workflow), workflow.definition()) }

    /// Registers an agent in code.
    public func register(_ agent: StudioAgent.Type) async throws { try await register(String(reflecting: agent), agent.definition()) }

    /// Registers a tool in code.
    public func register(_ tool: StudioTool.Type) async throws { try await register(String(reflecting: tool), tool.definition()) }

    private func register(_ name: String, _ definition: [String: Any?]) async throws {
        _ = try await call(Operation.classRegister, ["class": name, "definition": plain(definition)])
    }
}

/// A value as `JSONSerialization` takes it: nil is its null.
private func plain(_ value: Any?) -> Any {
    guard let value else { return NSNull() }
    if let members = value as? [String: Any?] { return members.mapValues(plain) }
    if let items = value as? [Any?] { return items.map(plain) }
    return value
}
