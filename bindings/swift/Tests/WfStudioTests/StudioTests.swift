// Owns proof of the Swift side: an engine opens, runs, answers a tool and HTTP, and closes.
import Foundation
import XCTest

@testable import WfStudio

final class StudioTests: XCTestCase {
    struct Order: Codable, Sendable { let amount: Int }

    func testAnEngineRunsAnswersAndCloses() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let studio = try Studio(config: ["environment": "local", "database": ["path": folder.appendingPathComponent("studio.sqlite").path]])
        try studio.tool("pay") { (input: Order) async throws in Order(amount: input.amount) }
        let at: (String, String, [String: Any]) -> [String: Any] = { ["id": $0, "type": $1, "position": ["x": 0, "y": 0], "data": $2] }
        let edge: (String, String) -> [String: Any] = { ["id": $0 + $1, "source": $0, "target": $1, "sourceHandle": "default", "targetHandle": "default"] }
        let nodes = [at("start", "start", [:]), at("it", "tool", ["tool_ref": "host:pay", "arguments": ["amount": 25]]), at("stop", "stop", [:])]
        _ = try await studio.call(Operation.workflowSave, ["slug": "pay", "name": "Pay", "graph": ["version": 1, "nodes": nodes, "edges": [edge("start", "it"), edge("it", "stop")]]])
        var last = ""
        for try await event in studio.run(workflow: "pay", message: "hi") { last = event.name }
        XCTAssertEqual(last, EventName.traceCompleted)
        let answer = try await studio.respond(to: StudioRequest(path: "/studio/api/workflows"), gate: true)
        XCTAssertEqual(answer.status, 200)
        for try await _ in answer {}
        var head = StudioRequest(path: "/studio/api/workflows")
        head.method = "HEAD"
        for _ in 0..<100 { _ = try await studio.respond(to: head, gate: true) }
        XCTAssertEqual(studio.streams.count, 0) // nobody read them, and they are let go
        do {
            _ = try await studio.call(Operation.traceGet, ["trace_id": "00000000-0000-7000-8000-000000000000"])
            XCTFail("there is no such trace")
        } catch let error as StudioError { XCTAssertEqual(error.name, "not_found") }
        try await studio.close()
    }
}
