// Owns an answer that still comes, and its events.
import CWfStudio
import Foundation

/// One event of a run.
public struct StudioEvent: Sendable {
    /// Where a reader goes on that was cut off.
    public var id = ""
    /// Such as `EventName.traceCompleted`.
    public var name = ""
    /// JSON.
    public var data = Data()
}

/// Closes a stream when nobody is left who may read it: the engine's own list holds the stream itself.
final class Closer: Sendable {
    let stream: StudioStream
    init(_ stream: StudioStream) { self.stream = stream }
    deinit { stream.close() }
}

/// What an engine began; one task reads it.
final class StudioStream: @unchecked Sendable {
    struct Piece {
        let code: Int32
        let bytes: Data
    }

    let number: UInt64
    private let studio: Studio
    private let handle: OpaquePointer
    private let lock = NSLock()
    private var waiting: CheckedContinuation<Void, Never>?
    private var rung = false
    private var closed = false
    private var rest = Data()
    private var read: [StudioEvent] = []

    init(_ studio: Studio, _ handle: OpaquePointer) {
        self.studio = studio
        self.handle = handle
        number = UInt64(UInt(bitPattern: handle))
    }

    func close() {
        lock.lock()
        let first = !closed
        closed = true
        lock.unlock()
        guard first else { return }
        studio.forget(number)
        studio_stream_close(handle)
        ring()
    }

    func ring() {
        lock.lock()
        let told = waiting
        waiting = nil
        rung = told == nil
        lock.unlock()
        told?.resume()
    }

    private func news() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            lock.lock()
            let already = rung
            rung = false
            if !already { waiting = continuation }
            lock.unlock()
            if already { continuation.resume() }
        }
    }

    /// The next piece; none at the end. The stream is asked before it is waited for: what came earlier is announced no second time.
    func nextPiece() async throws -> Piece? {
        while true {
            let last = studio.isClosed
            var buffer = studio_buf(data: nil, len: 0, cap: 0)
            let code = studio_stream_next_batch(handle, 0, 0, &buffer)
            let bytes = taken(&buffer)
            if code < 0 { throw StudioError(code: code, problem: bytes) }
            if code == STUDIO_END { return nil }
            if code != STUDIO_TIMEOUT { return Piece(code: code, bytes: bytes) }
            if last { throw StudioError(code: STUDIO_CLOSED, problem: Data()) }
            await withTaskCancellationHandler { await news() } onCancel: { ring() }
            try Task.checkCancellation()
        }
    }

    func nextEvent() async throws -> StudioEvent? {
        while read.isEmpty {
            guard let piece = try await nextPiece() else { return nil }
            if piece.code == STUDIO_OK { parse(piece.bytes) }
        }
        return read.removeFirst()
    }

    private func parse(_ batch: Data) {
        rest += batch
        while let end = rest.range(of: Data("\n\n".utf8)) {
            let frame = rest[rest.startIndex..<end.lowerBound]
            rest = Data(rest[end.upperBound...])
            var event = StudioEvent()
            for line in frame.split(separator: UInt8(ascii: "\n")) {
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
                var value = line[line.index(after: colon)...]
                if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
                switch String(decoding: line[..<colon], as: UTF8.self) {
                case "id": event.id = String(decoding: value, as: UTF8.self)
                case "event": event.name = String(decoding: value, as: UTF8.self)
                case "data": event.data += event.data.isEmpty ? Data(value) : Data("\n".utf8) + value
                default: break
                }
            }
            if !event.name.isEmpty { read.append(event) } // else a comment, or what is said to browsers only
        }
    }
}
