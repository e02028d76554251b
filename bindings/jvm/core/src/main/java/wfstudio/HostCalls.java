// Owns what the application answers: its declaration, and who is given which call.

package wfstudio;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/** The application's side of one engine. */
final class HostCalls {
    private static final System.Logger LOG = System.getLogger("wfstudio");

    private final Engine engine;
    private final Executor tools;
    private final Map<String, Tool> declared = new LinkedHashMap<>();
    private final Map<String, HostFunction> functions = new ConcurrentHashMap<>();
    private final Map<String, HostFunction> answers = new ConcurrentHashMap<>();
    private final Map<Long, HostCall> open = new ConcurrentHashMap<>();
    private Map<String, ?> schemas = Map.of();

    /** `tools` is where tools work; the gate, secrets and the rest have the studio's own threads, so that they do not wait behind them. */
    HostCalls(Engine engine, Executor tools) {
        this.engine = engine;
        this.tools = tools == null ? Threads.SHARED : tools;
        engine.news.calls = this::take;
    }

    synchronized void tool(Tool tool, HostFunction function) {
        Runnable back = put(functions, tool.name(), function);
        declare(back, put(declared, tool.name(), tool));
    }

    synchronized void answer(String op, HostFunction function) {
        declare(put(answers, op, function));
    }

    synchronized void schemas(Map<String, ?> named) {
        Map<String, ?> before = schemas;
        schemas = named;
        declare(() -> schemas = before);
    }

    /** Gives what puts back the one that was there before. */
    private static <V> Runnable put(Map<String, V> all, String name, V one) {
        V before = all.put(name, one);
        return () -> all.compute(name, (same, now) -> before);
    }

    /** What is refused is taken back: later declarations are not to be refused for it. */
    private void declare(Runnable... back) {
        try {
            engine.declare(declaration());
        } catch (Throwable refused) {
            for (Runnable one : back) {
                one.run();
            }
            throw refused;
        }
    }

    private String declaration() {
        Set<String> ops = new LinkedHashSet<>();
        if (!declared.isEmpty()) {
            ops.add(Names.HostOp.TOOL_CALL);
            ops.add(Names.HostOp.TOOL_CANCEL);
        }
        ops.addAll(answers.keySet());
        List<Object> tools = new ArrayList<>();
        declared.values().forEach(tool -> tools.add(tool.declaration()));
        Map<String, Object> declaration = new LinkedHashMap<>();
        declaration.put("ops", ops);
        declaration.put("tools", tools);
        declaration.put("schemas", schemas);
        return Json.write(declaration);
    }

    /** Hands a call on; on the thread that waits for news. */
    @SuppressWarnings("unchecked")
    private void take(byte[] text) {
        Map<String, Object> call = Json.object(new String(text, StandardCharsets.UTF_8));
        String op = (String) call.get("op");
        Map<String, Object> payload = call.get("payload") instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
        if (Names.HostOp.TOOL_CANCEL.equals(op)) {
            HostCall cancelled = payload.get("cancels") instanceof Number id ? open.get(id.longValue()) : null;
            if (cancelled != null) {
                Threads.SHARED.execute(cancelled::cancel);
            }
            if (!answers.containsKey(op)) {
                return;
            }
        }
        long id = call.get("call_id") instanceof Number number ? number.longValue() : 0;
        HostCall taken = new HostCall(this, id, op, payload);
        boolean isTool = Names.HostOp.TOOL_CALL.equals(op);
        HostFunction function = isTool ? functions.get(String.valueOf(payload.get("name"))) : answers.get(op);
        if (function == null) {
            taken.fail(new HostFailure("the application does not answer `" + op + "`" + (isTool ? " for `" + payload.get("name") + "`" : "")));
            return;
        }
        open.put(id, taken);
        try {
            (isTool ? tools : Threads.SHARED).execute(() -> taken.run(function));
        } catch (Throwable full) { // also no memory for a thread
            taken.refuse("the application takes no more calls: " + full.getMessage());
        }
    }

    void answered(long id, int ok, String text) {
        HostCall call = open.remove(id);
        if (call != null && Names.HostOp.UNANSWERED.contains(call.op())) {
            return;
        }
        if (complete(id, ok, text) == Abi.INVALID && ok == 1 && call != null) {
            call.unwritten("the engine does not read it");
        }
    }

    /** Gives a part or the whole of an answer; nobody may be waiting for it any more. */
    int complete(long id, int ok, String text) {
        int code = engine.complete(id, ok, text);
        if (code < 0) {
            LOG.log(System.Logger.Level.DEBUG, "an answer was not taken: " + Code.of(code));
        }
        return code;
    }
}
