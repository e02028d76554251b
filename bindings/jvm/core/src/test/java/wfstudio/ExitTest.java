// Owns proof that the process ends well, however it ends, with a stream open and a call in flight.

package wfstudio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class ExitTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"term, 143", "normal, 0", "exit, 3", "throw, 1", "halt, 70"})
    void theProcessEndsWithoutACrashAndInTime(String how, int expected) throws Exception {
        Path log = folder.resolve("log");
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx200m", "-XX:ErrorFile=" + folder.resolve("crash"),
            "-Dwfstudio.examples=" + Opened.EXAMPLES, "-cp", System.getProperty("wfstudio.classpath"), Leaving.class.getName(), how, folder.toString())
            .redirectError(log.toFile()).start();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            String said = out.readLine();
            assertEquals("ready", said, () -> read(log));
            if (how.equals("term")) {
                process.destroy();
            }
            assertTrue(process.waitFor(10, TimeUnit.SECONDS), () -> "it hangs: " + read(log));
        } finally {
            process.destroyForcibly();
        }
        assertEquals(expected, process.exitValue(), () -> read(log));
        assertTrue(Files.notExists(folder.resolve("crash")));
    }

    private static String read(Path log) {
        try {
            return Files.readString(log);
        } catch (java.io.IOException gone) {
            return gone.toString();
        }
    }

    /** The process that leaves. */
    static final class Leaving {
        public static void main(String[] arguments) throws Exception {
            Opened opened = new Opened(Path.of(arguments[1]));
            java.util.concurrent.CountDownLatch begun = new java.util.concurrent.CountDownLatch(4);
            opened.answer(call -> {
                begun.countDown();
                Thread.sleep(30_000);
                return null;
            });
            opened.studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("slow"));
            for (int run = 0; run < 4; run++) {
                Events events = opened.studio.run("slow", "hi");
                Thread reader = new Thread(() -> {
                    try {
                        events.forEach(event -> {});
                    } catch (StudioException closed) {
                        System.err.println(closed);
                    }
                });
                reader.setDaemon(true);
                reader.start();
            }
            begun.await();
            System.out.println("ready");
            switch (arguments[0]) {
                case "term" -> Thread.sleep(30_000);
                case "exit" -> System.exit(3);
                case "throw" -> throw new IllegalStateException(Map.of("thrown", "on purpose").toString());
                case "halt" -> Runtime.getRuntime().halt(70);
                default -> System.err.println("main returns");
            }
        }
    }
}
