// Owns a studio with the refund workflow and a database of its own, for each test.

package wfstudio;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** An opened studio; `refunds` are the orders that its tool paid back. */
public final class Opened implements AutoCloseable {
    public static final Path EXAMPLES = Path.of(System.getProperty("wfstudio.examples"));
    public static final String ASK = "Please refund order A-100";

    public final Studio studio;
    public final List<Object> refunds = new CopyOnWriteArrayList<>();

    public Opened(Path folder) {
        studio = Studio.open(config(folder));
        studio.tool(tool(), call -> {
            refunds.add(call.get("order_id") + " " + call.get("amount"));
            return Map.of("order_id", call.get("order_id"), "refunded", true);
        });
        studio.call(Names.Op.WORKFLOW_SAVE, example("refund.json"));
    }

    public static Map<String, Object> config(Path folder) {
        Map<String, Object> config = new LinkedHashMap<>(Json.object(example("refund.config.json")));
        config.put("database", Map.of("path", folder.resolve("studio.sqlite").toString()));
        return config;
    }

    public static Tool tool() {
        return Tool.named("issue_refund").description("Pays an order back").requireApproval().input(Map.of("type", "object"));
    }

    /** Has the workflow's tool answered by a function, without approval. */
    public void answer(HostFunction function) {
        studio.tool(tool().requireApproval(false), function);
    }

    /** A graph that waits for the tool, without a model. */
    public static Map<String, Object> slow(String slug) {
        Map<String, Object> at = Map.of("x", 0, "y", 0);
        List<Object> nodes = List.of(
            Map.of("id", "start", "type", "start", "position", at, "data", Map.of()),
            Map.of("id", "tool", "type", "tool", "position", at, "data", Map.of("tool_ref", "host:issue_refund")),
            Map.of("id", "stop", "type", "stop", "position", at, "data", Map.of()));
        List<Object> edges = List.of(edge("a", "start", "tool"), edge("b", "tool", "stop"));
        return Map.of("slug", slug, "name", slug, "graph", Map.of("version", 1, "nodes", nodes, "edges", edges));
    }

    static Map<String, Object> edge(String id, String source, String target) {
        return Map.of("id", id, "source", source, "target", target, "sourceHandle", "default", "targetHandle", "default");
    }

    public static String example(String name) {
        try {
            return Files.readString(EXAMPLES.resolve(name));
        } catch (IOException missing) {
            throw new UncheckedIOException(missing);
        }
    }

    @Override
    public void close() {
        studio.close();
    }
}
