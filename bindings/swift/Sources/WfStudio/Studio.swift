// Owns an open engine in Swift: opening, closing, operations, and the one source that learns which streams have news.
import CWfStudio
import Dispatch
import Foundation

/// A refusal or a fault of the library; `code` is one of the header, as `STUDIO_NOT_FOUND`.
public struct StudioError: Error, CustomStringConvertible {
    public let code: Int32
    public let problem: Data
    private struct Members: Decodable { let code: String?, detail: String?, status: Int? }
    private var members: Members? { try? JSONDecoder().decode(Members.self, from: problem) }
    /// The problem's own code, such as `not_found`.
    public var name: String? { members?.code }
    public var status: Int? { members?.status }
    public var description: String { members?.detail ?? "the studio answered \(code)" }
}

/// An open engine. All of it may be called from any task.
public final class Studio: @unchecked Sendable {
    let engine: OpaquePointer
    private let lock = NSLock()
    private(set) var streams: [UInt64: StudioStream] = [:]
    private var source: DispatchSourceRead?
    private var closed: Int32?
    private let queue = DispatchQueue(label: "studio")
    var host: Host!

    /// Opens an engine; threads and files come with its first use. The configuration is anything that `JSONSerialization` takes.
    public init(config: [String: Any] = [:]) throws {
        let has = studio_abi_version()
        guard has >> 16 == UInt32(STUDIO_ABI_VERSION) >> 16, has >= UInt32(STUDIO_ABI_VERSION) else { throw StudioError(code: STUDIO_UNSUPPORTED, problem: Data()) }
        var handle: OpaquePointer?
        let text = try JSONSerialization.data(withJSONObject: config)
        try checked { problem in text.bytes { studio_engine_open($0, $1, &handle, problem) } }
        engine = handle!
        host = Host(self)
        watch()
    }

    deinit { _ = shut(0) }

    /// Ends streams, waits for calls, puts runs down so that they can be taken up again. Only the first call does something.
    public func close(within seconds: Double = 10) async throws {
        let code = await withCheckedContinuation { done in
            DispatchQueue.global().async { done.resume(returning: self.shut(UInt32(seconds * 1000))) }
        }
        if code < 0 { throw StudioError(code: code, problem: Data()) }
    }

    private func shut(_ milliseconds: UInt32) -> Int32 {
        lock.lock()
        defer { lock.unlock() }
        if let closed { return closed }
        lock.unlock()
        let code = studio_engine_close(engine, milliseconds)
        lock.lock()
        closed = code
        source?.cancel()
        host?.end()
        for stream in streams.values { stream.ring() }
        return code
    }

    /// One operation, such as `Operation.traceList`; JSON out.
    public func call(_ operation: String, _ request: [String: Any] = [:]) async throws -> Data {
        let stream = try begin(operation, JSONSerialization.data(withJSONObject: request))
        defer { stream.close() }
        var answer = Data()
        while let piece = try await stream.nextPiece() { answer += piece.bytes }
        return answer
    }

    /// Runs a workflow and gives its events.
    public func run(workflow: String, message: String, with more: [String: Any] = [:]) -> AsyncThrowingStream<StudioEvent, Error> {
        events(Begin.run, more.merging(["workflow": workflow, "message": message]) { $1 })
    }

    /// A turn of an agent's chat.
    public func run(agent: String, message: String, with more: [String: Any] = [:]) -> AsyncThrowingStream<StudioEvent, Error> {
        events(Begin.run, more.merging(["agent": agent, "message": message]) { $1 })
    }

    /// Answers a pause and gives the events that follow.
    public func resume(_ trace: String, answer: [String: Any]) -> AsyncThrowingStream<StudioEvent, Error> {
        events(Begin.resume, answer.merging(["trace_id": trace]) { $1 })
    }

    /// Begins at once; events are fetched as they are asked for. Who lets the sequence go closes the stream; the run goes on, unless it was started with
    /// `"on_disconnect": "cancel"`.
    private func events(_ operation: String, _ request: [String: Any]) -> AsyncThrowingStream<StudioEvent, Error> {
        let begun = Result { Closer(try begin(operation, JSONSerialization.data(withJSONObject: request))) }
        return AsyncThrowingStream(unfolding: { try await begun.get().stream.nextEvent() })
    }

    func begin(_ operation: String, _ request: Data, body: Data = Data()) throws -> StudioStream {
        var handle: OpaquePointer?
        try checked { problem in
            request.bytes { text, length in body.bytes { studio_start(self.engine, operation, text, length, $0, $1, &handle, problem) } }
        }
        let stream = StudioStream(self, handle!)
        lock.lock()
        streams[stream.number] = stream
        lock.unlock()
        return stream
    }

    func forget(_ stream: UInt64) {
        lock.lock()
        streams[stream] = nil
        lock.unlock()
    }

    var isClosed: Bool {
        lock.lock()
        defer { lock.unlock() }
        return closed != nil
    }

    private func watch() {
        let descriptor = studio_engine_fd(engine)
        guard descriptor >= 0 else { return }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in
            var drained = [UInt8](repeating: 0, count: 256)
            while read(descriptor, &drained, drained.count) == drained.count {}
            self?.spread()
        }
        source.setCancelHandler { _ = Foundation.close(descriptor) }
        self.source = source
        source.resume()
    }

    private func spread() {
        var handles = [UInt64](repeating: 0, count: 256)
        while true {
            var count = 0
            guard studio_ready(engine, 0, &handles, handles.count, &count) >= 0 else {
                source?.cancel() // the engine is closed, and its descriptor readable for ever
                return
            }
            if count == 0 { return }
            for handle in handles[..<count] {
                if handle == 0 {
                    host.fetch()
                    continue
                }
                lock.lock()
                let stream = streams[handle]
                lock.unlock()
                stream?.ring()
            }
        }
    }
}

/// Bytes of the library, copied and given back.
func taken(_ buffer: inout studio_buf) -> Data {
    defer { studio_buf_free(&buffer) }
    return buffer.data == nil ? Data() : Data(bytes: buffer.data, count: buffer.len)
}

func checked(_ call: (UnsafeMutablePointer<studio_buf>) -> Int32) throws {
    var problem = studio_buf(data: nil, len: 0, cap: 0)
    let code = call(&problem)
    let told = taken(&problem)
    if code < 0 { throw StudioError(code: code, problem: told) }
}

extension Data {
    func bytes<R>(_ use: (UnsafePointer<UInt8>?, Int) throws -> R) rethrows -> R {
        try withUnsafeBytes { try use($0.bindMemory(to: UInt8.self).baseAddress, count) }
    }
}
