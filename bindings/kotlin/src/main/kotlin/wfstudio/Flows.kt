// Owns the studio as Kotlin has it: runs as flows, operations and tools that suspend, contracts by their classes.

package wfstudio

import kotlin.reflect.KClass
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.future.future
import kotlinx.coroutines.runInterruptible

/** Runs a workflow; each collector runs it anew. A collector that leaves closes the stream, and the run goes on. */
public fun Studio.events(workflow: String, message: String): Flow<Event> = events(mapOf("workflow" to workflow, "message" to message))

/** Runs a `workflow` or a turn of an `agent`. */
public fun Studio.events(request: Map<String, Any?>): Flow<Event> = flowOf { run(request) }

/** Answers a pause and gives the events that follow. */
public fun Studio.resumed(traceId: String, answer: Map<String, Any?>): Flow<Event> = flowOf { resume(traceId, answer) }

private fun flowOf(begin: () -> Events): Flow<Event> = flow {
    // Whoever is cancelled while the run begins closes its stream all the same.
    var begun: Events? = null
    try {
        runInterruptible(Dispatchers.IO) { begun = begin() }
        val events = begun!!
        val news = Channel<Unit>(Channel.CONFLATED)
        events.onNews { news.trySend(Unit) }
        while (true) {
            val event = events.poll()
            when {
                event != null -> emit(event)
                events.isOver -> break
                else -> news.receive()
            }
        }
    } finally {
        begun?.close()
    }
}

/** One operation of [Names.Op], without keeping a thread of the caller. */
public suspend fun Studio.ask(op: String, request: Map<String, Any?> = emptyMap()): Map<String, Any?> = runInterruptible(Dispatchers.IO) { call(op, request) }

private val tools = CoroutineScope(SupervisorJob() + Dispatchers.Default)

/** Declares a tool that suspends; its coroutine is cancelled when its result is no longer wanted. */
public fun Studio.suspendingTool(tool: Tool, work: suspend (HostCall) -> Any?): Studio = tool(tool) { call -> tools.future { work(call).takeUnless { it == Unit } } }

/** Registers a class with a contract: [StudioWorkflow], [StudioAgent] or [StudioTool]. */
public fun Studio.register(type: KClass<*>): Studio = register(type.java)
