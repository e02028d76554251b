// Owns how failures of the application are told to the engine.

package wfstudio;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletionException;

/** Answers that tell a failure. */
final class Failures {
    private static final int LONGEST = 10_000;

    private Failures() {}

    /** That of a function that threw. */
    static String told(Throwable thrown) {
        Throwable failure = thrown instanceof CompletionException && thrown.getCause() != null ? thrown.getCause() : thrown;
        return Json.write(Map.of("message", cut(text(failure))));
    }

    /** That of a function whose result has no JSON. A tool that ran must not look like one that failed: whoever reads that calls it again. */
    static String unwritten(String op, String why) {
        if (Names.HostOp.TOOL_CALL.equals(op)) {
            String message = "the tool ran, but its result could not be written as JSON (" + why
                + "): return texts without halves of characters, finite numbers, lists, maps and records, at most 16 MiB";
            return Json.write(Map.of("message", cut(message), "ran", true));
        }
        return Json.write(Map.of("message", cut("the answer could not be written as JSON: " + why)));
    }

    static String text(Throwable failure) {
        String kind = failure.getClass().getSimpleName();
        try {
            return failure instanceof HostFailure ? String.valueOf(failure.getMessage()) : kind + ": " + failure.getMessage();
        } catch (Throwable broken) { // its own text fails
            return kind;
        }
    }

    /** Not too long, and without halves of characters. */
    private static String cut(String message) {
        String kept = message.length() > LONGEST ? message.substring(0, LONGEST) : message;
        return new String(kept.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
    }
}
