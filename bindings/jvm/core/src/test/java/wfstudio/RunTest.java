// Owns proof that runs, tools and errors work from Java.

package wfstudio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class RunTest {
    @TempDir
    Path folder;
    private Opened opened;

    @BeforeEach
    void open() {
        opened = new Opened(folder);
    }

    @AfterEach
    void close() {
        opened.close();
    }

    private List<Event> all(Events events) {
        List<Event> read = new ArrayList<>();
        try (events) {
            events.forEach(read::add);
        }
        return read;
    }

    private Event result() {
        return all(opened.studio.run("refund", Opened.ASK)).stream().filter(event -> event.name().equals(Names.Event.TOOL_RESULT)).findFirst().orElseThrow();
    }

    @Test
    void aRunWaitsForApprovalAndItsToolRunsOnce() {
        List<Event> first = all(opened.studio.run("refund", Opened.ASK));
        Event asked = first.get(first.size() - 1);
        assertEquals(Names.Event.TOOL_APPROVAL_REQUIRED, asked.name());
        assertEquals(List.of(), opened.refunds);
        String trace = (String) asked.get("trace_id");
        List<Event> second = all(opened.studio.resume(trace, Map.of("pause_id", asked.get("pause_id"), "approval", "approve")));
        assertEquals(Names.Event.TOOL_APPROVAL_RESOLVED, second.get(0).name());
        assertEquals(Names.Event.TRACE_COMPLETED, second.get(second.size() - 1).name());
        assertEquals(List.of("A-100 25"), opened.refunds);
        assertEquals("completed", ((Map<?, ?>) opened.studio.trace(trace).get("trace")).get("status"));
    }

    @Test
    void errorsHaveCodeStatusAndProblem() {
        StudioException missing = assertThrows(StudioException.class, () -> opened.studio.trace("00000000-0000-7000-8000-000000000000"));
        assertEquals(Code.NOT_FOUND, missing.code());
        assertEquals(404, missing.status());
        assertEquals("not_found", missing.problem().get("code"));
        StudioException empty = assertThrows(StudioException.class, () -> opened.studio.run("refund", ""));
        assertTrue(empty.problem().get("errors") instanceof Map<?, ?> errors && errors.containsKey("message"), empty.text());
        assertThrows(StudioException.class, () -> opened.studio.call("no.such.op", "{}"));
    }

    @Test
    void aToolThatThrowsIsAFailedCall() {
        opened.answer(call -> {
            throw new IllegalStateException("the till is empty");
        });
        Event result = result();
        assertEquals(true, result.get("is_error"));
        assertTrue(result.text().contains("IllegalStateException: the till is empty"), result.text());
        opened.answer(call -> {
            throw new HostFailure("the order is closed");
        });
        assertTrue(result().text().contains("\"the order is closed\""));
    }

    @Test
    @Timeout(20)
    void aFailureWhoseTextFailsIsAFailedCallAtOnce() {
        opened.answer(call -> {
            throw new IllegalStateException() {
                @Override
                public String getMessage() {
                    throw new UnsupportedOperationException("no text");
                }
            };
        });
        assertEquals(true, result().get("is_error"));
    }

    @Test
    void whatWasRefusedIsNotDeclaredAgain() {
        assertThrows(StudioException.class, () -> opened.studio.answer("gates", call -> null));
        assertThrows(RuntimeException.class, () -> opened.studio.schemas(Map.of("odd", new Object())));
        opened.studio.tool(Tool.named("fine").input(Map.of("type", "object")), call -> "fine");
    }

    @Test
    void aToolWhoseNewDeclarationIsRefusedStaysAsItWas() {
        opened.answer(call -> "as before");
        assertThrows(StudioException.class, () -> opened.studio.tool(Opened.tool().timeout(Duration.ofMillis(-1)), call -> "refused"));
        assertTrue(result().text().contains("as before"), result().text());
    }

    @Test
    void aResultThatIsNoJsonIsAFailedCallAtOnce() {
        for (Object odd : new Object[] {Double.NaN, "\ud800", new Object(), new StringBuilder("x").append('\udfff')}) {
            opened.answer(call -> odd);
            assertEquals(true, result().get("is_error"), String.valueOf(odd));
        }
    }

    @Test
    void aToolMayAnswerLater() {
        opened.answer(call -> CompletableFuture.supplyAsync(() -> Map.of("paid", call.get("order_id"))));
        assertTrue(result().text().contains("A-100"));
        opened.answer(call -> CompletableFuture.failedFuture(new HostFailure("not today")));
        assertTrue(result().text().contains("not today"));
    }

    public record Refund(String order_id, double amount) {}

    @Test
    void aToolMayTakeARecord() {
        opened.studio.tool(Tool.named("issue_refund").requireApproval(false), Refund.class, refund -> new Refund(refund.order_id(), refund.amount() * 2));
        assertTrue(result().text().contains("50.0"));
        assertEquals(Map.of("type", "object", "properties", Map.of("order_id", Map.of("type", "string"), "amount", Map.of("type", "number")), "required", List.of("order_id", "amount")), Schema.of(Refund.class));
    }

    @Test
    void aCancelledRunInterruptsItsToolAndTellsItsEnd() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch told = new CountDownLatch(1);
        opened.answer(call -> {
            call.onCancel(told::countDown);
            begun.countDown();
            try {
                Thread.sleep(30_000);
            } catch (InterruptedException cancelled) {
                interrupted.countDown();
            }
            return null;
        });
        opened.studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("slow"));
        try (Events events = opened.studio.run("slow", "hi")) {
            assertTrue(begun.await(20, TimeUnit.SECONDS));
            events.cancel();
            String last = null;
            for (Event event : events) {
                last = event.name();
            }
            assertEquals(Names.Event.TRACE_CANCELLED, last);
        }
        assertTrue(interrupted.await(5, TimeUnit.SECONDS) && told.await(5, TimeUnit.SECONDS));
    }

    @Test
    void secretsAndTheGateAreAsked() {
        AtomicReference<Object> method = new AtomicReference<>();
        opened.studio.gate(call -> {
            method.set(call.get("method"));
            return call.get("user") != null;
        });
        try (Studio shut = Studio.open(Map.of("database", Map.of("path", folder.resolve("shut.sqlite").toString())))) {
            shut.gate(call -> {
                method.set(call.get("method"));
                return call.get("user") != null;
            });
            Map<String, Object> head = Map.of("method", "GET", "path", "/studio/api/agents", "query", "", "headers", List.of());
            try (HttpAnswer answer = shut.http(head, null)) {
                assertEquals(403, answer.status());
            }
            Map<String, Object> known = Map.of("method", "GET", "path", "/studio/api/agents", "query", "", "headers", List.of(), "user", Map.of("id", "7"));
            try (HttpAnswer answer = shut.http(known, null)) {
                assertEquals(200, answer.status());
            }
            assertEquals("GET", method.get());
        }
    }

    @Test
    void eventsArePublishedAsTheyAreAskedFor() throws Exception {
        List<String> names = new ArrayList<>();
        CompletableFuture<Void> complete = new CompletableFuture<>();
        Events events = opened.studio.run("refund", Opened.ASK);
        events.subscribe(new Flow.Subscriber<>() {
            private Flow.Subscription subscription;

            @Override
            public void onSubscribe(Flow.Subscription given) {
                subscription = given;
                subscription.request(1);
            }

            @Override
            public void onNext(Event event) {
                names.add(event.name());
                subscription.request(1);
            }

            @Override
            public void onError(Throwable failure) {
                complete.completeExceptionally(failure);
            }

            @Override
            public void onComplete() {
                complete.complete(null);
            }
        });
        complete.get(20, TimeUnit.SECONDS);
        assertEquals(Names.Event.TOOL_APPROVAL_REQUIRED, names.get(names.size() - 1));
    }

    /** A class as an export writes it. */
    public static final class GreetWorkflow implements StudioWorkflow {
        public static Map<String, Object> definition() {
            return Map.of("slug", "greet", "name", "Greet", "graph", Map.of("version", 1, "nodes", List.of(
                Map.of("id", "start", "type", "start", "position", Map.of("x", 0, "y", 0), "data", Map.of()),
                Map.of("id", "stop", "type", "stop", "position", Map.of("x", 0, "y", 0), "data", Map.of("reply", "Hello"))),
                "edges", List.of(Opened.edge("a", "start", "stop"))));
        }
    }

    @Test
    void aRegisteredClassRuns() {
        opened.studio.register(GreetWorkflow.class);
        List<Event> events = all(opened.studio.run("greet", "hi"));
        assertEquals(Names.Event.TRACE_COMPLETED, events.get(events.size() - 1).name());
        assertThrows(IllegalArgumentException.class, () -> opened.studio.register(String.class));
    }

    @Test
    void aClosedStudioSaysSo() throws InterruptedException {
        Events open = opened.studio.run("refund", Opened.ASK);
        opened.studio.close(Duration.ofSeconds(5));
        opened.studio.close();
        assertTrue(opened.studio.isClosed());
        StudioException closed = assertThrows(StudioException.class, () -> opened.studio.call(Names.Op.HEALTH, Map.of()));
        assertEquals(Code.CLOSED, closed.code());
        open.close();
        // The thread that closed tells the code before it ends.
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("wfstudio-close")) {
                thread.join(5_000);
                assertFalse(thread.isAlive());
            }
        }
    }

    /** A call that timed out while it waited for a thread of the application. */
    @Test
    void aCallThatIsNoLongerWantedBeforeItBeginsIsNotRun() throws Exception {
        java.util.concurrent.LinkedBlockingQueue<Runnable> jobs = new java.util.concurrent.LinkedBlockingQueue<>();
        java.util.concurrent.atomic.AtomicInteger ran = new java.util.concurrent.atomic.AtomicInteger();
        opened.close();
        try (Studio studio = Studio.open(Opened.config(folder), jobs::add)) {
            studio.tool(Opened.tool().requireApproval(false).timeout(Duration.ofMillis(300)), call -> ran.incrementAndGet());
            studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("late"));
            List<Event> told = all(studio.run("late", "x"));
            assertFalse(told.stream().anyMatch(event -> event.name().equals(Names.Event.TRACE_COMPLETED)));
            Runnable job = jobs.poll(10, TimeUnit.SECONDS);
            Thread.sleep(300);
            job.run();
            assertEquals(0, ran.get());
        }
    }

    /** An executor without memory for a thread: the call fails, news go on. */
    @Test
    void anExecutorThatFailsFailsThatCallAlone() {
        opened.close();
        try (Studio studio = Studio.open(Opened.config(folder), work -> {
            throw new OutOfMemoryError("unable to create native thread");
        })) {
            studio.tool(Opened.tool().requireApproval(false), call -> "never");
            studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("refused"));
            List<Event> told = all(studio.run("refused", "x"));
            assertTrue(told.toString().contains("unable to create native thread"), told.toString());
            assertEquals("ok", studio.call(Names.Op.HEALTH, Map.of()).get("status"));
        }
    }

    /** One that keeps what it refuses, as a pool does that has no memory for a thread. */
    @Test
    void aCallThatWasToldAsFailedIsNotRun() {
        List<Runnable> jobs = new java.util.concurrent.CopyOnWriteArrayList<>();
        List<Object> ran = new java.util.concurrent.CopyOnWriteArrayList<>();
        opened.close();
        try (Studio studio = Studio.open(Opened.config(folder), work -> {
            jobs.add(work);
            throw new java.util.concurrent.RejectedExecutionException("it is full");
        })) {
            studio.tool(Opened.tool().requireApproval(false), call -> ran.add("ran"));
            studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("refused"));
            assertTrue(all(studio.run("refused", "x")).toString().contains("it is full"));
            jobs.forEach(Runnable::run);
            assertEquals(List.of(), ran);
        }
    }

    @Test
    void aToolThatRanIsNotToldAsOneThatFailed() throws Exception {
        List<String> told = new java.util.concurrent.CopyOnWriteArrayList<>();
        java.lang.reflect.Field engine = Studio.class.getDeclaredField("engine");
        java.lang.reflect.Field door = Engine.class.getDeclaredField("door");
        engine.setAccessible(true);
        door.setAccessible(true);
        Door real = ((Engine) engine.get(opened.studio)).door;
        Class<?>[] kind = {Door.class};
        door.set(engine.get(opened.studio), java.lang.reflect.Proxy.newProxyInstance(Door.class.getClassLoader(), kind, (self, method, given) -> {
            if (method.getName().equals("hostComplete")) {
                told.add(given[2] + " " + new String((byte[]) given[3], 0, Math.min(500, ((byte[]) given[3]).length), java.nio.charset.StandardCharsets.UTF_8));
            }
            return method.invoke(real, given);
        }));
        opened.studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("odd"));
        Map<String, HostFunction> functions = Map.of(
            "not finite", call -> Double.NaN,
            "half of a", call -> CompletableFuture.completedFuture("\ud83d"),
            "the engine does not read it", call -> "x".repeat(17 << 20));
        functions.forEach((why, function) -> {
            opened.answer(function);
            all(opened.studio.run("odd", "x"));
            String last = told.get(told.size() - 1);
            assertTrue(last.startsWith("0 ") && last.contains("\"ran\":true"), last);
            assertTrue(last.contains("the tool ran, but its result could not be written as JSON ("), last);
            assertTrue(why.startsWith("the engine") == last.contains(why), last);
        });
        opened.answer(call -> {
            throw new HostFailure("the till is empty");
        });
        all(opened.studio.run("odd", "x"));
        assertEquals("0 {\"message\":\"the till is empty\"}", told.get(told.size() - 1));
    }
}
