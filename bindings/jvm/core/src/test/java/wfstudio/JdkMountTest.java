// Owns proof that the studio works in the HTTP server of the JDK.

package wfstudio;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JdkMountTest extends MountChecks {
    static {
        // Older JDKs send head and body apart, and wait 40 ms between them for the client's word that the head has come.
        System.setProperty("sun.net.httpserver.nodelay", "true");
    }

    @Override
    protected AutoCloseable serve(Studio studio, int port) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        studio.mount(server, MARKS.authorized(request -> {
            request.unwrap(HttpExchange.class).getResponseHeaders().set("Vary", "Origin");
            return null;
        }));
        server.createContext("/own", exchange -> {
            exchange.sendResponseHeaders(200, 3);
            exchange.getResponseBody().write("own".getBytes());
            exchange.close();
        });
        server.start();
        return () -> server.stop(0);
    }

    @Test
    void whatTheApplicationSaysOfCachesIsKept() throws Exception {
        varyAddsUp();
    }

    @Test
    void aBodyWhoseLengthNobodySaysIsRead() throws Exception {
        // As of HTTP/2, which needs neither of the headers that say so in HTTP/1.1.
        Request request = new Request() {
            @Override
            public String method() {
                return "POST";
            }

            @Override
            public String path() {
                return "/studio/api/agents";
            }

            @Override
            public String query() {
                return "";
            }

            @Override
            public List<Map.Entry<String, String>> headers() {
                return List.of(Map.entry("host", "127.0.0.1"), Map.entry("content-type", "application/json"));
            }

            @Override
            public InputStream body() {
                return new ByteArrayInputStream("{\"name\":\"Two\",\"provider\":\"script\",\"model\":\"echo\"}".getBytes());
            }

            @Override
            public <T> T unwrap(Class<T> type) {
                return null;
            }
        };
        try (HttpAnswer answer = new Mount(opened.studio, Marks.none().gate(asked -> true)).answer(request)) {
            assertEquals(201, answer.status(), new String(answer.readAll()));
        }
    }
}
