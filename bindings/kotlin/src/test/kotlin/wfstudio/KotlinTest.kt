// Owns proof that flows, tools that suspend and exported classes work from Kotlin.

package wfstudio

import java.nio.file.Path
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir

@Timeout(60)
class KotlinTest {
    @TempDir
    lateinit var folder: Path
    private lateinit var opened: Opened

    @BeforeEach
    fun open() {
        opened = Opened(folder)
    }

    @AfterEach
    fun close() = opened.close()

    @Test
    fun `a run is a flow, paused and resumed`() = runBlocking {
        val asked = opened.studio.events("refund", Opened.ASK).toList().last()
        assertEquals(Names.Event.TOOL_APPROVAL_REQUIRED, asked.name())
        val names = opened.studio.resumed(asked["trace_id"] as String, mapOf("approval" to "approve")).map { it.name() }.toList()
        assertEquals(Names.Event.TRACE_COMPLETED, names.last())
        assertEquals(listOf("A-100 25"), opened.refunds)
    }

    @Test
    fun `a collector that leaves closes its stream`() = runBlocking {
        assertEquals(Names.Event.TRACE_STARTED, opened.studio.events("refund", Opened.ASK).first { it.name() == Names.Event.TRACE_STARTED }.name())
        assertThrows(StudioException::class.java) { runBlocking { opened.studio.events("nothing", "hi").toList() } }
        Unit
    }

    @Test
    fun `a tool that suspends keeps no thread and is cancelled`() = runBlocking {
        val begun = CompletableDeferred<Unit>()
        val cancelled = CountDownLatch(1)
        opened.studio.suspendingTool(Opened.tool().requireApproval(false)) { call ->
            if (call["order_id"] != null) {
                delay(10)
                mapOf("paid" to call["order_id"])
            } else {
                try {
                    begun.complete(Unit)
                    awaitCancellation()
                } finally {
                    cancelled.countDown()
                }
            }
        }
        val result = opened.studio.events("refund", Opened.ASK).first { it.name() == Names.Event.TOOL_RESULT }
        assertTrue(result.text().contains("A-100"), result.text())
        opened.studio.ask(Names.Op.WORKFLOW_SAVE, Opened.slow("slow"))
        val run = CompletableDeferred<String>()
        val ended = async {
            val names = mutableListOf<String>()
            opened.studio.events("slow", "hi").collect {
                it["trace_id"]?.let { id -> run.complete(id as String) }
                names += it.name()
            }
            names.last()
        }
        begun.await()
        opened.studio.ask(Names.Op.RUN_CANCEL, mapOf("trace_id" to run.await()))
        assertEquals(Names.Event.TRACE_CANCELLED, withTimeout(10_000) { ended.await() })
        assertTrue(cancelled.await(5, TimeUnit.SECONDS))
    }

    @Test
    fun `many flows wait on one thread`() = runBlocking {
        val finish = CompletableDeferred<Unit>()
        opened.studio.suspendingTool(Opened.tool().requireApproval(false)) { finish.await() }
        opened.studio.call(Names.Op.WORKFLOW_SAVE, Opened.slow("slow"))
        val runs = (1..32).map { async { opened.studio.events("slow", "hi").toList().last().name() } }
        repeat(50) { delay(5) }
        assertTrue(runs.none { it.isCompleted })
        finish.complete(Unit)
        assertEquals(List(32) { Names.Event.TRACE_COMPLETED }, runs.map { it.await() })
    }

    @Test
    fun `an exported class is registered and runs`() = runBlocking {
        opened.studio.register(app.studio.workflows.GreetWorkflow::class)
        val last = opened.studio.events("greet", "hi").toList().last()
        assertEquals(Names.Event.TRACE_COMPLETED, last.name(), last.text())
        assertEquals("""{"most":18446744073709551615}""", Json.write(mapOf("most" to 18446744073709551615UL)))
    }
}
