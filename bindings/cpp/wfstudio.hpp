// Owns the C++ side of Workflow Studio: engines, streams and tools as C++17 objects over wfstudio.h, in headers alone.
//
// JSON goes in and out as text, so that no JSON library is forced on anybody; `studio::json` reads single members. Errors are
// `studio::Error`. All of an Engine may be called from any thread; a stream has one reader.
#ifndef WFSTUDIO_HPP
#define WFSTUDIO_HPP

#include <wfstudio.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "wfstudio_json.hpp"
#include "wfstudio_names.hpp"

namespace studio {

// The two paths below which the studio answers, unless the configuration says otherwise: see Engine::mounts.
inline constexpr std::string_view prefixes[] = {"/studio", "/api/studio"};

// A refusal or a fault; `code` is one of wfstudio.h, as STUDIO_NOT_FOUND.
class Error : public std::runtime_error {
public:
    Error(std::int32_t number, std::string text)
        : std::runtime_error(said(number, text)), code(number), problem(std::move(text)) {}
    const std::int32_t code;
    const std::string problem;  // the problem document, or empty
    // The problem's own code, such as `not_found`; empty when there is none.
    std::string name() const { return json::text(json::member(problem, "code").value_or("")); }

private:
    static std::string said(std::int32_t number, const std::string &problem) {
        auto detail = json::member(problem, "detail");
        return detail ? json::text(*detail) : "the studio answered " + std::to_string(number);
    }
};

namespace detail {
inline const std::uint8_t *bytes(std::string_view text) { return reinterpret_cast<const std::uint8_t *>(text.data()); }

// Bytes of the library.
class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { studio_buf_free(&raw_); }
    studio_buf *out() {
        studio_buf_free(&raw_);
        return &raw_;
    }
    std::string_view view() const { return {reinterpret_cast<const char *>(raw_.data), raw_.len}; }

private:
    studio_buf raw_ = STUDIO_BUF_EMPTY;
};

inline void check(std::int32_t code, std::string_view problem = {}) {
    if (code < 0) throw Error(code, std::string(problem));
}
class Host;
}  // namespace detail

// A call of the engine to the application. Where text is wanted it is the payload.
class Call {
public:
    Call(studio_engine *engine, std::string_view text)
        : op(json::text(json::member(text, "op").value_or(""))), id(std::strtoull(std::string(json::member(text, "call_id").value_or("0")).c_str(), nullptr, 10)),
          payload(json::member(text, "payload").value_or("null")), engine_(engine) {}
    const std::string op;
    const std::uint64_t id;
    const std::string payload;
    // True when nobody wants the result any more.
    bool cancelled() const { return cancelled_; }
    // Waits for that long, or until it is cancelled; true then.
    template <class Rep, class Period> bool wait_for(std::chrono::duration<Rep, Period> time) const {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, time, [this] { return cancelled(); });
    }
    // Tells a part of the answer with more to follow.
    void chunk(std::string_view part) const { detail::check(complete(2, part)); }
    operator std::string_view() const { return payload; }

private:
    friend class detail::Host;
    std::int32_t complete(std::int32_t ok, std::string_view text) const { return studio_host_complete(engine_, id, ok, detail::bytes(text), text.size()); }
    void cancel() {
        std::lock_guard lock(mutex_);
        cancelled_ = true;
        changed_.notify_all();
    }
    studio_engine *engine_;
    std::atomic<bool> cancelled_{false};
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
};

// Answers a call: the result as JSON. What it throws is a failure of the call.
using Answer = std::function<std::string(const Call &)>;

// Who answers calls: threads of the engine object, or whoever reads the stream that brings them.
enum class Calls { threads, inside };

namespace detail {
// What the application answers. One thread fetches calls and obeys cancels; others, reused, do the work.
class Host : public std::enable_shared_from_this<Host> {
public:
    Host(studio_engine *engine, Calls calls) : engine_(engine), calls_(calls) {}

    void declare(const std::string &key, std::string_view declaration, Answer answer) {
        std::lock_guard lock(mutex_);
        auto before = answers_.find(key) == answers_.end() ? std::nullopt : std::optional(answers_[key]);
        answers_[key] = {std::string(declaration), std::move(answer)};
        if (!before) order_.push_back(key);
        std::string tools, ops;
        for (auto &name : order_) {
            auto &declared = answers_[name].declaration;
            if (declared.empty()) ops += (ops.empty() ? "" : ",") + json::quote(name);
            else tools += (tools.empty() ? "" : ",") + declared;
        }
        if (!tools.empty()) ops += (ops.empty() ? "" : ",") + json::quote(host_op::tool_call);
        std::string text = "{\"ops\":[" + ops + "],\"tools\":[" + tools + "]}";
        std::int32_t code = studio_host_set(engine_, bytes(text), text.size(), nullptr, nullptr, nullptr);
        if (code < 0) {
            // The engine still has what was declared before.
            if (before) answers_[key] = *before;
            else answers_.erase(key), order_.pop_back();
            throw Error(code, "");
        }
        if (used_) begin();
    }

    // The engine is used in this process. Not before, so that the child of a fork, which has no threads of its parent, may be the first to use it.
    void use() {
        if (used_) return;
        std::lock_guard lock(mutex_);
        begin();
        used_ = true;
    }

    // The answer to one call, on this thread.
    void answer(const std::shared_ptr<Call> &call) {
        std::optional<Answer> found;
        {
            std::lock_guard lock(mutex_);
            auto at = answers_.find(call->op == host_op::tool_call ? tool_key(json::text(json::member(call->payload, "name").value_or(""))) : call->op);
            if (at == answers_.end()) return;
            found = at->second.answer;
        }
        std::string message, ran;
        try {
            if (call->cancelled()) throw std::runtime_error("the call was cancelled before it began; nothing was done");
            if (call->complete(1, (*found)(*call)) != STUDIO_INVALID) return;
            message = "the answer is no JSON";
            if (call->op == host_op::tool_call) {
                // It must not look like one that failed: whoever reads that calls it again.
                message = "the tool ran, but its result is no JSON that the engine reads: return JSON in UTF-8, at most 16 MiB";
                ran = ",\"ran\":true";
            }
        } catch (const std::exception &failure) {
            message = failure.what();
        } catch (...) {
            message = "the host threw what is no std::exception";
        }
        if (call->complete(0, "{\"message\":" + json::quote(message) + ran + "}") == STUDIO_INVALID) {
            call->complete(0, R"({"message":"the failure has no text that the engine reads: UTF-8, at most 16 MiB"})");
        }
    }

    // Notes a call before it is worked on, so that a cancel finds it; false when it was only a cancel.
    bool take(const std::shared_ptr<Call> &call) {
        std::lock_guard lock(mutex_);
        if (call->op == host_op::tool_cancel) {
            auto at = running_.find(std::strtoull(std::string(json::member(call->payload, "cancels").value_or("0")).c_str(), nullptr, 10));
            if (at != running_.end()) at->second->cancel();
            if (answers_.find(call->op) == answers_.end()) return false;
        }
        running_[call->id] = call;
        return true;
    }
    void done(const std::shared_ptr<Call> &call) {
        std::lock_guard lock(mutex_);
        running_.erase(call->id);
    }
    void inside(std::string_view text) {
        auto call = std::make_shared<Call>(engine_, text);
        if (!take(call)) return;
        answer(call);
        done(call);
    }

    // After the engine was closed: tools are told, threads awaited, except the one that closes.
    void end() {
        std::vector<std::thread> threads;
        {
            std::lock_guard lock(mutex_);
            ended_ = true;
            for (auto &[id, call] : running_) call->cancel();
            threads.swap(workers_);
            if (fetcher_.joinable()) threads.push_back(std::move(fetcher_));
            changed_.notify_all();
        }
        for (auto &thread : threads) thread.get_id() == std::this_thread::get_id() ? thread.detach() : thread.join();
    }

    static std::string tool_key(std::string_view name) { return std::string(host_op::tool_call) + " " + std::string(name); }

private:
    struct Declared {
        std::string declaration;  // of a tool; empty for other ops
        Answer answer;
    };

    void begin() {
        if (calls_ == Calls::threads && !ended_ && !answers_.empty() && !fetcher_.joinable()) fetcher_ = std::thread([host = shared_from_this()] { host->fetch(); });
    }

    void fetch() {
        Buffer out;
        while (true) {
            std::int32_t code = studio_host_next(engine_, -1, out.out());
            if (code < 0) return;
            if (code == STUDIO_TIMEOUT) continue;
            try {
                if (!hand_on(out.view())) return;
            } catch (...) {
                // Such as no memory: this call is left to its time limit, the thread goes on.
            }
        }
    }

    // Has a call worked on; false after the end.
    bool hand_on(std::string_view text) {
        auto call = std::make_shared<Call>(engine_, text);
        if (!take(call)) return true;
        std::lock_guard lock(mutex_);
        if (ended_) return false;
        waiting_.push_back(call);
        if (idle_ >= waiting_.size()) {
            changed_.notify_one();
            return true;
        }
        try {
            workers_.emplace_back([host = shared_from_this()] { host->work(); });
        } catch (const std::exception &failure) {
            // Threads that work already come to it; where there is none, the call fails.
            if (!workers_.empty()) return true;
            waiting_.pop_back();
            running_.erase(call->id);
            call->complete(0, "{\"message\":" + json::quote(std::string("the host has no thread for the call: ") + failure.what()) + "}");
        }
        return true;
    }

    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            idle_++;
            changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
            idle_--;
            if (waiting_.empty()) return;
            auto call = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            answer(call);
            done(call);
            lock.lock();
        }
    }

    studio_engine *engine_;
    const Calls calls_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Declared> answers_;
    std::vector<std::string> order_;  // as they were declared first
    std::map<std::uint64_t, std::shared_ptr<Call>> running_;
    std::deque<std::shared_ptr<Call>> waiting_;
    std::vector<std::thread> workers_;
    std::thread fetcher_;
    std::size_t idle_ = 0;
    bool ended_ = false;
    std::atomic<bool> used_{false};
};
}  // namespace detail

// An answer that still comes: pieces of bytes. Destroying it closes the stream.
class Stream {
public:
    // Without a handle nothing comes any more.
    Stream(studio_stream *handle, std::shared_ptr<detail::Host> host) : handle_(handle), host_(std::move(host)), empty_(handle == nullptr) {}
    Stream(Stream &&other) noexcept : handle_(other.handle_.exchange(nullptr)), host_(std::move(other.host_)), empty_(other.empty_) {}
    Stream &operator=(Stream &&other) noexcept {
        other.handle_ = handle_.exchange(other.handle_);
        std::swap(host_, other.host_);
        std::swap(empty_, other.empty_);
        return *this;
    }
    ~Stream() { close(); }

    struct Piece {
        std::int32_t code;  // STUDIO_OK, STUDIO_HEAD, STUDIO_TIMEOUT or STUDIO_END
        std::string bytes;
    };
    // The next piece. Calls to the host that the stream brings are answered meanwhile.
    Piece next(std::int32_t timeout_ms = -1) {
        if (empty_) return {STUDIO_END, {}};
        detail::Buffer out;
        while (true) {
            studio_stream *handle = handle_;
            if (handle == nullptr) throw Error(STUDIO_CLOSED, R"({"code":"closed","detail":"the stream was closed"})");
            std::int32_t code = studio_stream_next_batch(handle, timeout_ms, 0, out.out());
            detail::check(code, out.view());
            if (code != STUDIO_HOST_CALL) return {code, std::string(out.view())};
            host_->inside(out.view());
        }
    }
    // Cancels the run; the stream goes on and tells its end. From any thread.
    void cancel() {
        if (!empty_) detail::check(studio_stream_cancel(handle_));
    }
    // Stops listening; a reader on another thread is woken.
    void close() {
        if (studio_stream *handle = handle_.exchange(nullptr)) studio_stream_close(handle);
    }
    studio_stream *handle() const { return handle_; }

private:
    std::atomic<studio_stream *> handle_;
    std::shared_ptr<detail::Host> host_;
    bool empty_;
};

struct Event {
    std::string id;    // where a reader goes on that was cut off
    std::string name;  // such as event_name::trace_completed
    std::string data;  // JSON
};

// The events of a run, for one loop.
class Events {
public:
    explicit Events(Stream stream) : stream_(std::move(stream)) {}
    // The next event; none at the end.
    std::optional<Event> next() {
        while (true) {
            std::size_t end = rest_.find("\n\n", at_);
            if (end == std::string::npos) {
                rest_.erase(0, std::exchange(at_, 0));
                auto piece = stream_.next();
                if (piece.code == STUDIO_END) return std::nullopt;
                if (piece.code == STUDIO_OK) rest_ += piece.bytes;
                continue;
            }
            std::string_view frame(rest_.data() + at_, end - at_);
            at_ = end + 2;
            if (auto event = parsed(frame)) return event;
        }
    }
    void cancel() { stream_.cancel(); }
    void close() { stream_.close(); }

    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Event;
        using difference_type = std::ptrdiff_t;
        using pointer = const Event *;
        using reference = const Event &;
        explicit iterator(Events *events = nullptr) : events_(events) { ++*this; }
        reference operator*() const { return *event_; }
        pointer operator->() const { return &*event_; }
        iterator &operator++() {
            if (events_ != nullptr && !(event_ = events_->next())) events_ = nullptr;
            return *this;
        }
        bool operator!=(const iterator &other) const { return events_ != other.events_; }
        bool operator==(const iterator &other) const { return events_ == other.events_; }

    private:
        Events *events_;
        std::optional<Event> event_;
    };
    iterator begin() { return iterator(this); }
    iterator end() { return iterator(); }

private:
    static std::optional<Event> parsed(std::string_view frame) {
        Event event;
        bool has_data = false;
        while (!frame.empty()) {
            std::string_view line = frame.substr(0, frame.find('\n'));
            frame.remove_prefix(std::min(frame.size(), line.size() + 1));
            std::string_view field = line.substr(0, line.find(':'));
            std::string_view value = line.substr(std::min(line.size(), field.size() + 1));
            if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
            if (field == "id") event.id = value;
            else if (field == "event") event.name = value;
            else if (field == "data") event.data.append(std::exchange(has_data, true) ? "\n" : "").append(value);
        }
        if (event.name.empty()) return std::nullopt;  // a comment, or what is said to browsers only
        return event;
    }
    Stream stream_;
    std::string rest_;
    std::size_t at_ = 0;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

// An HTTP request; texts of JSON are left out when empty.
struct Request {
    std::string method = "GET";
    std::string path;   // whole, percent-encoded
    std::string query;  // without `?`
    Headers headers = {};
    std::string body = {};
    std::string user = {};  // JSON: an object with an `id`
    std::string tenant = {};
    std::optional<bool> gate = {};
    bool authorized = false;
    std::string base_url = {};
};

// An HTTP answer whose body may still come.
class Response {
public:
    Response(Stream stream, std::string_view head) : stream_(std::move(stream)) {
        status = std::atoi(std::string(json::member(head, "status").value_or("500")).c_str());
        for (auto pair : json::items(json::member(head, "headers").value_or("[]"))) {
            auto both = json::items(pair);
            if (both.size() == 2) headers.emplace_back(json::text(both[0]), json::text(both[1]));
        }
        if (auto body = json::member(head, "body")) first_ = json::text(*body);
        if (status == 100) body_limit = std::strtoull(std::string(json::member(head, "body_limit").value_or("0")).c_str(), nullptr, 10);
    }
    int status;
    Headers headers;
    std::uint64_t body_limit = 0;  // of an answer to `Engine::may_send`
    // The next piece of the body, STUDIO_TIMEOUT or STUDIO_END.
    Stream::Piece next(std::int32_t timeout_ms = -1) {
        if (!first_.empty()) return {STUDIO_OK, std::exchange(first_, {})};
        while (true) {
            auto piece = stream_.next(timeout_ms);
            if (piece.code != STUDIO_OK || !piece.bytes.empty()) return piece;
        }
    }
    // The rest of the body.
    std::string text() {
        std::string all;
        for (auto piece = next(); piece.code != STUDIO_END; piece = next()) all += piece.bytes;
        return all;
    }
    Stream &stream() { return stream_; }

private:
    Stream stream_;
    std::string first_;
};

// An open engine; destroying it closes it.
class Engine {
public:
    // `config` is a JSON object. With Calls::inside no thread is started: streams bring the calls to their reader.
    explicit Engine(std::string_view config = "{}", Calls calls = Calls::threads) : calls_(calls) {
        std::uint32_t has = studio_abi_version(), wanted = STUDIO_ABI_VERSION;
        if (has >> 16 != wanted >> 16 || has < wanted) throw Error(STUDIO_UNSUPPORTED, R"({"detail":"the library does not fit this header: its functions are older or of another major version"})");
        detail::Buffer out;
        std::int32_t code = studio_engine_open(detail::bytes(config), config.size(), &handle_, out.out());
        detail::check(code, out.view());
        host_ = std::make_shared<detail::Host>(handle_, calls);
    }
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;
    ~Engine() { (void)shut(10000); }

    // Ends streams, waits for calls, puts runs down so that they can be taken up again. Only the first call does something.
    void close(std::uint32_t timeout_ms = 10000) { detail::check(shut(timeout_ms)); }

    // A tool. `declaration` is its JSON: `{"name","description","input_schema","require_approval","idempotent","timeout_ms"}`.
    void tool(std::string_view declaration, Answer answer) {
        auto name = json::member(declaration, "name");
        if (!name) throw Error(STUDIO_INVALID, R"({"detail":"a tool needs a name"})");
        host_->declare(detail::Host::tool_key(json::text(*name)), declaration, std::move(answer));
    }
    // Another call that the application answers, such as host_op::secret_get.
    void answer(std::string_view op, Answer answer) { host_->declare(std::string(op), {}, std::move(answer)); }

    // One operation, such as op::trace_list; JSON in and out.
    std::string call(std::string_view op, std::string_view request = "{}") {
        Stream stream = begin(op, request);
        std::string answer;
        for (auto piece = stream.next(); piece.code != STUDIO_END; piece = stream.next()) answer += piece.bytes;
        return answer;
    }
    Events run(std::string_view request) { return Events(begin(begin::run, request)); }
    Events resume(std::string_view request) { return Events(begin(begin::resume, request)); }

    // Where the paths of the studio begin, such as `/studio`.
    std::vector<std::string> mounts() {
        std::vector<std::string> found;
        std::string about = call(op::about);
        for (auto one : json::items(json::member(about, "mounts").value_or("[]"))) found.push_back(json::text(one));
        return found;
    }

    Response http(const Request &request) { return ask(request, {}); }
    // Before a body is read: status 100 with `body_limit`, or the refusal of the request.
    Response may_send(const Request &request) { return ask(request, R"(,"expect":"100-continue")"); }

    // For the functions of wfstudio.h. The engine is used from now on: the child of a fork opens another one.
    studio_engine *handle() const {
        host_->use();
        return handle_;
    }

private:
    Stream begin(std::string_view op, std::string_view request, std::string_view body = {}) {
        std::string name(op), text(request);
        if (calls_ == Calls::inside && (name == begin::run || name == begin::resume || name == begin::http)) {
            std::size_t last = text.find_last_not_of(" \r\n\t");
            if (last != std::string::npos && text[last] == '}') {
                std::size_t before = last == 0 ? last : text.find_last_not_of(" \r\n\t", last - 1);
                text.insert(last, text[before] == '{' ? R"("host_calls":"inline")" : R"(,"host_calls":"inline")");
            }
        }
        studio_stream *stream = nullptr;
        detail::Buffer out;
        host_->use();
        std::int32_t code = studio_start(handle_, name.c_str(), detail::bytes(text), text.size(), detail::bytes(body), body.size(), &stream, out.out());
        detail::check(code, out.view());
        return Stream(stream, host_);
    }

    Response ask(const Request &request, std::string_view more) {
        std::string head = "{\"method\":" + json::quote(request.method) + ",\"path\":" + json::quote(request.path) + ",\"query\":" + json::quote(request.query) + ",\"headers\":[";
        for (auto &[name, value] : request.headers) head += (head.back() == '[' ? "[" : ",[") + json::quote(name) + "," + json::quote(value) + "]";
        head += ']';
        if (!request.user.empty()) head += ",\"user\":" + request.user;
        if (!request.tenant.empty()) head += ",\"tenant\":" + json::quote(request.tenant);
        if (request.gate) head += *request.gate ? ",\"gate\":true" : ",\"gate\":false";
        if (request.authorized) head += ",\"authorized\":true";
        if (!request.base_url.empty()) head += ",\"base_url\":" + json::quote(request.base_url);
        head.append(more) += '}';
        if (calls_ == Calls::threads) {
            // It is answered on this thread as far as that goes: nothing has to be handed over and woken.
            studio_stream *stream = nullptr;
            detail::Buffer out;
            host_->use();
            std::int32_t code = studio_http(handle_, detail::bytes(head), head.size(), detail::bytes(request.body), request.body.size(), &stream, out.out());
            detail::check(code, out.view());
            return Response(Stream(stream, host_), out.view());
        }
        Stream stream = begin(begin::http, head, request.body);
        auto piece = stream.next();
        if (piece.code != STUDIO_HEAD) throw Error(STUDIO_INTERNAL, R"({"detail":"an answer without a head"})");
        return Response(std::move(stream), piece.bytes);
    }

    std::int32_t shut(std::uint32_t timeout_ms) {
        std::call_once(closing_, [&] {
            closed_ = studio_engine_close(handle_, timeout_ms);
            // In the child of a fork the threads are the parent's: nothing is waited for, no lock is taken, and the host stays where it is.
            if (closed_ == STUDIO_FORKED) new std::shared_ptr<detail::Host>(host_);
            else host_->end();
        });
        return closed_;
    }

    studio_engine *handle_ = nullptr;
    const Calls calls_;
    std::shared_ptr<detail::Host> host_;
    std::once_flag closing_;
    std::int32_t closed_ = STUDIO_OK;
};

}  // namespace studio

#endif
