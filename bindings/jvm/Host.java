// Owns the conformance host in Java: see bindings/conformance/README.md. SpringHost.java is the same in Spring Boot.

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import wfstudio.*;

public final class Host {
    static final String ORDER = "{\"type\":\"object\",\"properties\":{\"order_id\":{\"type\":\"string\"}},\"required\":[\"order_id\"]}";
    static final String REFUND = "{\"type\":\"object\",\"properties\":{\"order_id\":{\"type\":\"string\"},\"amount\":{\"type\":\"integer\"}},\"required\":[\"order_id\",\"amount\"]}";
    static final List<Object> JOURNAL = new ArrayList<>();
    static final Marks MARKS = Marks.user(request -> request.header("X-User") == null ? null : Map.of("id", request.header("X-User")))
        .gate(request -> request.header("X-Gate") == null ? null : request.header("X-Gate").equals("open"))
        .tenant(request -> request.header("X-Tenant")).authorized(request -> request.header("X-Authorized") != null);

    public static void main(String[] arguments) throws IOException {
        Studio studio = open();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 128);
        studio.mount(server, MARKS);
        server.createContext("/own", exchange -> {
            String path = exchange.getRequestURI().getPath();
            byte[] answer = own(studio, path, new String(exchange.getRequestBody().readAllBytes(), "UTF-8")).getBytes("UTF-8");
            exchange.getResponseHeaders().add("Content-Type", kind(path));
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
    }

    static Studio open() throws IOException {
        Studio studio = Studio.open(Files.readString(Path.of(System.getenv("CONFIG"))));
        tool(studio, Tool.named("lookup").description("Looks an order up").idempotent(), ORDER, call -> map("note", "Grüße, <b>&</b> 🌍", "order_id", call.get("order_id"), "status", "shipped"));
        tool(studio, Tool.named("refund").description("Pays an order back").requireApproval(), REFUND, call -> map("order_id", call.get("order_id"), "refunded", call.get("amount")));
        tool(studio, Tool.named("refuse").description("Always refuses"), ORDER, call -> { throw new HostFailure("the order is closed"); });
        tool(studio, Tool.named("explode").description("Always throws"), ORDER, call -> { throw new IllegalStateException("boom"); });
        tool(studio, Tool.named("slow").description("Takes its time").timeout(Duration.ofSeconds(20)), ORDER, call -> {
            try {
                Thread.sleep(15_000);
                return null;
            } catch (InterruptedException cancelled) { return journal("op", "cancelled", "name", "slow"); }
        });
        studio.gate(call -> {
            journal("op", "gate", "method", call.get("method"), "path", call.get("path"), "user", call.get("user"));
            return call.get("user") instanceof Map<?, ?> user && "ada".equals(user.get("id"));
        });
        studio.secrets((name, tenant) -> {
            journal("op", "secret.get", "name", name, "tenant", tenant);
            return name.equals("PEER_KEY") ? "key-of-the-peer" : null;
        });
        return studio.answer(Names.HostOp.PROVIDER_CHAT, call -> {
            Object last = ((List<?>) call.get("messages")).stream().map(Map.class::cast).filter(message -> "user".equals(message.get("role"))).reduce((one, next) -> next).orElseThrow().get("content");
            journal("op", "provider.chat", "model", call.get("model"), "last", last);
            if (!"parrot".equals(call.get("model"))) throw new HostFailure("the model is away");
            List.of("You ", "said: ", last).forEach(delta -> call.chunk(Map.of("delta", delta)));
            return map("message", map("role", "assistant", "content", "You said: " + last), "usage", map("prompt_tokens", 7, "completion_tokens", 5), "finish_reason", "stop");
        });
    }

    static void tool(Studio studio, Tool tool, String schema, HostFunction function) {
        studio.tool(tool.input(Json.object(schema)), call -> {
            journal("op", "tool.call", "name", call.payload().get("name"), "arguments", call.arguments(), "tenant", call.payload().get("tenant"), "user", call.user());
            return function.answer(call);
        });
    }

    static Object journal(Object... entry) {
        synchronized (JOURNAL) {
            return JOURNAL.add(map(entry));
        }
    }

    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int index = 0; index < pairs.length; index += 2) map.put((String) pairs[index], pairs[index + 1]);
        return map;
    }

    static String kind(String path) {
        return path.endsWith("/ping") ? "text/plain" : path.endsWith("/run") ? "application/x-ndjson" : "application/json";
    }

    static String own(Studio studio, String path, String body) {
        Map<String, Object> asked = Json.object(body);
        switch (path) {
            case "/own/journal":
                synchronized (JOURNAL) {
                    String told = Json.write(JOURNAL);
                    JOURNAL.clear();
                    return told;
                }
            case "/own/run": return run(studio, asked);
            case "/own/call": return call(studio, (String) asked.get("op"), Json.write(asked.get("request")));
            case "/own/close": studio.close(Duration.ofSeconds(2)); return "{\"closed\":true}";
            case "/own/crash": new Thread(() -> crash(asked.get("how"))).start(); return "{}";
            default: return "pong";
        }
    }

    static String call(Studio studio, String op, String request) {
        try {
            return Json.write(map("result", Json.read(studio.call(op, request))));
        } catch (StudioException failed) {
            return Json.write(map("error", failed.number(), "problem", failed.problem().get("code")));
        }
    }

    static String run(Studio studio, Map<String, Object> asked) {
        StringBuilder lines = new StringBuilder();
        Map<String, Object> request = Json.object(Json.write(asked.getOrDefault("run", asked.get("resume"))));
        try (Events events = asked.containsKey("run") ? studio.run(request) : studio.resume((String) request.get("trace_id"), request)) {
            boolean counts = Boolean.TRUE.equals(asked.get("count"));
            int counted = 0;
            int tokens = 0;
            for (Event event : events) {
                if (counts) {
                    counted++;
                    if (event.name().equals(Names.Event.TOKEN)) tokens++;
                    continue;
                }
                lines.append(Json.write(map("event", event.name(), "data", event.data()))).append('\n');
                if (event.name().equals(asked.get("leave_after"))) return lines + "{\"left\":true}\n";
                if (event.name().equals(asked.get("cancel_after")) && asked.remove("cancel_after") != null) events.cancel();
            }
            if (counts) lines.append(Json.write(map("counted", counted, "tokens", tokens))).append('\n');
            return lines + "{\"end\":true}\n";
        } catch (StudioException failed) {
            return lines + Json.write(map("error", failed.number(), "problem", failed.problem().get("code"))) + "\n";
        }
    }

    /** An exception that nobody catches ends its thread alone in Java; an application that wants to end by it says so. */
    static void crash(Object how) {
        if (how.equals("now")) Runtime.getRuntime().halt(70);
        if (how.equals("exit")) System.exit(0);
        Thread.currentThread().setUncaughtExceptionHandler((thread, thrown) -> System.exit(1));
        throw new IllegalStateException("on purpose");
    }
}
