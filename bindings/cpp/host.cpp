// The host of the conformance scenario, on libmicrohttpd: bindings/conformance/README.md says what it offers.
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <unistd.h>
#include <wfstudio_mhd.hpp>

namespace json = studio::json;
using namespace std::string_literals;
using namespace std::chrono_literals;

static std::mutex journal_lock;
static std::string journal;

static void note(const std::string &entry) {
    std::lock_guard lock(journal_lock);
    journal += (journal.empty() ? "" : ",") + entry;
}
// A member as it stands, or null.
static std::string raw(std::string_view object, std::string_view name) { return std::string(json::member(object, name).value_or("null")); }
static std::string text(std::string_view object, std::string_view name) { return json::text(json::member(object, name).value_or("")); }

static const std::string order = R"({"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]})";
static const std::string refund = R"({"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"integer"}},"required":["order_id","amount"]})";

static void tool(studio::Engine &engine, const std::string &name, const std::string &description, const std::string &schema, const std::string &more, studio::Answer does) {
    engine.tool(R"({"name":")" + name + R"(","description":")" + description + R"(","input_schema":)" + schema + more + "}", [name, does](const studio::Call &call) {
        note(R"({"op":"tool.call","name":")" + name + R"(","arguments":)" + raw(call, "arguments") + ",\"tenant\":" + raw(call, "tenant") + ",\"user\":" + raw(call, "user") + "}");
        return does(call);
    });
}
static std::string argument(const studio::Call &call, const char *name) { return raw(raw(call, "arguments"), name); }

static std::string chat(const studio::Call &call) {
    std::string last = "\"\"", model = text(call, "model");
    std::string messages = raw(call, "messages");  // what is found in it are views
    for (auto message : json::items(messages))
        if (text(message, "role") == "user") last = raw(message, "content");
    note(R"({"op":"provider.chat","model":)" + raw(call, "model") + ",\"last\":" + last + "}");
    if (model == "mute") throw std::runtime_error("the model is away");
    for (auto &part : {"\"You \""s, "\"said: \""s, last}) call.chunk("{\"delta\":" + part + "}");
    return R"({"message":{"role":"assistant","content":)" + json::quote("You said: " + json::text(last)) + R"(},"usage":{"prompt_tokens":7,"completion_tokens":5},"finish_reason":"stop"})";
}

static void declare(studio::Engine &engine) {
    tool(engine, "lookup", "Looks an order up", order, R"(,"idempotent":true)", [](const studio::Call &call) { return R"({"note":"Grüße, <b>&</b> 🌍","order_id":)" + argument(call, "order_id") + R"(,"status":"shipped"})"; });
    tool(engine, "refund", "Pays an order back", refund, R"(,"require_approval":true)", [](const studio::Call &call) { return "{\"order_id\":" + argument(call, "order_id") + ",\"refunded\":" + argument(call, "amount") + "}"; });
    tool(engine, "refuse", "Always refuses", order, "", [](const studio::Call &) -> std::string { throw std::runtime_error("the order is closed"); });
    tool(engine, "explode", "Always throws", order, "", [](const studio::Call &) -> std::string { throw std::logic_error("boom"); });
    tool(engine, "slow", "Takes its time", order, R"(,"timeout_ms":20000)", [](const studio::Call &call) {
        if (call.wait_for(15s)) note(R"({"op":"cancelled","name":"slow"})");
        return "null"s;
    });
    engine.answer(studio::host_op::gate, [](std::string_view call) {
        note(R"({"op":"gate","method":)" + raw(call, "method") + ",\"path\":" + raw(call, "path") + ",\"user\":" + raw(call, "user") + "}");
        return text(raw(call, "user"), "id") == "ada" ? R"({"allow":true})"s : R"({"allow":false})"s;
    });
    engine.answer(studio::host_op::secret_get, [](std::string_view call) {
        note(R"({"op":"secret.get","name":)" + raw(call, "name") + ",\"tenant\":" + raw(call, "tenant") + "}");
        if (text(call, "name") != "PEER_KEY") throw std::runtime_error("no such secret");
        return R"({"value":"key-of-the-peer"})"s;
    });
    engine.answer(studio::host_op::provider_chat, chat);
}

static void marks(studio::Request &request) {
    std::string user = studio::mhd::header(request, "x-user"), gate = studio::mhd::header(request, "x-gate");
    if (!user.empty()) request.user = "{\"id\":" + json::quote(user) + "}";
    if (!gate.empty()) request.gate = gate == "open";
    request.tenant = studio::mhd::header(request, "x-tenant");
    request.authorized = studio::mhd::header(request, "x-authorized") == "yes";
}

static std::string told(const studio::Error &error) {
    return "{\"error\":" + std::to_string(error.code) + ",\"problem\":" + (error.name().empty() ? "null"s : json::quote(error.name())) + "}";
}

static std::string run(studio::Engine &engine, std::string_view asked) {
    std::string lines, leave = text(asked, "leave_after"), cancel = text(asked, "cancel_after");
    try {
        auto resume = json::member(asked, "resume");
        studio::Events events = resume ? engine.resume(*resume) : engine.run(raw(asked, "run"));
        std::size_t counted = 0, tokens = 0;
        bool counts = raw(asked, "count") == "true";
        for (const studio::Event &event : events) {
            if (counts) {
                ++counted, tokens += event.name == "token";
                continue;
            }
            lines += "{\"event\":" + json::quote(event.name) + ",\"data\":" + event.data + "}\n";
            if (event.name == leave) return lines + "{\"left\":true}\n";
            if (event.name == cancel) cancel.clear(), events.cancel();
        }
        if (counts) lines += "{\"counted\":" + std::to_string(counted) + ",\"tokens\":" + std::to_string(tokens) + "}\n";
        return lines + "{\"end\":true}\n";
    } catch (const studio::Error &error) {
        return lines + told(error) + "\n";
    }
}

static studio::mhd::Reply own(studio::Engine &engine, const studio::Request &request) {
    if (request.path == "/own/ping") return {200, "pong", "text/plain"};
    if (request.path == "/own/run") return {200, run(engine, request.body), "application/x-ndjson"};
    if (request.path == "/own/journal") {
        std::lock_guard lock(journal_lock);
        return {200, "[" + std::exchange(journal, {}) + "]"};
    }
    try {
        if (request.path == "/own/call") return {200, "{\"result\":" + engine.call(text(request.body, "op"), json::member(request.body, "request").value_or("{}")) + "}"};
        if (request.path == "/own/close") engine.close(2000);
    } catch (const studio::Error &error) {
        if (request.path == "/own/call") return {200, told(error)};
    }
    if (request.path == "/own/close") return {200, R"({"closed":true})"};
    std::string how = text(request.body, "how");
    if (how == "now") _exit(70);
    if (how == "exit") {
        studio_shutdown(10000);
        std::exit(0);
    }
    if (how == "throw") std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
    return {404, "{}"};
}

int main() {
    std::ifstream file(std::getenv("CONFIG"));
    std::stringstream config;
    config << file.rdbuf();
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);
    std::set_terminate([] { std::_Exit(1); });  // an exception that nobody catches ends it without a signal
    studio::Engine engine{config.str()};
    declare(engine);
    studio::mhd::Server server{engine, static_cast<std::uint16_t>(std::atoi(std::getenv("PORT"))), marks, [&](const studio::Request &request) { return own(engine, request); }};
    int signal = 0;
    sigwait(&end, &signal);
    engine.close();
}
