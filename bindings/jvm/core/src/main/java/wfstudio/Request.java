// Owns a request as all mounts show it.

package wfstudio;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;

/** A request to the studio, whatever server took it. */
public interface Request {
    /** Its method. */
    String method();

    /** Its path as it came, percent-encoded, with whatever the application is below. */
    String path();

    /** Its query as it came, without the question mark; empty when there is none. */
    String query();

    /** Its headers in order. */
    List<Map.Entry<String, String>> headers();

    /** Its body; read once. */
    InputStream body() throws IOException;

    /** What the path begins with before the studio's own prefix. */
    default String root() {
        return "";
    }

    /** The first header of a name, in any case of letters; null when there is none. */
    default String header(String name) {
        return headers().stream().filter(header -> header.getKey().equalsIgnoreCase(name)).map(Map.Entry::getValue).findFirst().orElse(null);
    }

    /** The request of the server, such as an {@code HttpServletRequest}. */
    <T> T unwrap(Class<T> type);
}
