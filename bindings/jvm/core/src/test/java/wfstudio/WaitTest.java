// Owns proof that waiting for events stops nobody else, and that a stream may be closed at any moment.

package wfstudio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class WaitTest {
    private static final int RUNS = 32;

    @TempDir
    Path folder;
    private Opened opened;
    private final CountDownLatch finish = new CountDownLatch(1);

    @BeforeEach
    void open() {
        opened = new Opened(folder);
        opened.answer(call -> {
            finish.await();
            return "done";
        });
        opened.studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("slow"));
    }

    @AfterEach
    void close() {
        finish.countDown();
        opened.close();
    }

    private String last(Events events) {
        String last = null;
        try (events) {
            for (Event event : events) {
                last = event.name();
            }
        }
        return last;
    }

    /** Virtual threads on a JVM that has them: one that waited inside the library would hold its carrier, and two of them all others here. */
    @Test
    void runsThatWaitDoNotStopOtherThreads() throws Exception {
        ExecutorService threads = executor();
        List<Future<String>> runs = new ArrayList<>();
        for (int run = 0; run < RUNS; run++) {
            runs.add(threads.submit(() -> last(opened.studio.run("slow", "hi"))));
        }
        assertThrows(TimeoutException.class, () -> runs.get(RUNS - 1).get(1, TimeUnit.SECONDS));
        long begun = System.nanoTime();
        for (int turn = 0; turn < 50; turn++) {
            threads.submit(() -> {
                Thread.sleep(1);
                return null;
            }).get(5, TimeUnit.SECONDS);
        }
        assertEquals("ok", opened.studio.call(Names.Op.HEALTH, Map.of()).get("status"));
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        assertTrue(took < 2_000, "other threads took " + took + " ms");
        finish.countDown();
        for (Future<String> run : runs) {
            assertEquals(Names.Event.TRACE_COMPLETED, run.get(30, TimeUnit.SECONDS));
        }
        threads.shutdown();
    }

    private static ExecutorService executor() throws Exception {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (NoSuchMethodException before21) {
            return Executors.newCachedThreadPool();
        }
    }

    @Test
    void streamsThatSayNothingKeepNoThread() throws Exception {
        int before = Thread.activeCount();
        List<Events> open = new ArrayList<>();
        for (int run = 0; run < RUNS; run++) {
            Events events = opened.studio.run("slow", "hi");
            events.onNews(() -> {});
            open.add(events);
        }
        Thread.sleep(300);
        // Each run holds the thread of its tool, none for its stream.
        assertTrue(Thread.activeCount() - before <= RUNS + 4, Thread.activeCount() + " threads, " + before + " before");
        open.forEach(Events::close);
    }

    @Test
    void aStreamThatIsClosedWakesItsReader() throws Exception {
        Events events = opened.studio.run("slow", "hi");
        ExecutorService reader = Executors.newSingleThreadExecutor();
        Future<StudioException> woken = reader.submit(() -> assertThrows(StudioException.class, () -> events.forEach(event -> {})));
        assertThrows(TimeoutException.class, () -> woken.get(500, TimeUnit.MILLISECONDS));
        events.close();
        assertEquals(Code.CLOSED, woken.get(5, TimeUnit.SECONDS).code());
        events.close();
        assertEquals(Code.CLOSED, assertThrows(StudioException.class, events::next).code());
        events.cancel();
        reader.shutdown();
    }

    @Test
    void anInterruptedReaderLeaves() throws Exception {
        Events events = opened.studio.run("slow", "hi");
        ExecutorService reader = Executors.newSingleThreadExecutor();
        Future<?> waiting = reader.submit(() -> events.forEach(event -> {}));
        assertThrows(TimeoutException.class, () -> waiting.get(300, TimeUnit.MILLISECONDS));
        reader.shutdownNow();
        assertTrue(reader.awaitTermination(5, TimeUnit.SECONDS));
        events.close();
    }

    @Test
    void closingRacesWithReading() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        for (int turn = 0; turn < 60; turn++) {
            Events events = opened.studio.run("refund", Opened.ASK);
            Future<?> reading = threads.submit(() -> {
                try {
                    events.forEach(event -> {});
                } catch (StudioException closed) {
                    assertTrue(List.of(Code.CLOSED, Code.BAD_HANDLE).contains(closed.code()), closed.toString());
                }
            });
            Future<?> one = threads.submit(events::close);
            Future<?> other = threads.submit(events::close);
            reading.get(10, TimeUnit.SECONDS);
            one.get(10, TimeUnit.SECONDS);
            other.get(10, TimeUnit.SECONDS);
        }
        threads.shutdown();
    }

    @Test
    void closingTheStudioEndsWhoeverWaits() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<Object>> readers = new ArrayList<>();
        for (int run = 0; run < 8; run++) {
            Events events = opened.studio.run("slow", "hi");
            readers.add(threads.submit(() -> {
                try {
                    return last(events);
                } catch (StudioException closed) {
                    return closed.code();
                }
            }));
        }
        Thread.sleep(200);
        opened.studio.close(java.time.Duration.ofSeconds(2));
        for (Future<Object> reader : readers) {
            Object said = reader.get(5, TimeUnit.SECONDS);
            assertTrue(said == null || said == Code.CLOSED || said instanceof String, String.valueOf(said));
        }
        threads.shutdown();
    }
}
