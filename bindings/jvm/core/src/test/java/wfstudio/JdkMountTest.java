// Owns proof that the studio works in the HTTP server of the JDK.

package wfstudio;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

class JdkMountTest extends MountChecks {
    static {
        // Older JDKs send head and body apart, and wait 40 ms between them for the client's word that the head has come.
        System.setProperty("sun.net.httpserver.nodelay", "true");
    }

    @Override
    protected AutoCloseable serve(Studio studio, int port) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        studio.mount(server, MARKS);
        server.createContext("/own", exchange -> {
            exchange.sendResponseHeaders(200, 3);
            exchange.getResponseBody().write("own".getBytes());
            exchange.close();
        });
        server.start();
        return () -> server.stop(0);
    }
}
