// Owns the mount in libmicrohttpd: a server whose studio paths are answered by an engine, all others by the application.
#ifndef WFSTUDIO_MHD_HPP
#define WFSTUDIO_MHD_HPP

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <strings.h>

#include <cctype>
#include <cstring>

#include "wfstudio.hpp"

namespace studio::mhd {

// An answer of the application itself.
struct Reply {
    int status = 200;
    std::string body = {};
    std::string type = "application/json";
};
// Says who asks, before the studio answers: sets `user`, `gate`, `tenant`, `authorized`.
using Marks = std::function<void(Request &)>;
using Own = std::function<Reply(const Request &)>;

// The value of a header; empty when it is absent.
inline std::string header(const Request &request, const char *name) {
    for (auto &[key, value] : request.headers)
        if (strcasecmp(key.c_str(), name) == 0) return value;
    return {};
}

namespace detail {
// How many bytes the character at the beginning of `text` has in UTF-8; 0 where there is none (overlong forms and surrogates are none).
inline std::size_t character(std::string_view text) {
    auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    unsigned first = byte(0);
    if (first < 0x80) return 1;
    std::size_t length = first >= 0xc2 && first < 0xe0 ? 2 : first >> 4 == 14 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    for (std::size_t at = 1; at < length; at++)
        if (byte(at) >> 6 != 2) return 0;
    bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    bool no_character = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
    return overlong || no_character ? 0 : length;
}
inline bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        std::size_t length = character(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

// A header's value as UTF-8; old clients send Latin-1.
inline std::string readable(std::string_view value) {
    if (is_utf8(value)) return std::string(value);
    std::string text;
    for (unsigned char one : value) {
        if (one < 0x80) text += static_cast<char>(one);
        else (text += static_cast<char>(0xc0 | one >> 6)) += static_cast<char>(0x80 | (one & 0x3f));
    }
    return text;
}

inline void escape(std::string &text, unsigned char one) {
    static constexpr char hex[] = "0123456789ABCDEF";
    ((text += '%') += hex[one >> 4]) += hex[one & 15];
}
// What may not stand in a request line is escaped; some clients send it all the same.
inline std::string escaped(std::string_view raw) {
    std::string text;
    for (unsigned char one : raw) {
        if (one > ' ' && one < 127 && std::strchr("\"<>\\^`{|}", one) == nullptr) text += static_cast<char>(one);
        else escape(text, one);
    }
    return text;
}
// The byte that `%` and two digits stand for; -1 where they are none.
inline int unescaped(std::string_view three) {
    if (three.size() < 3 || !std::isxdigit(static_cast<unsigned char>(three[1])) || !std::isxdigit(static_cast<unsigned char>(three[2]))) return -1;
    return std::stoi(std::string(three.substr(1, 2)), nullptr, 16);
}
}  // namespace detail

// A path, or a part of it, without its escapes; none where it is no UTF-8 or an escape is broken. Split a path at its slashes first: `%2F` is none.
inline std::optional<std::string> decoded(std::string_view path) {
    std::string text;
    for (std::size_t at = 0; at < path.size(); at++) {
        int one = path[at] == '%' ? detail::unescaped(path.substr(at)) : static_cast<unsigned char>(path[at]);
        if (one < 0) return std::nullopt;
        if (path[at] == '%') at += 2;
        text += static_cast<char>(one);
    }
    return detail::is_utf8(text) ? std::optional(std::move(text)) : std::nullopt;
}
// A path as its equals are written too: escaped is what must be, `%70` is `p`, digits are large. None where `decoded` has none.
inline std::optional<std::string> normal(std::string_view path) {
    if (!decoded(path)) return std::nullopt;
    std::string text;
    for (std::size_t at = 0; at < path.size(); at++) {
        if (path[at] != '%') {
            text += detail::escaped(path.substr(at, 1));
            continue;
        }
        int one = detail::unescaped(path.substr(at));
        if ((one < 0x80 && std::isalnum(one)) || (one != 0 && std::strchr("-._~", one) != nullptr)) text += static_cast<char>(one);
        else detail::escape(text, static_cast<unsigned char>(one));
        at += 2;
    }
    return text;
}

// The largest body of a request for the host's own paths; the engine says how large those of the studio may be.
constexpr std::uint64_t own_body_limit = 16 * 1024 * 1024;

// Listens on 127.0.0.1 until it is destroyed; close the engine first, so that no connection waits for more.
class Server {
public:
    Server(Engine &engine, std::uint16_t port, Marks marks = {}, Own own = {})
        : engine_(engine), prefixes_(engine.mounts()), marks_(std::move(marks)), own_(std::move(own)) {
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_port = htons(port);
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        // Requests are worked on by the threads of their connections: those of musl are small.
        std::size_t stack = 0;
        pthread_attr_t usual;
        if (pthread_attr_init(&usual) == 0) pthread_attr_getstacksize(&usual, &stack), pthread_attr_destroy(&usual);
        stack = std::max<std::size_t>(stack, 1024 * 1024);
        daemon_ = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr, nullptr, answered, this, MHD_OPTION_SOCK_ADDR, &here,
                                   MHD_OPTION_URI_LOG_CALLBACK, arrived, nullptr, MHD_OPTION_NOTIFY_COMPLETED, done, nullptr,
                                   MHD_OPTION_THREAD_STACK_SIZE, stack, MHD_OPTION_END);
        if (daemon_ == nullptr) throw std::runtime_error("the server cannot listen on port " + std::to_string(port));
    }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server() { MHD_stop_daemon(daemon_); }

private:
    // One request while its body arrives.
    struct Exchange {
        std::string target;  // as the client sent it
        Request request;
        bool begun = false, studio = false, too_long = false, unreadable = false;
        std::uint64_t limit = UINT64_MAX;
        std::optional<Response> refused;
    };
    struct Body {
        Response response;
        std::string piece;
        bool events;  // they are whole, and their readers come again with the position that they have
    };

    static void *arrived(void *, const char *uri, MHD_Connection *) { return new Exchange{uri, {}, false, false, false, false, UINT64_MAX, {}}; }
    static void done(void *, MHD_Connection *, void **state, MHD_RequestTerminationCode) { delete static_cast<Exchange *>(*state); }
    static MHD_Result pair(void *into, MHD_ValueKind, const char *name, const char *value) {
        static_cast<Request *>(into)->headers.emplace_back(name, value == nullptr ? "" : detail::readable(value));
        return MHD_YES;
    }

    static MHD_Result answered(void *self, MHD_Connection *connection, const char *, const char *method, const char *, const char *part, std::size_t *part_len, void **state) {
        auto &server = *static_cast<Server *>(self);
        auto &exchange = *static_cast<Exchange *>(*state);
        try {
            if (!std::exchange(exchange.begun, true)) {
                server.begin(exchange, connection, method);
                return MHD_YES;
            }
            if (*part_len > 0) {
                exchange.too_long = exchange.too_long || exchange.request.body.size() + *part_len > exchange.limit;
                if (!exchange.too_long && !exchange.refused) exchange.request.body.append(part, *part_len);
                *part_len = 0;
                return MHD_YES;
            }
            return server.finish(exchange, connection);
        } catch (const Error &error) {
            bool closed = error.code == STUDIO_CLOSED || error.code == STUDIO_BAD_HANDLE;
            return reply(connection, problem(closed ? 503 : 400, error.what()));
        } catch (const std::exception &error) {
            return reply(connection, problem(500, error.what()));
        } catch (...) {
            return reply(connection, problem(500, "the host threw what is no std::exception"));
        }
    }

    // The engine says first whether the request may come in at all, and how long its body may be.
    void begin(Exchange &exchange, MHD_Connection *connection, const char *method) {
        auto &request = exchange.request;
        std::size_t path = exchange.target.find('?');
        request.method = method;
        auto whole = normal(std::string_view(exchange.target).substr(0, path));
        request.path = whole ? std::move(*whole) : detail::escaped(std::string_view(exchange.target).substr(0, path));
        if (path != std::string::npos) request.query = detail::escaped(std::string_view(exchange.target).substr(path + 1));
        MHD_get_connection_values(connection, MHD_HEADER_KIND, pair, &request);
        for (const std::string &prefix : prefixes_) exchange.studio = exchange.studio || request.path == prefix || request.path.rfind(prefix + "/", 0) == 0;
        if (!exchange.studio) {
            exchange.limit = own_body_limit;
            exchange.unreadable = !whole;
            return;
        }
        if (marks_) marks_(request);
        if (header(request, "content-length").empty() && header(request, "transfer-encoding").empty()) return;
        Response first = engine_.may_send(request);
        if (first.status == 100) exchange.limit = first.body_limit;
        else exchange.refused = std::move(first);
    }

    MHD_Result finish(Exchange &exchange, MHD_Connection *connection) {
        if (exchange.too_long && !exchange.refused) {
            return reply(connection, problem(413, "the body is longer than " + std::to_string(exchange.limit) + " bytes; nothing was done"));
        }
        if (exchange.unreadable) return reply(connection, problem(400, "the path is no UTF-8, or has a `%` without two hexadecimal digits; nothing was done"));
        if (!exchange.studio) return reply(connection, own_ ? own_(exchange.request) : problem(404, "there is no such page"));
        auto body = std::make_unique<Body>(Body{exchange.refused ? std::move(*exchange.refused) : engine_.http(exchange.request), {}, false});
        int status = body->response.status;
        Headers headers = body->response.headers;
        std::uint64_t length = MHD_SIZE_UNKNOWN;
        for (auto &[name, value] : headers) {
            if (strcasecmp(name.c_str(), "content-length") == 0) length = std::strtoull(value.c_str(), nullptr, 10);
            if (strcasecmp(name.c_str(), "content-type") == 0) body->events = value.rfind("text/event-stream", 0) == 0;
        }
        // A head alone tells the length of the body that it has not.
        if (exchange.request.method == "HEAD" && length != MHD_SIZE_UNKNOWN) return send(connection, status, headers, streamed(length, std::move(body)));
        // A short answer is sent with its length, a stream as it comes.
        auto piece = body->response.next(0);
        std::string first = std::move(piece.bytes);
        if (piece.code == STUDIO_OK) {
            piece = body->response.next(0);
            first += piece.bytes;
        }
        if (piece.code == STUDIO_END)
            return send(connection, status, headers, MHD_create_response_from_buffer(first.size(), first.data(), MHD_RESPMEM_MUST_COPY));
        body->piece = std::move(first);
        return send(connection, status, headers, streamed(length, std::move(body)));
    }

    static MHD_Response *streamed(std::uint64_t length, std::unique_ptr<Body> body) {
        return MHD_create_response_from_callback(length, 64 * 1024, more, body.release(), [](void *state) { delete static_cast<Body *>(state); });
    }
    static MHD_Result send(MHD_Connection *connection, int status, const Headers &headers, MHD_Response *response) {
        for (auto &[name, value] : headers)
            if (strcasecmp(name.c_str(), "content-length") != 0) MHD_add_response_header(response, name.c_str(), value.c_str());
        MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(status), response);
        MHD_destroy_response(response);
        return queued;
    }

    // Waits no longer than a moment, so that a client that has gone is noticed.
    static ssize_t more(void *state, std::uint64_t, char *into, std::size_t room) {
        auto &body = *static_cast<Body *>(state);
        try {
            if (body.piece.empty()) {
                auto next = body.response.next(500);
                if (next.code == STUDIO_END) return MHD_CONTENT_READER_END_OF_STREAM;
                body.piece = std::move(next.bytes);
            }
        } catch (const Error &error) {
            return error.code == STUDIO_CLOSED && body.events ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
        } catch (...) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        std::size_t sent = std::min(room, body.piece.size());
        std::memcpy(into, body.piece.data(), sent);
        body.piece.erase(0, sent);
        return static_cast<ssize_t>(sent);
    }

    static Reply problem(int status, std::string_view text) {
        return {status, R"({"type":"about:blank","status":)" + std::to_string(status) + ",\"detail\":" + json::quote(detail::readable(text)) + "}", "application/problem+json"};
    }
    static MHD_Result reply(MHD_Connection *connection, const Reply &said) {
        auto *response = MHD_create_response_from_buffer(said.body.size(), const_cast<char *>(said.body.data()), MHD_RESPMEM_MUST_COPY);
        MHD_add_response_header(response, "content-type", said.type.c_str());
        MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(said.status), response);
        MHD_destroy_response(response);
        return queued;
    }

    Engine &engine_;
    const std::vector<std::string> prefixes_;
    Marks marks_;
    Own own_;
    MHD_Daemon *daemon_;
};

}  // namespace studio::mhd

#endif
