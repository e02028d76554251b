// Owns the studio as an application sees it: opened, called, run, mounted, closed.

package wfstudio;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/** Workflow Studio in this process. Any method may be called from any thread, virtual ones too. */
public final class Studio implements AutoCloseable {
    private static final Duration LEAVE = Duration.ofSeconds(10);

    private final Engine engine;
    private final HostCalls host;

    private Studio(String config, Executor tools) {
        engine = new Engine(config);
        host = new HostCalls(engine, tools);
    }

    /** Opens a studio with the keys of the configuration, dotted ones nested. */
    public static Studio open(Map<String, ?> config) {
        return new Studio(Json.write(config), null);
    }

    /** The same with the configuration as JSON. */
    public static Studio open(String config) {
        return new Studio(config, null);
    }

    /** The same, with tools on an executor of the application. */
    public static Studio open(Map<String, ?> config, Executor tools) {
        return new Studio(Json.write(config), tools);
    }

    /** Starts the workers of this process: a studio that is only opened takes no run until it is asked for something. */
    public void start() {
        call(Names.Op.START, Map.of());
    }

    /** Declares a tool of the application. Declare tools before what uses them is run. */
    public Studio tool(Tool tool, HostFunction function) {
        host.tool(tool, function);
        return this;
    }

    /** Declares a tool whose arguments are the components of a record; its schema follows from them. */
    public <R extends Record> Studio tool(Tool tool, Class<R> arguments, Function<? super R, ?> function) {
        return tool(tool.has("input_schema") ? tool : tool.input(arguments), call -> function.apply(call.as(arguments)));
    }

    /** Declares what answers an op of {@link Names.HostOp} other than tools. */
    public Studio answer(String op, HostFunction function) {
        host.answer(op, function);
        return this;
    }

    /** Asks the application who may enter, about requests whose mark does not say it; it is given {@code gate, user, tenant, method, path}. */
    public Studio gate(Function<Map<String, Object>, Boolean> allows) {
        return answer(Names.HostOp.GATE, call -> Map.of("allow", allows.apply(call.payload())));
    }

    /** Asks the application for secrets, by name and tenant; null when there is none. */
    public Studio secrets(BiFunction<String, String, String> find) {
        return answer(Names.HostOp.SECRET_GET, call -> {
            Optional<String> found = Optional.ofNullable(find.apply((String) call.get("name"), call.tenant()));
            return Map.of("value", found.orElseThrow(() -> new HostFailure("no such secret")));
        });
    }

    /** Tells what each run used, again until it was taken without an exception. */
    public Studio usageRecorded(Consumer<Map<String, Object>> taken) {
        return answer(Names.HostOp.USAGE_RECORDED, call -> {
            taken.accept(call.payload());
            return null;
        });
    }

    /** Declares output schemas by name. */
    public Studio schemas(Map<String, ?> schemas) {
        host.schemas(schemas);
        return this;
    }

    /** Registers classes with the contract {@link StudioWorkflow}, {@link StudioAgent} or {@link StudioTool}: they are listed and run, and nobody can write them in the studio. */
    public Studio register(Class<?>... classes) {
        for (Class<?> type : classes) {
            register(type.getName(), Contracts.definition(type));
        }
        return this;
    }

    /** Registers a definition by the name of a class. */
    public Studio register(String name, Map<String, ?> definition) {
        call(Names.Op.CLASS_REGISTER, Map.of("class", name, "definition", definition));
        return this;
    }

    /** One operation of {@link Names.Op}, such as {@code trace.list}. */
    public Map<String, Object> call(String op, Map<String, ?> request) {
        return Json.object(call(op, Json.write(request)));
    }

    /** The same with JSON. */
    public String call(String op, String request) {
        try (Answer answer = engine.start(op, request, null)) {
            return new String(answer.head(), StandardCharsets.UTF_8);
        }
    }

    /** Runs a workflow and gives its events. */
    public Events run(String workflow, String message) {
        return run(Map.of("workflow", workflow, "message", message));
    }

    /** Runs a {@code workflow} or a turn of an {@code agent}. */
    public Events run(Map<String, ?> request) {
        return new Events(engine.start(Names.Op.RUN, Json.write(request), null));
    }

    /** Answers a pause and gives the events that follow. */
    public Events resume(String traceId, Map<String, ?> answer) {
        Map<String, Object> request = new LinkedHashMap<>(answer);
        request.put("trace_id", traceId);
        return new Events(engine.start(Names.Op.RESUME, Json.write(request), null));
    }

    /** The trace of a run. */
    public Map<String, Object> trace(String traceId) {
        return call(Names.Op.TRACE_GET, Map.of("trace_id", traceId));
    }

    /** Cancels a run. */
    public Map<String, Object> cancel(String traceId) {
        return call(Names.Op.RUN_CANCEL, Map.of("trace_id", traceId));
    }

    /** What runs used and cost. */
    public Map<String, Object> usage(Map<String, ?> query) {
        return call(Names.Op.USAGE_QUERY, query);
    }

    /** One HTTP request in the engine's own form; mounts use it. */
    public HttpAnswer http(Map<String, ?> head, byte[] body) {
        return new HttpAnswer(engine.start(Names.Op.HTTP, Json.write(head), body));
    }

    /** The paths that the studio answers below: with the default configuration {@code /studio} and {@code /api/studio}. */
    @SuppressWarnings("unchecked")
    public List<String> mounts() {
        return (List<String>) call(Names.Op.ABOUT, Map.of()).get("mounts");
    }

    /** Mounts the studio in the JDK's HTTP server; mount it before the server is started. */
    public void mount(com.sun.net.httpserver.HttpServer server, Marks marks) {
        JdkMount.mount(this, server, marks);
    }

    /** Where adapters may work: threads that may be kept as long as needed. */
    public Executor threads() {
        return Threads.SHARED;
    }

    /** True once it was closed. */
    public boolean isClosed() {
        return engine.isClosed();
    }

    /** Closes the studio: streams end, runs are put down so that they can be taken up again. A second time nothing happens. */
    @Override
    public void close() {
        close(LEAVE);
    }

    /** The same within a time. */
    public void close(Duration limit) {
        engine.close(Math.toIntExact(Math.min(limit.toMillis(), Integer.MAX_VALUE)));
    }
}
