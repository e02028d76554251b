// Owns proof of the mount in libmicrohttpd over real connections: HEAD, and paths as clients write them.
#include <unistd.h>
#include <wfstudio_mhd.hpp>

#include "check.hpp"

using namespace std::string_literals;

static std::uint16_t port;

// The whole answer to one request, head and body.
static std::string ask(const std::string &line) {
    int here = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(connect(here, reinterpret_cast<sockaddr *>(&there), sizeof there) == 0);
    std::string request = line + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", answer;
    CHECK(write(here, request.data(), request.size()) == static_cast<ssize_t>(request.size()));
    char part[65536];
    for (ssize_t got; (got = read(here, part, sizeof part)) > 0;) answer.append(part, static_cast<std::size_t>(got));
    close(here);
    return answer;
}
static int status(const std::string &answer) { return std::atoi(answer.c_str() + answer.find(' ')); }
static std::string body(const std::string &answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
static bool tells(const std::string &answer, std::size_t length) {
    return answer.find("Content-Length: " + std::to_string(length) + "\r\n") != std::string::npos;
}

static void a_head_alone_tells_the_length_of_the_whole() {
    for (auto path : {"/studio/api/settings"s, "/studio/workflows"s, "/studio/api/none"s, "/own/ping"s, "/own/%FF"s}) {
        std::string whole = ask("GET " + path), head = ask("HEAD " + path);
        CHECK(status(head) == status(whole) && !body(whole).empty() && body(head).empty());
        CHECK(tells(whole, body(whole).size()) && tells(head, body(whole).size()));
    }
}

static void own_paths_have_one_form() {
    CHECK(body(ask("GET /own/ping")) == "/own/ping" && body(ask("GET /%6Fwn/%70in%67")) == "/own/ping");
    CHECK(body(ask("GET /own/a%2fb%20c")) == "/own/a%2Fb%20c" && body(ask("GET /own/a%25b")) == "/own/a%25b");
    CHECK(body(ask("GET /own/\xc3\xa9|")) == "/own/%C3%A9%7C" && body(ask("GET /own/%c3%a9%7c")) == "/own/%C3%A9%7C");
    CHECK(status(ask("GET /%73tudio/api/settings")) == 200);
}

static void paths_that_are_no_text_are_refused() {
    for (auto bad : {"%C0%AF", "%E0%80%AF", "%F0%80%80%AF", "%ED%A0%80", "%F4%90%80%80", "%FF", "%C3", "%C3x", "%80",
                     "\xc0\xaf", "\xe9", "%", "%4", "%zz", "%%41"}) {
        std::string own = ask("GET /own/"s + bad), studio = ask("GET /studio/api/workflows/"s + bad);
        CHECK(status(own) == 400 && own.find("application/problem+json") != std::string::npos);
        CHECK(status(studio) == 404);
        CHECK(!studio::mhd::decoded(bad) && !studio::mhd::normal(bad));
    }
    CHECK(studio::mhd::decoded("/a%2Fb%F0%9F%8C%8D%ed%9f%bf") == "/a/b\xf0\x9f\x8c\x8d\xed\x9f\xbf" && studio::mhd::decoded("") == "");
}

static void headers_are_text() {
    using studio::mhd::detail::readable;
    CHECK(readable("caf\xe9") == "caf\xc3\xa9" && readable("caf\xc3\xa9") == "caf\xc3\xa9" && readable("\xc3") == "\xc3\x83" && readable("plain") == "plain");
    CHECK(readable("\xe0\x80\x80") == "\xc3\xa0\xc2\x80\xc2\x80" && readable("\xed\xa0\x80") == "\xc3\xad\xc2\xa0\xc2\x80");
    CHECK(studio::mhd::detail::escaped("/a%2Fb c\xc3\xa9\"") == "/a%2Fb%20c%C3%A9%22");
}

static void what_the_host_throws_is_an_answer() {
    for (std::string thrown : {"std", "odd", "mark"}) {
        std::string told = ask("GET " + (thrown == "mark" ? "/studio/workflows"s : "/own/throws"s) + "?" + thrown);
        CHECK(status(told) == 500 && told.find("application/problem+json") != std::string::npos);
        CHECK(studio::mhd::detail::is_utf8(body(told)) && body(told).find(thrown == "std" ? "f\xc3\xbcr 5" : "no std::exception") != std::string::npos);
    }
    CHECK(status(ask("GET /own/ping")) == 200);
}

int main() {
#ifdef __GLIBC__
    // Threads as small as those of musl are by default.
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 128 * 1024) == 0 && pthread_setattr_default_np(&small) == 0);
#endif
    studio::Engine engine{config("mhd.sqlite")};
    std::optional<studio::mhd::Server> server;
    for (port = 20000 + static_cast<std::uint16_t>(getpid() % 20000); !server; port++) {
        try {
            auto marks = [](studio::Request &request) {
                if (request.query == "mark") throw 5;
                request.gate = true;
            };
            server.emplace(engine, port, marks, [](const studio::Request &request) {
                if (request.query == "std") throw std::runtime_error("f\xfcr 5");
                if (request.query == "odd") throw 5;
                return studio::mhd::Reply{200, request.path, "text/plain"};
            });
            break;
        } catch (const std::runtime_error &) {
            // another program has that port
        }
    }
    headers_are_text();
    a_head_alone_tells_the_length_of_the_whole();
    own_paths_have_one_form();
    paths_that_are_no_text_are_refused();
    what_the_host_throws_is_an_answer();
    engine.close();
    std::puts("the mount in libmicrohttpd is as promised");
}
