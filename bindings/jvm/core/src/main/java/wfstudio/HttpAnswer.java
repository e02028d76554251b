// Owns the answer to a request: its head, its body, and how a body that still comes is handed on without keeping a thread.

package wfstudio;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** An HTTP answer. Close it when its body is not read to its end. */
public final class HttpAnswer implements AutoCloseable {
    /** Where a body goes. */
    public interface Sink {
        /** Takes a piece; a failure means that the client has gone. */
        void write(byte[] piece) throws IOException;

        /** The body is complete, or it broke off. Called once. */
        void end(Throwable failure);
    }

    private final Answer answer;
    private final Map<String, Object> head;
    private Answer.Piece first;
    private boolean beforeBody;

    HttpAnswer(Answer answer) {
        this.answer = answer;
        try {
            head = Json.object(new String(answer.head(), StandardCharsets.UTF_8));
            first = answer.poll();
        } catch (RuntimeException refused) {
            answer.close();
            throw refused;
        }
    }

    private HttpAnswer(Map<String, Object> head) {
        answer = null;
        this.head = head;
    }

    /** An answer of the mount itself: a problem document. */
    static HttpAnswer problem(int status, String title, String detail) {
        Map<String, Object> problem = new java.util.LinkedHashMap<>();
        problem.put("type", "about:blank");
        problem.put("title", title);
        problem.put("status", status);
        problem.put("detail", detail);
        return new HttpAnswer(Map.of("status", status, "headers", List.of(List.of("content-type", "application/problem+json")), "body", Json.write(problem)));
    }

    /** The status. */
    public int status() {
        return ((Number) head.get("status")).intValue();
    }

    /** The same refusal, all of it there, marked as one of a request whose body was not read. */
    HttpAnswer beforeBody() {
        Map<String, Object> whole = new java.util.LinkedHashMap<>(head);
        whole.put("body", new String(readAll(), StandardCharsets.UTF_8));
        close();
        HttpAnswer refusal = new HttpAnswer(whole);
        refusal.beforeBody = true;
        return refusal;
    }

    /** Whether it refuses a request whose body was not read. */
    boolean isBeforeBody() {
        return beforeBody;
    }

    /** A member of the head, such as {@code body_limit}. */
    Object said(String member) {
        return head.get(member);
    }

    /** The headers in order, names in small letters; a name may come more than once. */
    @SuppressWarnings("unchecked")
    public List<Map.Entry<String, String>> headers() {
        List<List<String>> pairs = (List<List<String>>) head.getOrDefault("headers", List.of());
        return pairs.stream().map(pair -> Map.entry(pair.get(0), pair.get(1))).toList();
    }

    /** How long the body is, where the head says so; else -1. */
    public long length() {
        return headers().stream().filter(header -> header.getKey().equalsIgnoreCase("content-length")).mapToLong(header -> Long.parseLong(header.getValue())).findFirst().orElse(-1);
    }

    /**
     * Whether a body that broke off may end as if it were whole: events are whole, and their readers come again with the position that they
     * have. Anything else is torn, and the connection has to break.
     */
    public boolean mayEnd(Throwable failure) {
        boolean events = headers().stream().anyMatch(header -> header.getKey().equalsIgnoreCase("content-type") && header.getValue().startsWith("text/event-stream"));
        return failure == null || events && failure instanceof StudioException closed && closed.code() == Code.CLOSED;
    }

    /** The body when all of it is there; null when it still comes. */
    public byte[] body() {
        if (head.get("body") instanceof String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        return answer == null || first != null && first.ended() ? new byte[0] : null;
    }

    /** All of the body, waited for. */
    public byte[] readAll() {
        byte[] whole = body();
        if (whole != null) {
            return whole;
        }
        java.io.ByteArrayOutputStream read = new java.io.ByteArrayOutputStream();
        for (byte[] piece = next(); piece != null; piece = next()) {
            read.writeBytes(piece);
        }
        return read.toByteArray();
    }

    /** Hands the body on, piece by piece as they come, on threads of the studio; none is kept while nothing comes. */
    public void handOn(Sink sink) {
        answer.onNews(new Pump(sink).turns::ask);
    }

    /** The next piece of the body, waited for; null at its end. */
    public byte[] next() {
        Answer.Piece piece = first != null ? first : answer.next();
        first = null;
        return piece.ended() ? null : piece.bytes();
    }

    /** The next piece when it is there: empty when nothing is at present, null at the end. */
    public byte[] poll() {
        Answer.Piece piece = first != null ? first : answer.poll();
        first = null;
        return piece == null ? new byte[0] : piece.ended() ? null : piece.bytes();
    }

    /** Has it told when {@link #poll} may have something; on a thread that must not be kept. */
    public void onNews(Runnable told) {
        answer.onNews(told);
    }

    /** Lets the body go; the run behind it goes on. */
    @Override
    public void close() {
        if (answer != null) {
            answer.close();
        }
    }

    private final class Pump {
        private final Sink sink;
        private final Turns turns = new Turns(this::pass);
        private boolean done;

        Pump(Sink sink) {
            this.sink = sink;
        }

        private void pass() {
            try {
                while (!done) {
                    byte[] piece = poll();
                    if (piece == null) {
                        done = true;
                        sink.end(null);
                    } else if (piece.length == 0) {
                        return;
                    } else {
                        sink.write(piece);
                    }
                }
            } catch (IOException | RuntimeException gone) {
                done = true;
                close();
                sink.end(gone);
            }
        }
    }
}
