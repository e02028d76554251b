// Loads the raw Kotlin module and plays a session: an engine, a workflow, a run whose tool the host answers on a thread of the library, an HTTP request, an error.
// The property `uniffi.component.wfstudio.libraryOverride` names the library.

import java.nio.file.Files
import uniffi.wfstudio.HostCalls
import uniffi.wfstudio.StudioEngine
import uniffi.wfstudio.StudioException
import uniffi.wfstudio.libraryVersion

fun main() {
    val file = Files.createTempDirectory("wfstudio").resolve("raw.sqlite")
    val engine = StudioEngine.open("""{"environment":"local","database":{"path":"$file"}}""")
    engine.setHost("""{"ops":["tool.call"],"tools":[{"name":"refund"}]}""", object : HostCalls {
        override fun takeCall(call: String) {
            val id = Regex(""""call_id":(\d+)""").find(call)!!.groupValues[1].toLong()
            engine.completeHostCall(id, 1, """{"refunded":25}""")
        }
    })
    val at = """"position":{"x":0,"y":0}"""
    val nodes = """[{"id":"a","type":"start","data":{},$at},{"id":"b","type":"tool","data":{"tool_ref":"host:refund"},$at},{"id":"c","type":"stop","data":{"reply":"done"},$at}]"""
    val edges = """[{"id":"ab","source":"a","target":"b"},{"id":"bc","source":"b","target":"c"}]"""
    engine.call("workflow.save", """{"slug":"pay","name":"Pay","graph":{"version":1,"nodes":$nodes,"edges":$edges}}""")
    val events = StringBuilder()
    engine.run("""{"workflow":"pay","message":"hi"}""").use { stream ->
        while (!events.contains("event: trace_completed")) events.append(String(stream.nextBatch(10_000, 0) ?: break))
    }
    check(events.contains("\"done\"")) { events }
    val answer = engine.http("""{"method":"GET","path":"/studio/api/workflows","query":"","headers":[],"gate":true}""", ByteArray(0))
    check(answer.head.contains("\"status\":200")) { answer.head }
    val code = try { engine.run("""{"workflow":"none","message":"hi"}""").finish(); 0 } catch (failed: StudioException.Failed) { failed.code }
    check(code == -2) { code }
    engine.shutdown(2000)
    println("uniffi: the raw Kotlin module of ${libraryVersion()} opens, runs, answers and closes")
}
