// Owns what the application says beside a request: who asks, whether they may enter, for which tenant.

package wfstudio;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** What is said beside each request; each method gives other marks. A function that gives null says nothing. */
public final class Marks {
    private final Map<String, Function<Request, ?>> functions;

    private Marks(Map<String, Function<Request, ?>> functions) {
        this.functions = functions;
    }

    /** Nothing is said: outside of {@code environment: local} nobody gets in. */
    public static Marks none() {
        return new Marks(Map.of());
    }

    /** Who asks: a map or record with an {@code id}. */
    public static Marks user(Function<Request, ?> user) {
        return none().with(Names.Mark.USER, user);
    }

    /** May this request enter. */
    public Marks gate(Function<Request, Boolean> gate) {
        return with(Names.Mark.GATE, gate);
    }

    /** Whose data it is. */
    public Marks tenant(Function<Request, String> tenant) {
        return with(Names.Mark.TENANT, tenant);
    }

    /** May this request read the export. */
    public Marks authorized(Function<Request, Boolean> authorized) {
        return with(Names.Mark.AUTHORIZED, authorized);
    }

    /** Where the application is reached, if requests do not tell. */
    public Marks baseUrl(String url) {
        return with(Names.Mark.BASE_URL, request -> url);
    }

    private Marks with(String name, Function<Request, ?> function) {
        Map<String, Function<Request, ?>> more = new LinkedHashMap<>(functions);
        more.put(name, function);
        return new Marks(more);
    }

    void say(Request request, Map<String, Object> head) {
        functions.forEach((name, function) -> {
            Object said = function.apply(request);
            // A gate that was asked and says nothing lets nobody in who is merely named.
            if (said != null || name.equals(Names.Mark.GATE)) {
                head.put(name, said);
            }
        });
    }
}
