// Owns proof that a mount carries everything: pages, JSON, streams, uploads, refusals, a client that leaves. Each server has a class that extends it.

package wfstudio;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
public abstract class MountChecks {
    protected static final Marks MARKS = Marks.user(request -> Map.of("id", "7", "name", "Zoë"))
        .gate(request -> request.header("X-Gate") == null ? null : request.header("X-Gate").equals("open"));

    @TempDir
    Path folder;
    protected Opened opened;
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private AutoCloseable server;
    private int port;

    /** Serves the studio at a port, and `/own` that answers `own`. */
    protected abstract AutoCloseable serve(Studio studio, int port) throws Exception;

    @BeforeEach
    void open() throws Exception {
        opened = new Opened(folder);
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        server = serve(opened.studio, port);
    }

    @AfterEach
    void end() throws Exception {
        server.close();
        opened.close();
    }

    private HttpRequest.Builder to(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).timeout(Duration.ofSeconds(20)).header("X-Requested-With", "test");
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> get(String path) throws Exception {
        return send(to(path));
    }

    private HttpResponse<String> post(String path, Object json) throws Exception {
        return send(to(path).header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(Json.write(json))));
    }

    @Test
    void pagesComeWithAndWithoutASlash() throws Exception {
        HttpClient follows = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
        for (String path : List.of("/studio", "/studio/", "/studio/workflows/")) {
            HttpResponse<String> page = follows.send(to(path).header("Accept", "text/html").build(), HttpResponse.BodyHandlers.ofString());
            assertEquals(200, page.statusCode(), path);
            assertTrue(page.headers().firstValue("content-type").orElseThrow().startsWith("text/html"), path);
        }
        assertEquals("own", get("/own").body());
        HttpResponse<String> head = send(to("/studio/workflows").header("Accept", "text/html").method("HEAD", HttpRequest.BodyPublishers.noBody()));
        assertEquals(200, head.statusCode());
        assertEquals("", head.body());
    }

    @Test
    void headTellsTheLengthOfTheWhole() throws Exception {
        for (String path : List.of("/studio/workflows", "/studio/api/settings", "/studio/api/nothing")) {
            long whole = send(to(path)).body().getBytes(java.nio.charset.StandardCharsets.UTF_8).length;
            HttpResponse<String> head = send(to(path).method("HEAD", HttpRequest.BodyPublishers.noBody()));
            assertEquals(List.of(String.valueOf(whole)), head.headers().allValues("content-length"), path);
        }
    }

    /** For servers that are told `Vary: Origin` before the studio answers: whoever keeps an asset has to know both. */
    protected void varyAddsUp() throws Exception {
        var asset = java.util.regex.Pattern.compile("assets/[^\"]+\\.js").matcher(get("/studio/workflows").body());
        assertTrue(asset.find());
        HttpResponse<String> answer = get("/studio/" + asset.group());
        assertEquals(List.of(200, "Origin, accept-encoding"), List.of(answer.statusCode(), String.join(", ", answer.headers().allValues("vary"))));
    }

    @Test
    void pathsThatBeginWithTheSameLettersAreNotTheStudios() throws Exception {
        for (String path : List.of("/studios", "/studio-x/workflows", "/studio.json", "/api/studios/workflows")) {
            HttpResponse<String> answer = get(path);
            assertEquals(404, answer.statusCode(), path);
            assertTrue(answer.headers().firstValue("x-studio-version").isEmpty(), path);
        }
    }

    @Test
    void jsonComesAndGoesAsItIs() throws Exception {
        HttpResponse<String> made = post("/studio/api/agents", Map.of("name", "Zoë's \"agent\"\n2", "provider", "script", "model", "echo"));
        assertEquals(201, made.statusCode(), made.body());
        Map<String, Object> agent = Json.object(made.body());
        assertEquals("Zoë's \"agent\"\n2", agent.get("name"));
        assertEquals("application/json", made.headers().firstValue("content-type").orElseThrow());
        HttpResponse<String> found = get("/studio/api/agents?q=Zo%C3%AB's");
        assertTrue(found.body().contains((String) agent.get("id")), found.body());
        HttpResponse<String> deleted = send(to("/studio/api/agents/" + agent.get("id")).DELETE());
        assertEquals(204, deleted.statusCode());
        assertEquals("", deleted.body());
    }

    @Test
    void refusalsAreProblemDocuments() throws Exception {
        for (String path : List.of("/studio/api/agents/none", "/studio/api/agents/a%2Fb", "/studio/api/agents/a%20b%C3%BC", "/studio/api/nothing")) {
            HttpResponse<String> answer = get(path);
            assertEquals(404, answer.statusCode(), path + answer.body());
            assertEquals("not_found", Json.object(answer.body()).get("code"), path);
        }
        HttpResponse<String> broken = send(to("/studio/api/agents").header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString("{")));
        assertEquals(400, broken.statusCode());
        assertEquals("malformed_json", Json.object(broken.body()).get("code"));
        assertEquals("application/problem+json", broken.headers().firstValue("content-type").orElseThrow());
        assertEquals(403, send(to("/studio/api/agents").header("X-Gate", "shut")).statusCode());
        assertEquals(200, get("/api/studio/usage?from=2026-01-01&to=2026-01-31").statusCode());
    }

    private List<String> events(HttpResponse<String> answer) {
        assertEquals(200, answer.statusCode(), answer.body());
        assertTrue(answer.headers().firstValue("content-type").orElseThrow().startsWith("text/event-stream"));
        assertTrue(answer.body().startsWith("retry: 2000\n"), answer.body());
        return answer.body().lines().filter(line -> line.startsWith("event: ")).map(line -> line.substring(7)).toList();
    }

    @Test
    void aRunIsStreamedPausedAndResumed() throws Exception {
        List<String> first = events(post("/studio/workflows/refund/run/stream", Map.of("message", Opened.ASK)));
        assertEquals(Names.Event.TOOL_APPROVAL_REQUIRED, first.get(first.size() - 1));
        Map<?, ?> run = (Map<?, ?>) ((List<?>) Json.object(get("/studio/api/runs").body()).get("data")).get(0);
        List<String> second = events(post("/studio/workflows/traces/" + run.get("trace_id") + "/resume/stream", Map.of("approval", "approve")));
        assertEquals(Names.Event.TRACE_COMPLETED, second.get(second.size() - 1));
        assertEquals(List.of("A-100 25"), opened.refunds);
    }

    /** What a client must not take for the whole: the connection breaks, with neither all the bytes nor an end. */
    @Test
    void anAnswerThatBreaksOffIsNotTakenForAWholeOne() throws Exception {
        byte[] file = new byte[9_000_000];
        System.arraycopy(new byte[] {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, 0, file, 0, 8);
        String key = kept(file);
        try (Socket socket = new Socket()) {
            socket.setReceiveBufferSize(4096);
            socket.setSoTimeout(20_000);
            socket.connect(new java.net.InetSocketAddress("127.0.0.1", port));
            socket.getOutputStream().write(("GET /studio/api/attachments/file?storage_key=" + key + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").getBytes(StandardCharsets.UTF_8));
            InputStream in = socket.getInputStream();
            ByteArrayOutputStream read = new ByteArrayOutputStream();
            read.write(in.readNBytes(2000));
            Thread.sleep(300);
            opened.studio.close(Duration.ofMillis(500));
            try {
                in.transferTo(read);
            } catch (java.net.SocketTimeoutException hangs) {
                throw hangs;
            } catch (java.io.IOException broken) {
                // Also a way to say it.
            }
            String told = read.toString(StandardCharsets.ISO_8859_1);
            assertTrue(told.startsWith("HTTP/1.1 200"), told.substring(0, 40));
            assertTrue(read.size() < file.length, "all of it came before the close");
            assertTrue(!told.endsWith("\r\n0\r\n\r\n"), "it ended as if it were whole");
        }
    }

    private String kept(byte[] file) throws Exception {
        ByteArrayOutputStream form = new ByteArrayOutputStream();
        form.write("--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n".getBytes(StandardCharsets.UTF_8));
        form.write(file);
        form.write("\r\n--edge--\r\n".getBytes(StandardCharsets.UTF_8));
        HttpResponse<String> made = send(to("/studio/api/attachments").header("Content-Type", "multipart/form-data; boundary=edge").POST(HttpRequest.BodyPublishers.ofByteArray(form.toByteArray())));
        assertEquals(201, made.statusCode(), made.body());
        return java.net.URLEncoder.encode((String) Json.object(made.body()).get("storage_key"), StandardCharsets.UTF_8);
    }

    @Test
    void filesComeBackByteForByte() throws Exception {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        file.write(new byte[] {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});
        for (int index = 0; index < 256_000; index++) {
            file.write(index);
        }
        HttpResponse<byte[]> kept = client.send(to("/studio/api/attachments/file?storage_key=" + kept(file.toByteArray())).build(), HttpResponse.BodyHandlers.ofByteArray());
        assertArrayEquals(file.toByteArray(), kept.body());
        assertEquals("nosniff", kept.headers().firstValue("x-content-type-options").orElseThrow());
    }

    /** Opens a connection and sends a request; what comes is not read. */
    private Socket begin(String request, String headers, String body) throws Exception {
        Socket socket = new Socket("127.0.0.1", port);
        socket.setSoTimeout(20_000);
        String text = request + " HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nX-Requested-With: test\r\n" + headers + "\r\n" + body;
        socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
        return socket;
    }

    private static String line(InputStream in) throws Exception {
        StringBuilder line = new StringBuilder();
        for (int letter = in.read(); letter != '\n' && letter >= 0; letter = in.read()) {
            line.append((char) letter);
        }
        return line.toString().strip();
    }

    @Test
    void aClientThatLeavesEndsItsStreamAndNotTheRun() throws Exception {
        String body = Json.write(Map.of("message", Opened.ASK));
        try (Socket socket = begin("POST /studio/workflows/refund/run/stream", "Content-Type: application/json\r\nContent-Length: " + body.length() + "\r\n", body)) {
            assertTrue(line(socket.getInputStream()).contains("200"));
        }
        for (int turn = 0; turn < 100 && !get("/studio/api/runs").body().contains("awaiting_tool_approval"); turn++) {
            Thread.sleep(50);
        }
        assertTrue(get("/studio/api/runs").body().contains("awaiting_tool_approval"));
    }

    @Test
    void aBodyIsReadOnlyWhenItMayCome() throws Exception {
        String headers = "Content-Type: application/json\r\nContent-Length: 50000000\r\nConnection: close\r\n";
        try (Socket socket = begin("POST /studio/api/agents", headers + "X-Gate: shut\r\n", "")) {
            assertTrue(line(socket.getInputStream()).contains("403"));
        }
        // A client that sends all before it reads: the JDK's own does not always take an answer that comes earlier.
        String large = Json.write(Map.of("name", "x".repeat(3 << 20)));
        String json = "Content-Type: application/json\r\nConnection: close\r\nContent-Length: " + large.length() + "\r\n";
        try (Socket socket = begin("POST /studio/api/agents", json, large)) {
            String answer = new String(socket.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
            assertTrue(answer.startsWith("HTTP/1.1 413 ") && answer.toLowerCase().contains("application/problem+json"), answer);
            assertEquals(413L, ((Number) Json.object(answer.substring(answer.indexOf("\r\n\r\n") + 4)).get("status")).longValue(), answer);
        }
    }

    @Test
    void streamsThatSayNothingStopNobody() throws Exception {
        CountDownLatch finish = new CountDownLatch(1);
        opened.answer(call -> {
            finish.await();
            return "done";
        });
        opened.studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("slow"));
        get("/studio/api/runs");
        long before = ownTime();
        List<Socket> open = new ArrayList<>();
        String body = Json.write(Map.of("message", "hi"));
        for (int stream = 0; stream < 48; stream++) {
            Socket socket = begin("POST /studio/workflows/slow/run/stream", "Content-Type: application/json\r\nContent-Length: " + body.length() + "\r\n", body);
            assertTrue(line(socket.getInputStream()).contains("200"));
            open.add(socket);
        }
        Thread.sleep(300);
        long streaming = Thread.getAllStackTraces().values().stream().filter(MountChecks::inAnswer).count();
        assertEquals(0, streaming, "threads that are kept by streams");
        // Whoever shares the machine makes requests slower, never faster.
        long took = Math.min(Math.min(ownTime(), ownTime()), ownTime());
        assertTrue(took < Math.max(50, 3 * before), "a request took " + took + " ms, and " + before + " ms before");
        finish.countDown();
        for (Socket socket : open) {
            for (String line = line(socket.getInputStream()); !line.contains(Names.Event.TRACE_COMPLETED); line = line(socket.getInputStream())) {
                assertTrue(socket.isConnected());
            }
            socket.close();
        }
    }

    /** Milliseconds of a request that is the application's own. */
    private long ownTime() throws Exception {
        long begun = System.nanoTime();
        for (int turn = 0; turn < 20; turn++) {
            assertEquals("own", get("/own").body());
        }
        return (System.nanoTime() - begun) / 20_000_000;
    }

    private static boolean inAnswer(StackTraceElement[] stack) {
        return java.util.Arrays.stream(stack).anyMatch(frame -> frame.getClassName().startsWith("wfstudio.HttpAnswer") || frame.getClassName().equals("wfstudio.Answer"));
    }

    @Test
    void aClosedStudioIs503() throws Exception {
        opened.studio.close();
        HttpResponse<String> answer = get("/studio/api/agents");
        assertEquals(503, answer.statusCode());
        assertEquals("application/problem+json", answer.headers().firstValue("content-type").orElseThrow());
        assertEquals("own", get("/own").body());
    }
}
