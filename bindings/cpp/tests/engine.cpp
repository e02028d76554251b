// Owns proof of the C++ header: events, tools by threads and inside streams, errors, HTTP, cancels, closing at any moment.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wfstudio.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "check.hpp"

using namespace std::string_literals;
using namespace std::chrono_literals;
namespace json = studio::json;

static std::vector<studio::Event> all(studio::Events events) {
    std::vector<studio::Event> found;
    for (const studio::Event &event : events) found.push_back(event);
    return found;
}
static const studio::Event *named(const std::vector<studio::Event> &events, std::string_view name) {
    for (auto &event : events)
        if (event.name == name) return &event;
    return nullptr;
}

static void reads_json() {
    std::string text = R"( {"a":"x\"},{","b" : {"c":[1,"]",{"d":null}]},"é\n":"\ud83c\udf0d\u00fc","n":-12.5e3} )";
    CHECK(json::text(*json::member(text, "a")) == "x\"},{");
    CHECK(*json::member(*json::member(text, "b"), "c") == R"([1,"]",{"d":null}])");
    CHECK(json::items(*json::member(*json::member(text, "b"), "c")).size() == 3);
    CHECK(json::text(*json::member(text, "é\n")) == "🌍ü");
    CHECK(*json::member(text, "n") == "-12.5e3");
    CHECK(!json::member(text, "c") && !json::member("[1]", "a") && !json::member("", "a") && !json::member("{\"a\"", "a"));
    CHECK(json::quote("\"\\\n\x01ü") == "\"\\\"\\\\\\u000a\\u0001ü\"" && json::items("[]").empty());
    CHECK(json::text(json::quote("\"\\\n\x01ü")) == "\"\\\n\x01ü");
}

static void runs_and_answers() {
    studio::Engine engine{config("engine.sqlite")};
    engine.call(studio::op::workflow_save, workflow("echo", echo_node()));
    auto events = all(engine.run(R"({"workflow":"echo","message":"hi"})"));
    CHECK(!events.empty() && events.front().name == studio::event_name::thread && named(events, studio::event_name::trace_completed));
    CHECK(!events.front().id.empty() && events.front().data.front() == '{');

    CHECK_THROWS(STUDIO_NOT_FOUND, engine.call(studio::op::trace_get, R"({"trace_id":"00000000-0000-7000-8000-000000000000"})"));
    CHECK_THROWS(STUDIO_INVALID, engine.call(studio::op::trace_get, "{"));
    CHECK_THROWS(STUDIO_NOT_FOUND, all(engine.run(R"({"workflow":"none","message":"hi"})")));
    try {
        engine.call(studio::op::trace_get, R"({"trace_id":"00000000-0000-7000-8000-000000000000"})");
    } catch (const studio::Error &error) {
        CHECK(error.name() == "not_found" && error.what()[0] != 0);
    }
}

// What was told of calls last.
static std::string told;
extern "C" std::int32_t studio_host_complete(studio_engine *engine, std::uint64_t call, std::int32_t ok, const std::uint8_t *data, std::size_t size) {
    static auto real = reinterpret_cast<decltype(&studio_host_complete)>(dlsym(RTLD_NEXT, "studio_host_complete"));
    if (ok == 0) told.assign(reinterpret_cast<const char *>(data), size);
    return real(engine, call, ok, data, size);
}

static void tools_are_functions(studio::Calls calls) {
    studio::Engine engine{config(calls == studio::Calls::inside ? "inside.sqlite" : "threads.sqlite"), calls};
    engine.tool(R"({"name":"good"})", [](std::string_view call) { return "{\"got\":" + json::quote(json::text(*json::member(call, "name"))) + "}"; });
    engine.tool(R"({"name":"bad"})", [](std::string_view) -> std::string { throw std::runtime_error("the till is empty"); });
    engine.tool(R"({"name":"odd"})", [](std::string_view) { return "no json"s; });
    engine.tool(R"({"name":"mute","timeout_ms":60000})", [](std::string_view) -> std::string { throw std::runtime_error("f\xfcr 5 \xa4"); });
    for (std::string tool : {"good", "bad", "odd", "mute"}) engine.call(studio::op::workflow_save, workflow(tool, tool_node(tool)));
    CHECK(named(all(engine.run(R"({"workflow":"good","message":"hi"})")), studio::event_name::trace_completed));
    auto bad = all(engine.run(R"({"workflow":"bad","message":"hi"} )"));
    CHECK(bad.back().data.find("the till is empty") != std::string::npos && told.find("\"ran\"") == std::string::npos);
    auto odd = all(engine.run(R"({"workflow":"odd","message":"hi"})"));
    CHECK(odd.back().data.find("no JSON") != std::string::npos && told.find("the tool ran") != std::string::npos && told.find("\"ran\":true") != std::string::npos);
    // A failure whose text is no UTF-8 is told at once all the same.
    auto began = std::chrono::steady_clock::now();
    CHECK(named(all(engine.run(R"({"workflow":"mute","message":"hi"})")), studio::event_name::trace_failed) && std::chrono::steady_clock::now() - began < 50s);
    CHECK_THROWS(STUDIO_INVALID, (engine.tool("{}", [](std::string_view) { return "1"s; }), 0));
}

// A tool that waits keeps neither a cancel nor another tool from being taken.
static void a_cancel_reaches_a_tool_that_waits() {
    studio::Engine engine{config("cancel.sqlite")};
    std::atomic<int> begun{0}, cancelled{0};
    engine.tool(R"({"name":"slow"})", [&](const studio::Call &call) {
        begun++;
        if (call.wait_for(20s)) cancelled++;
        return "null"s;
    });
    engine.call(studio::op::workflow_save, workflow("slow", tool_node("slow")));
    std::vector<std::thread> runs;
    for (int i = 0; i < 8; i++) {
        runs.emplace_back([&] {
            studio::Events events = engine.run(R"({"workflow":"slow","message":"hi"})");
            bool asked = false;
            std::string last;
            for (const studio::Event &event : events) {
                while (begun < 8) std::this_thread::sleep_for(1ms);
                if (!std::exchange(asked, true)) events.cancel();
                last = event.name;
            }
            CHECK(asked);
        });
    }
    for (auto &run : runs) run.join();
    auto begin = std::chrono::steady_clock::now();
    engine.close();
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(cancelled == 8);
}

// A call that was cancelled before a thread came to it.
static void an_unwanted_call_is_not_begun() {
    studio::Engine engine{config("unwanted.sqlite")};
    auto host = std::make_shared<studio::detail::Host>(engine.handle(), studio::Calls::inside);
    bool ran = false;
    host->declare("secret.get", {}, [&](const studio::Call &) { ran = true; return "null"s; });
    auto call = std::make_shared<studio::Call>(engine.handle(), R"({"op":"secret.get","call_id":7,"payload":{}})");
    CHECK(host->take(call) && !host->take(std::make_shared<studio::Call>(engine.handle(), R"({"op":"tool.cancel","call_id":8,"payload":{"cancels":7}})")));
    host->answer(call);
    CHECK(!ran && call->cancelled());
    host->end();
}

// Threads of the standard library cannot be made while this says so; those of the engine can.
static std::atomic<bool> no_threads{false};
extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *with) {
    Dl_info from{};
    if (no_threads && dladdr(reinterpret_cast<void *>(work), &from) && std::strstr(from.dli_fname, "libstdc++")) return EAGAIN;
    static auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, how, work, with);
}

static void a_call_without_a_thread_fails_alone() {
    studio::Engine engine{config("threadless.sqlite")};
    engine.tool(R"({"name":"good"})", [](std::string_view) { return "1"s; });
    engine.call(studio::op::workflow_save, workflow("good", tool_node("good")));
    no_threads = true;
    auto failed = all(engine.run(R"({"workflow":"good","message":"hi"})"));
    no_threads = false;
    CHECK(failed.back().data.find("no thread for the call") != std::string::npos);
    CHECK(named(all(engine.run(R"({"workflow":"good","message":"hi"})")), studio::event_name::trace_completed));
}

static void prefixes_are_asked() {
    studio::Engine engine{R"({"environment":"local","route_prefix":"shop/studio","database":{"path":"prefix.sqlite"}})"};
    bool found = false;
    for (auto &prefix : engine.mounts()) found = found || prefix == "/shop/studio";
    CHECK(found);
}

static void mounts() {
    studio::Engine engine{config("http.sqlite")};
    engine.call(studio::op::workflow_save, workflow("echo", echo_node()));
    studio::Request request;
    request.path = "/studio/api/workflows";
    request.gate = true;
    request.user = R"({"id":"7"})";
    auto page = engine.http(request);
    CHECK(page.status == 200 && page.text().find("\"echo\"") != std::string::npos && !page.headers.empty());
    CHECK(page.stream().next(0).code == STUDIO_END);
    page.stream().cancel();
    request.gate = false;
    CHECK(engine.http(request).status == 403);
    request.gate = true;
    request.method = "POST";
    request.path = "/studio/workflows/echo/run/stream";
    request.headers = {{"content-type", "application/json"}, {"x-requested-with", "test"}};
    auto limit = engine.may_send(request);
    CHECK(limit.status == 100 && limit.body_limit > 1000);
    request.body = R"({"message":"over the wire"})";
    auto stream = engine.http(request);
    CHECK(stream.status == 200 && stream.text().find("event: trace_completed") != std::string::npos);
    request.body = R"({"message":)";
    CHECK(engine.http(request).text().find("malformed_json") != std::string::npos);
}

// Close during a wait, twice, and after: an error or the end, never a crash or a hang.
static void closing_is_safe_at_any_moment() {
    studio::Engine engine{config("close.sqlite")};
    engine.call(studio::op::workflow_save, workflow("ask", human_node()));
    engine.tool(R"({"name":"slow"})", [](const studio::Call &call) { return call.wait_for(20s) ? "1"s : "2"s; });
    engine.call(studio::op::workflow_save, workflow("slow", tool_node("slow")));
    for (int i = 0; i < 50; i++) {
        studio::Events events = engine.run(R"({"workflow":"ask","message":"hi"})");
        std::thread reader([&] {
            try {
                while (events.next()) {}
            } catch (const studio::Error &error) {
                CHECK(error.code == STUDIO_CLOSED || error.code == STUDIO_BAD_HANDLE);
            }
        });
        std::this_thread::sleep_for(std::chrono::microseconds(i * 200));
        events.close();
        events.close();
        reader.join();
        CHECK_THROWS(STUDIO_CLOSED, events.next());
    }
    studio::Events open = engine.run(R"({"workflow":"slow","message":"hi"})");
    std::thread closer([&] {
        std::this_thread::sleep_for(100ms);
        engine.close(500);
    });
    try {
        while (open.next()) {}
    } catch (const studio::Error &error) {
        CHECK(error.code == STUDIO_CLOSED);
    }
    closer.join();
    engine.close(500);
    CHECK_THROWS(STUDIO_CLOSED, engine.call(studio::op::health));
}

// What a child does, and whether it ended well.
static bool child(const std::function<void()> &work) {
    pid_t process = fork();
    if (process == 0) {
        alarm(20);
        work();
        _exit(0);
    }
    int status = -1;
    waitpid(process, &status, 0);
    return status == 0;
}

// An engine that was opened before a fork and is used after it answers with its tools.
static void a_child_may_be_the_first_to_use_an_engine() {
    auto engine = std::make_unique<studio::Engine>(config("child.sqlite"));
    engine->tool(R"({"name":"good","timeout_ms":15000})", [](std::string_view) { return "1"s; });
    CHECK(child([&] {
        engine->call(studio::op::workflow_save, workflow("good", tool_node("good")));
        CHECK(named(all(engine->run(R"({"workflow":"good","message":"hi"})")), studio::event_name::trace_completed));
        engine.reset();
    }));
    CHECK(named(all(engine->run(R"({"workflow":"good","message":"hi"})")), studio::event_name::trace_completed));
}

// An engine that the parent uses, with tools that run, is let go in a child without a wait.
static void a_child_lets_go_of_the_engine_of_its_parent() {
    auto engine = std::make_unique<studio::Engine>(config("parent.sqlite"));
    std::atomic<bool> leave{false};
    engine->tool(R"({"name":"slow"})", [&](const studio::Call &call) {
        while (!leave && !call.wait_for(20ms)) {}
        return "1"s;
    });
    engine->call(studio::op::workflow_save, workflow("slow", tool_node("slow")));
    std::vector<std::thread> runs;
    for (int i = 0; i < 4; i++) runs.emplace_back([&] { all(engine->run(R"({"workflow":"slow","message":"hi"})")); });
    for (int i = 0; i < 10; i++) {
        std::this_thread::sleep_for(30ms);
        CHECK(child([&] {
            CHECK_THROWS(STUDIO_FORKED, engine->call(studio::op::health));
            CHECK_THROWS(STUDIO_FORKED, (engine->close(), 0));
            engine.reset();
        }));
    }
    leave = true;
    for (auto &run : runs) run.join();
}

int main() {
    reads_json();
    runs_and_answers();
    tools_are_functions(studio::Calls::threads);
    tools_are_functions(studio::Calls::inside);
    a_cancel_reaches_a_tool_that_waits();
    an_unwanted_call_is_not_begun();
    a_call_without_a_thread_fails_alone();
    prefixes_are_asked();
    mounts();
    closing_is_safe_at_any_moment();
    a_child_may_be_the_first_to_use_an_engine();
    a_child_lets_go_of_the_engine_of_its_parent();
    std::puts("the C++ header is as promised");
}
