// Owns the mount for the HTTP server of the JDK.

package wfstudio;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** `com.sun.net.httpserver`. */
final class JdkMount {
    private JdkMount() {}

    static void mount(Studio studio, HttpServer server, Marks marks) {
        if (server.getExecutor() == null) {
            // Without one the server answers one request after the other.
            server.setExecutor(studio.threads());
        }
        Mount mount = new Mount(studio, marks);
        for (String path : studio.mounts()) {
            server.createContext(path, exchange -> {
                String asked = exchange.getRequestURI().getRawPath();
                // The server takes every path for the context that begins with the same letters, such as `/studios`.
                if (asked.equals(path) || asked.startsWith(path + "/")) {
                    answer(mount, exchange);
                } else {
                    exchange.sendResponseHeaders(404, -1);
                    exchange.close();
                }
            });
        }
    }

    private static void answer(Mount mount, HttpExchange exchange) throws IOException {
        Asked asked = new Asked(exchange);
        HttpAnswer answer = mount.answer(asked);
        try {
            // What a filter has set is replaced, not repeated; only `Vary` adds up.
            answer.headers().stream().map(Map.Entry::getKey).filter(name -> !name.equalsIgnoreCase("vary")).forEach(exchange.getResponseHeaders()::remove);
            for (Map.Entry<String, String> header : answer.headers()) {
                if (!header.getKey().equalsIgnoreCase("content-length")) {
                    exchange.getResponseHeaders().add(header.getKey(), header.getValue());
                }
            }
            byte[] body = answer.body();
            boolean alone = exchange.getRequestMethod().equals("HEAD");
            boolean none = answer.status() == 204 || answer.status() == 304 || alone;
            if (alone && answer.length() >= 0) {
                exchange.getResponseHeaders().set("Content-Length", String.valueOf(answer.length()));
            }
            if (body == null && !none) {
                exchange.sendResponseHeaders(answer.status(), Math.max(0, answer.length()));
                exchange.getResponseBody().flush();
                answer.handOn(new Body(exchange, answer));
                return;
            }
            exchange.sendResponseHeaders(answer.status(), none || body.length == 0 ? -1 : body.length);
            if (!none && body.length > 0) {
                exchange.getResponseBody().write(body);
                exchange.getResponseBody().flush();
            }
            mount.letGoBy(asked, answer);
        } catch (IOException | RuntimeException gone) {
            answer.close();
            exchange.close();
            throw gone;
        }
        answer.close();
        exchange.close();
    }

    private record Body(HttpExchange exchange, HttpAnswer answer) implements HttpAnswer.Sink {
        @Override
        public void write(byte[] piece) throws IOException {
            OutputStream out = exchange.getResponseBody();
            out.write(piece);
            out.flush();
        }

        @Override
        public void end(Throwable failure) {
            try {
                if (!answer.mayEnd(failure)) {
                    tear(exchange);
                }
                exchange.getResponseBody().close();
            } catch (IOException gone) {
                System.getLogger("wfstudio").log(System.Logger.Level.DEBUG, "a client left", gone);
            }
            exchange.close();
        }
    }

    /** Closing the exchange would write the end of a whole body; a stream that fails has it close the connection instead. */
    private static void tear(HttpExchange exchange) {
        exchange.setStreams(null, new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                throw new IOException("the answer broke off");
            }

            @Override
            public void close() throws IOException {
                throw new IOException("the answer broke off");
            }
        });
    }

    private record Asked(HttpExchange exchange) implements Request {
        @Override
        public String method() {
            return exchange.getRequestMethod();
        }

        @Override
        public String path() {
            return exchange.getRequestURI().getRawPath();
        }

        @Override
        public String query() {
            String query = exchange.getRequestURI().getRawQuery();
            return query == null ? "" : query;
        }

        @Override
        public List<Map.Entry<String, String>> headers() {
            List<Map.Entry<String, String>> headers = new ArrayList<>();
            exchange.getRequestHeaders().forEach((name, values) -> values.forEach(value -> headers.add(Map.entry(name, value))));
            return headers;
        }

        @Override
        public InputStream body() {
            return exchange.getRequestBody();
        }

        @Override
        public <T> T unwrap(Class<T> type) {
            return type.cast(exchange);
        }
    }
}
