// Owns the declaration of a tool of the application.

package wfstudio;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** A tool as it is declared; each method gives another declaration. */
public final class Tool {
    private final Map<String, Object> declaration;

    private Tool(Map<String, Object> declaration) {
        this.declaration = declaration;
    }

    /** A tool with a name, as models see it. */
    public static Tool named(String name) {
        return new Tool(Map.of("name", name));
    }

    /** What it does, as models see it. */
    public Tool description(String description) {
        return with("description", description);
    }

    /** The JSON Schema of its arguments. */
    public Tool input(Map<String, ?> schema) {
        return with("input_schema", schema);
    }

    /** The arguments are the components of a record. */
    public Tool input(Class<? extends Record> record) {
        return with("input_schema", Schema.of((Type) record));
    }

    /** A person approves each call. */
    public Tool requireApproval() {
        return requireApproval(true);
    }

    /** Whether a person approves each call. */
    public Tool requireApproval(boolean required) {
        return with("require_approval", required);
    }

    /** Calling it twice does no harm. */
    public Tool idempotent() {
        return with("idempotent", true);
    }

    /** How long a call may take, instead of the configured limit. */
    public Tool timeout(Duration limit) {
        return with("timeout_ms", limit.toMillis());
    }

    String name() {
        return (String) declaration.get("name");
    }

    boolean has(String member) {
        return declaration.containsKey(member);
    }

    Map<String, Object> declaration() {
        return declaration;
    }

    private Tool with(String member, Object value) {
        Map<String, Object> more = new LinkedHashMap<>(declaration);
        more.put(member, value);
        return new Tool(more);
    }
}
