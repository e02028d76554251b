// Owns the conformance host in Kotlin, on Ktor: see bindings/conformance/README.md.

import io.ktor.http.ContentType
import io.ktor.server.application.ApplicationCall
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.request.receiveText
import io.ktor.server.response.respondText
import io.ktor.server.routing.*
import java.io.File
import java.time.Duration
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.delay
import wfstudio.*

private val order = Json.`object`("""{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}""")
private val refund = Json.`object`("""{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"integer"}},"required":["order_id","amount"]}""")
private val journal = mutableListOf<Any?>()

private fun journal(vararg entry: Pair<String, Any?>) = synchronized(journal) { journal.add(mapOf(*entry)) }

private fun Studio.declare(tool: Tool, schema: Map<String, Any?>, work: suspend (HostCall) -> Any?) = suspendingTool(tool.input(schema)) { call ->
    journal("op" to "tool.call", "name" to call.payload()["name"], "arguments" to call.arguments(), "tenant" to call.payload()["tenant"], "user" to call.user())
    work(call)
}

private fun open(): Studio = Studio.open(File(System.getenv("CONFIG")).readText()).apply {
    declare(Tool.named("lookup").description("Looks an order up").idempotent(), order) { mapOf("note" to "Grüße, <b>&</b> 🌍", "order_id" to it["order_id"], "status" to "shipped") }
    declare(Tool.named("refund").description("Pays an order back").requireApproval(), refund) { mapOf("order_id" to it["order_id"], "refunded" to it["amount"]) }
    declare(Tool.named("refuse").description("Always refuses"), order) { throw HostFailure("the order is closed") }
    declare(Tool.named("explode").description("Always throws"), order) { error("boom") }
    declare(Tool.named("slow").description("Takes its time").timeout(Duration.ofSeconds(20)), order) {
        try {
            delay(15_000)
        } catch (cancelled: CancellationException) {
            journal("op" to "cancelled", "name" to "slow")
            throw cancelled
        }
    }
    gate { asked ->
        journal("op" to "gate", "method" to asked["method"], "path" to asked["path"], "user" to asked["user"])
        (asked["user"] as? Map<*, *>)?.get("id") == "ada"
    }
    secrets { name, tenant ->
        journal("op" to "secret.get", "name" to name, "tenant" to tenant)
        "key-of-the-peer".takeIf { name == "PEER_KEY" }
    }
    answer(Names.HostOp.PROVIDER_CHAT) { call ->
        val last = (call["messages"] as List<*>).map { it as Map<*, *> }.last { it["role"] == "user" }["content"]
        journal("op" to "provider.chat", "model" to call["model"], "last" to last)
        if (call["model"] != "parrot") throw HostFailure("the model is away")
        for (delta in listOf("You ", "said: ", last)) call.chunk(mapOf("delta" to delta))
        mapOf("message" to mapOf("role" to "assistant", "content" to "You said: $last"), "usage" to mapOf("prompt_tokens" to 7, "completion_tokens" to 5), "finish_reason" to "stop")
    }
}

fun main() {
    val studio = open()
    val marks = Marks.user { request -> request.header("X-User")?.let { mapOf("id" to it) } }
        .gate { request -> request.header("X-Gate")?.let { it == "open" } }
        .tenant { it.header("X-Tenant") }.authorized { it.header("X-Authorized") != null }
    embeddedServer(Netty, System.getenv("PORT").toInt(), "127.0.0.1") {
        mount(studio, marks)
        routing {
            get("/own/ping") { call.respondText("pong") }
            get("/own/journal") { call.json(synchronized(journal) { Json.write(journal).also { journal.clear() } }) }
            post("/own/run") { call.respondText(run(studio, Json.`object`(call.receiveText())), ContentType.parse("application/x-ndjson")) }
            post("/own/call") { call.json(Json.write(operation(studio, Json.`object`(call.receiveText())))) }
            post("/own/close") {
                studio.close(Duration.ofSeconds(2))
                call.json("""{"closed":true}""")
            }
            post("/own/crash") { crash(Json.`object`(call.receiveText())["how"]) }
        }
    }.start(wait = true)
}

private suspend fun ApplicationCall.json(text: String) = respondText(text, ContentType.Application.Json)

private fun failed(failure: StudioException) = mapOf("error" to failure.number(), "problem" to failure.problem()["code"])

@Suppress("UNCHECKED_CAST")
private suspend fun operation(studio: Studio, asked: Map<String, Any?>): Map<String, Any?> = try {
    mapOf("result" to studio.ask(asked["op"] as String, asked["request"] as? Map<String, Any?> ?: emptyMap()))
} catch (failure: StudioException) {
    failed(failure)
}

private class Left : CancellationException("left")

@Suppress("UNCHECKED_CAST")
private suspend fun run(studio: Studio, asked: Map<String, Any?>): String {
    val lines = mutableListOf<Any?>()
    try {
        val answer = asked["resume"] as? Map<String, Any?>
        val events = if (answer != null) studio.resumed(answer["trace_id"] as String, answer) else studio.events(asked["run"] as Map<String, Any?>)
        events.collect { event ->
            lines += mapOf("event" to event.name(), "data" to event.data())
            if (event.name() == asked["leave_after"]) throw Left()
            if (event.name() == asked["cancel_after"]) studio.ask(Names.Op.RUN_CANCEL, mapOf("trace_id" to (lines.first() as Map<*, *>).let { (it["data"] as Map<*, *>)["trace_id"] }))
        }
        lines += mapOf("end" to true)
    } catch (left: Left) {
        lines += mapOf("left" to true)
    } catch (failure: StudioException) {
        lines += failed(failure)
    }
    return lines.joinToString("") { Json.write(it) + "\n" }
}

private fun crash(how: Any?) {
    if (how == "now") Runtime.getRuntime().halt(70)
    thread {
        if (how == "exit") exitProcess(0)
        Thread.currentThread().setUncaughtExceptionHandler { _, _ -> exitProcess(1) }
        error("on purpose")
    }
}
