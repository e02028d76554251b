// Owns what the application answers: tools and other calls, fetched when the engine says that they wait, a task each.
import CWfStudio
import Foundation

/// A call of the engine to the application.
public struct HostCall: Sendable {
    public let op: String
    /// What is asked, as JSON.
    public let payload: Data
    let id: UInt64
    let complete: @Sendable (Int32, Data) -> Int32

    /// Tells a part of the answer with more to follow.
    public func chunk(_ part: some Encodable) throws {
        let code = complete(2, try JSONEncoder().encode(part))
        if code < 0 { throw StudioError(code: code, problem: Data()) }
    }
}

/// Answers a call with JSON; what it throws is a failure of the call. The task is cancelled when nobody wants the result any more.
public typealias HostAnswer = @Sendable (HostCall) async throws -> Data

final class Host: @unchecked Sendable {
    private unowned let studio: Studio
    private let lock = NSLock()
    private var answers: [String: HostAnswer] = [:]
    private var tools: [(name: String, declaration: [String: Any])] = []
    private var running: [UInt64: Task<Void, Never>] = [:]

    init(_ studio: Studio) { self.studio = studio }

    static func key(_ tool: String) -> String { HostOperation.toolCall + " " + tool }

    func declare(_ key: String, tool: [String: Any]? = nil, _ answer: @escaping HostAnswer) throws {
        lock.lock()
        defer { lock.unlock() }
        var declared = tools
        if let tool, let name = tool["name"] as? String {
            declared.removeAll { $0.name == name }
            declared.append((name, tool))
        }
        var all = answers
        all[key] = answer
        let ops = all.keys.filter { !$0.hasPrefix(HostOperation.toolCall + " ") } + (declared.isEmpty ? [] : [HostOperation.toolCall])
        let text = try JSONSerialization.data(withJSONObject: ["ops": ops, "tools": declared.map(\.declaration)])
        let code = text.bytes { studio_host_set(studio.engine, $0, $1, nil, nil, nil) }
        if code < 0 { throw StudioError(code: code, problem: Data()) }
        (answers, tools) = (all, declared)
    }

    /// Takes all calls that wait. Cancels are obeyed here, in the order in which the engine told them.
    func fetch() {
        struct Told: Decodable { let op: String, call_id: UInt64 }
        while true {
            var buffer = studio_buf(data: nil, len: 0, cap: 0)
            let code = studio_host_next(studio.engine, 0, &buffer)
            let text = taken(&buffer)
            if code < 0 || code == STUDIO_TIMEOUT { return }
            guard let told = try? JSONDecoder().decode(Told.self, from: text),
                  let members = try? JSONSerialization.jsonObject(with: text) as? [String: Any] else { continue }
            let payload = members["payload"] as? [String: Any] ?? [:]
            let engine = studio.engine
            let call = HostCall(op: told.op, payload: (try? JSONSerialization.data(withJSONObject: payload)) ?? Data(), id: told.call_id) { ok, data in
                data.bytes { studio_host_complete(engine, told.call_id, ok, $0, $1) }
            }
            take(call, name: payload["name"] as? String, cancels: (payload["cancels"] as? NSNumber)?.uint64Value)
        }
    }

    private func take(_ call: HostCall, name: String?, cancels: UInt64?) {
        lock.lock()
        defer { lock.unlock() }
        if call.op == HostOperation.toolCancel, let cancels { running[cancels]?.cancel() }
        guard let answer = answers[call.op == HostOperation.toolCall ? Host.key(name ?? "") : call.op] else { return }
        running[call.id] = Task { [weak self] in
            await Host.finish(call, answer)
            self?.done(call.id)
        }
    }

    private func done(_ id: UInt64) {
        lock.lock()
        running[id] = nil
        lock.unlock()
    }

    /// The tool returned, and its result has no JSON.
    struct Unwritten: Error { let why: String }

    /// `ran`: the tool returned. It must not look like one that failed: whoever reads that calls it again.
    struct Failure: Encodable { let message: String, ran: Bool? }

    private static func finish(_ call: HostCall, _ answer: HostAnswer) async {
        let failure: Failure
        do {
            try Task.checkCancellation() // nobody wants the result any more: nothing is begun
            if call.complete(1, try await answer(call)) != STUDIO_INVALID { return }
            let isTool = call.op == HostOperation.toolCall
            failure = isTool ? unwritten("the engine does not read it") : Failure(message: "the answer is no JSON that the engine can read", ran: nil)
        } catch let error as Unwritten {
            failure = unwritten(error.why)
        } catch {
            failure = Failure(message: "\(error)", ran: nil)
        }
        _ = call.complete(0, (try? JSONEncoder().encode(failure)) ?? Data())
    }

    private static func unwritten(_ why: String) -> Failure {
        Failure(message: "the tool ran, but its result could not be written as JSON (\(why)): return what JSONEncoder writes, at most 16 MiB", ran: true)
    }

    func end() {
        lock.lock()
        running.values.forEach { $0.cancel() }
        lock.unlock()
    }
}

extension Studio {
    /// A tool; `schema` is the JSON Schema of its input.
    public func tool<Input: Decodable & Sendable, Output: Encodable>(
        _ name: String, description: String = "", requireApproval: Bool = false, idempotent: Bool = false, schema: [String: Any] = ["type": "object"],
        does: @escaping @Sendable (Input) async throws -> Output
    ) throws {
        struct Payload<Arguments: Decodable>: Decodable { let arguments: Arguments }
        let declaration: [String: Any] = ["name": name, "description": description, "require_approval": requireApproval, "idempotent": idempotent, "input_schema": schema]
        try host.declare(Host.key(name), tool: declaration) { call in
            let input = try JSONDecoder().decode(Payload<Input>.self, from: call.payload).arguments
            let output = try await does(input)
            do { return try JSONEncoder().encode(output) } catch { throw Host.Unwritten(why: "\(error)") }
        }
    }

    /// Another call that the application answers, such as `HostOperation.secretGet`.
    public func answer(_ op: String, does: @escaping HostAnswer) throws { try host.declare(op, does) }
}
