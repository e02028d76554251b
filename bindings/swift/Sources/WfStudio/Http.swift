// Owns HTTP without a framework: Vapor, Hummingbird and others stand on `respond`.
import CWfStudio
import Foundation

/// A request, and who asks; what is nil is not said.
public struct StudioRequest {
    public var method = "GET"
    /// Whole, percent-encoded as it came.
    public var path: String
    /// Without `?`.
    public var query = ""
    public var headers: [(String, String)] = []
    public var body = Data()
    public init(path: String) { self.path = path }
}

/// An answer whose body may still come. It is let go with the last copy of it and of its iterator, whether the body was read or not.
public struct StudioResponse: AsyncSequence {
    public typealias Element = Data
    public let status: Int
    public let headers: [(String, String)]
    let bodyLimit: Int
    let first: Data
    let closer: Closer

    /// Ends the answer; what of the body was not read is not sent.
    public func close() { closer.stream.close() }

    public final class Iterator: AsyncIteratorProtocol {
        private var first: Data
        private let closer: Closer
        init(_ response: StudioResponse) { (first, closer) = (response.first, response.closer) }
        deinit { closer.stream.close() }
        public func next() async throws -> Data? {
            if !first.isEmpty {
                defer { first = Data() }
                return first
            }
            while let piece = try await closer.stream.nextPiece() {
                if piece.code == STUDIO_OK, !piece.bytes.isEmpty { return piece.bytes }
            }
            return nil
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(self) }
}

extension Studio {
    /// The two paths below which the studio answers, unless the configuration says otherwise: see `mounts`.
    public static let prefixes = ["/studio", "/api/studio"]

    /// The paths below which this studio answers.
    public func mounts() async throws -> [String] {
        struct About: Decodable { let mounts: [String] }
        return try JSONDecoder().decode(About.self, from: try await call(Operation.about)).mounts
    }

    /// The bytes that the body of a request may have, or the refusal of the request: asked before a body is read.
    public func mayCome(_ request: StudioRequest, user: Any? = nil, gate: Bool? = nil, tenant: String? = nil) async throws -> (limit: Int, refusal: StudioResponse?) {
        let answer = try await ask(request, ["user": user, "gate": gate, "tenant": tenant, "expect": "100-continue"])
        if answer.status != 100 { return (0, answer) }
        answer.close()
        return (answer.bodyLimit, nil)
    }

    /// Answers a request; any HTTP answer is good news, a refusal too.
    public func respond(to request: StudioRequest, user: Any? = nil, gate: Bool? = nil, tenant: String? = nil, authorized: Bool = false) async throws -> StudioResponse {
        try await ask(request, ["user": user, "gate": gate, "tenant": tenant, "authorized": authorized])
    }

    private func ask(_ request: StudioRequest, _ marks: [String: Any?]) async throws -> StudioResponse {
        struct Head: Decodable { let status: Int, headers: [[String]], body: String?, body_limit: Int? }
        var head: [String: Any] = ["method": request.method, "path": request.path, "query": request.query, "headers": request.headers.map { [$0.0, $0.1] }]
        for (name, mark) in marks { if let mark { head[name] = mark } }
        let stream = try begin(Begin.http, JSONSerialization.data(withJSONObject: head), body: request.body)
        do {
            guard let piece = try await stream.nextPiece(), piece.code == STUDIO_HEAD else { throw StudioError(code: STUDIO_INTERNAL, problem: Data()) }
            let told = try JSONDecoder().decode(Head.self, from: piece.bytes)
            let headers = told.headers.filter { $0.count == 2 }.map { ($0[0], $0[1]) }
            return StudioResponse(status: told.status, headers: headers, bodyLimit: told.body_limit ?? 0, first: Data((told.body ?? "").utf8), closer: Closer(stream))
        } catch {
            stream.close()
            throw error
        }
    }
}
