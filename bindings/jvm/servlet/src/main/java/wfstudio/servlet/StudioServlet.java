// Owns the mount for Jakarta Servlet containers.

package wfstudio.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import wfstudio.HttpAnswer;
import wfstudio.Marks;
import wfstudio.Mount;
import wfstudio.Request;
import wfstudio.Studio;

/** The studio's routes; map it to the paths of {@link Studio#mounts}, each as it is and with {@code /*}, with asynchronous answers supported. */
public final class StudioServlet extends HttpServlet {
    private static final String TORN = "wfstudio.torn";

    private final transient Mount mount;

    /** The studio, and what is said beside each request. */
    public StudioServlet(Studio studio, Marks marks) {
        this.mount = new Mount(studio, marks);
    }

    /** The paths to map it to. */
    public static String[] mappings(Studio studio) {
        return studio.mounts().stream().map(path -> path + "/*").toArray(String[]::new);
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (request.getAttribute(TORN) instanceof Throwable failure) {
            throw new IOException("the answer broke off", failure);
        }
        Asked asked = new Asked(request);
        HttpAnswer answer = mount.answer(asked);
        boolean kept = false;
        try {
            response.setStatus(answer.status());
            // What a filter has set is replaced, not repeated; only `Vary` adds up.
            Set<String> seen = new HashSet<>(Set.of("vary"));
            answer.headers().forEach(header -> set(response, header, seen.add(header.getKey())));
            byte[] body = answer.body();
            boolean alone = request.getMethod().equals("HEAD");
            if (alone && answer.length() >= 0) {
                response.setContentLengthLong(answer.length());
            }
            if (alone || answer.status() == 204 || answer.status() == 304) {
                return;
            }
            if (body != null) {
                response.setContentLength(body.length);
                response.getOutputStream().write(body);
                response.flushBuffer();
                mount.letGoBy(asked, answer);
                return;
            }
            if (answer.length() >= 0) {
                response.setContentLengthLong(answer.length());
            }
            response.flushBuffer();
            kept = request.isAsyncSupported();
            if (kept) {
                handOn(answer, request.startAsync());
            } else {
                for (byte[] piece = answer.next(); piece != null; piece = answer.next()) {
                    response.getOutputStream().write(piece);
                    response.flushBuffer();
                }
            }
        } catch (wfstudio.StudioException failure) {
            if (!answer.mayEnd(failure)) {
                throw failure; // the container breaks the connection
            }
        } finally {
            if (!kept) {
                answer.close();
            }
        }
    }

    private static void set(HttpServletResponse response, Map.Entry<String, String> header, boolean first) {
        if (header.getKey().equalsIgnoreCase("content-type")) {
            response.setContentType(header.getValue());
        } else if (first && !header.getKey().equalsIgnoreCase("content-length")) {
            response.setHeader(header.getKey(), header.getValue());
        } else if (!first) {
            response.addHeader(header.getKey(), header.getValue());
        }
    }

    private static void handOn(HttpAnswer answer, AsyncContext context) {
        context.setTimeout(0);
        context.addListener(new AsyncListener() {
            @Override
            public void onComplete(AsyncEvent event) {
                answer.close();
            }

            @Override
            public void onTimeout(AsyncEvent event) {
                answer.close();
            }

            @Override
            public void onError(AsyncEvent event) {
                answer.close();
            }

            @Override
            public void onStartAsync(AsyncEvent event) {}
        });
        answer.handOn(new HttpAnswer.Sink() {
            @Override
            public void write(byte[] piece) throws IOException {
                context.getResponse().getOutputStream().write(piece);
                context.getResponse().flushBuffer();
            }

            @Override
            public void end(Throwable failure) {
                try {
                    if (answer.mayEnd(failure)) {
                        context.complete();
                    } else {
                        // Nothing but a failure in the container's own call makes it break the connection.
                        context.getRequest().setAttribute(TORN, failure);
                        context.dispatch();
                    }
                } catch (IllegalStateException completed) {
                    log("a client left");
                }
            }

            private void log(String what) {
                System.getLogger("wfstudio").log(System.Logger.Level.DEBUG, what);
            }
        });
    }

    private record Asked(HttpServletRequest request) implements Request {
        @Override
        public String method() {
            return request.getMethod();
        }

        @Override
        public String path() {
            // Parameters go, segments stay: what is answered is the path that the server has authorised.
            return request.getRequestURI().replaceAll(";[^/]*", "");
        }

        @Override
        public String query() {
            return request.getQueryString() == null ? "" : request.getQueryString();
        }

        @Override
        public String root() {
            return request.getContextPath();
        }

        @Override
        public List<Map.Entry<String, String>> headers() {
            List<Map.Entry<String, String>> headers = new ArrayList<>();
            for (String name : Collections.list(request.getHeaderNames())) {
                for (String value : Collections.list(request.getHeaders(name))) {
                    headers.add(Map.entry(name, value));
                }
            }
            return headers;
        }

        @Override
        public InputStream body() throws IOException {
            return request.getInputStream();
        }

        @Override
        public <T> T unwrap(Class<T> type) {
            return type.cast(request);
        }
    }
}
