// Owns the failure of a call: its code, the HTTP status of its kind, its problem document.

package wfstudio;

import java.util.Map;

/** A call of the engine failed. */
public class StudioException extends RuntimeException {
    private final Code code;
    private final int number;
    private final transient Map<String, Object> problem;
    private final String text;

    private StudioException(int number, String text, Map<String, Object> problem) {
        super(problem.get("detail") instanceof String detail ? detail : Code.of(number).name());
        this.code = Code.of(number);
        this.number = number;
        this.text = text;
        this.problem = problem;
    }

    static StudioException of(int number, byte[] problem) {
        String text = new String(problem, java.nio.charset.StandardCharsets.UTF_8);
        try {
            return new StudioException(number, text, Json.object(text));
        } catch (IllegalArgumentException unreadable) {
            return new StudioException(number, text, Map.of("detail", text));
        }
    }

    static StudioException of(Code code, String detail) {
        return new StudioException(code.number(), Json.write(Map.of("detail", detail)), Map.of("detail", detail));
    }

    /** Why, in one word. */
    public Code code() {
        return code;
    }

    /** The number of the native functions; negative. */
    public int number() {
        return number;
    }

    /** The HTTP status that the same failure has as an answer; 0 where the problem has none. */
    public int status() {
        return problem != null && problem.get("status") instanceof Number status ? status.intValue() : 0;
    }

    /** The members of the problem document: {@code code}, {@code detail}, {@code errors} and others. */
    public Map<String, Object> problem() {
        return problem == null ? Map.of() : problem;
    }

    /** The problem document as it came. */
    public String text() {
        return text;
    }
}
