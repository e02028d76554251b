// Owns what all mounts do with a request: marks, a body that is read only when it may come, problems as documents.

package wfstudio;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Answers requests of a server; adapters use it. */
public final class Mount {
    private static final System.Logger LOG = System.getLogger("wfstudio");
    /** What may stand in a request target as it is. */
    private static final String TARGET = "%/:?#[]@!$&'()*+,;=-._~";


    private static final Set<String> MAY_HAVE_BODY = Set.of("POST", "PUT", "PATCH", "DELETE");
    private final Studio studio;
    private final Marks marks;

    /** The studio, and what is said beside each request. */
    public Mount(Studio studio, Marks marks) {
        this.studio = studio;
        this.marks = marks;
    }

    /** Answers; waits for the head of the answer. */
    public HttpAnswer answer(Request request) throws IOException {
        try {
            Map<String, Object> head = head(request);
            byte[] body = null;
            if (hasBody(request)) {
                // The engine says first whether the request may come in at all, and how long its body may be.
                head.put(Names.Mark.EXPECT, "100-continue");
                HttpAnswer told = studio.http(head, null);
                if (told.status() != 100) {
                    return told.beforeBody();
                }
                told.close();
                head.remove(Names.Mark.EXPECT);
                long limit = ((Number) told.said("body_limit")).longValue();
                body = read(request.body(), limit);
                if (body == null) {
                    return HttpAnswer.problem(413, "Content Too Large", "the body is longer than " + limit + " bytes and was not read to its end; nothing was done").beforeBody();
                }
            }
            return studio.http(head, body);
        } catch (StudioException refused) {
            boolean closed = refused.code() == Code.CLOSED || refused.code() == Code.BAD_HANDLE;
            return closed ? HttpAnswer.problem(503, "Service Unavailable", refused.getMessage()) : HttpAnswer.problem(400, "Bad Request", refused.getMessage());
        } catch (RuntimeException failure) {
            LOG.log(System.Logger.Level.ERROR, "what the application says beside a request failed", failure);
            return HttpAnswer.problem(500, "Internal Server Error", "the application could not say who asks");
        }
    }

    private Map<String, Object> head(Request request) {
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("method", request.method());
        head.put("path", target(request.path()));
        head.put("query", target(request.query()));
        List<List<String>> headers = new ArrayList<>();
        request.headers().forEach(header -> headers.add(List.of(header.getKey(), text(header.getValue()))));
        head.put("headers", headers);
        if (!request.root().isEmpty()) {
            head.put(Names.Mark.ROOT_PATH, request.root());
        }
        marks.say(request, head);
        return head;
    }

    private static boolean hasBody(Request request) {
        String length = request.header("Content-Length");
        if (length == null && request.header("Transfer-Encoding") == null) {
            // HTTP/2 has no header that says it.
            return MAY_HAVE_BODY.contains(request.method());
        }
        return length == null || !length.strip().equals("0");
    }

    /** The body; null when it is longer than `limit`. */
    private static byte[] read(InputStream body, long limit) throws IOException {
        byte[] read = body.readNBytes(Math.toIntExact(Math.min(limit + 1, Integer.MAX_VALUE - 8)));
        return read.length > limit ? null : read;
    }

    /**
     * Lets go by what a client still sends after an answer that did not wait for the body's end: a server that closes the connection before
     * takes the answer from clients that send first and read then. At most 16 MiB, for some seconds.
     */
    public void letGoBy(Request request, HttpAnswer answer) {
        if (!answer.isBeforeBody()) {
            return;
        }
        byte[] part = new byte[64 * 1024];
        long end = System.nanoTime() + 5_000_000_000L;
        try {
            InputStream body = request.body();
            int got = 0;
            for (long left = 16 << 20; left > 0 && got >= 0 && System.nanoTime() < end; left -= got) {
                got = body.read(part);
            }
        } catch (IOException gone) {
            LOG.log(System.Logger.Level.DEBUG, "a client left", gone);
        }
    }

    /** Servers give headers byte by byte; most clients send UTF-8. */
    private static String text(String value) {
        if (value.chars().allMatch(letter -> letter < 128) || value.chars().anyMatch(letter -> letter > 255)) {
            return value;
        }
        byte[] bytes = value.getBytes(StandardCharsets.ISO_8859_1);
        String read = new String(bytes, StandardCharsets.UTF_8);
        return read.indexOf('\ufffd') >= 0 ? value : read;
    }

    /** A path or query with the characters that a request target may have. */
    private static String target(String raw) {
        StringBuilder out = new StringBuilder();
        // What is not ASCII came as single bytes, or was decoded by the server.
        boolean single = raw.chars().allMatch(letter -> letter < 256);
        for (byte one : raw.getBytes(single ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8)) {
            char letter = (char) (one & 0xff);
            boolean plain = letter < 128 && (Character.isLetterOrDigit(letter) || TARGET.indexOf(letter) >= 0);
            if (plain) {
                out.append(letter);
            } else {
                out.append(String.format("%%%02X", one & 0xff));
            }
        }
        return out.toString();
    }
}
