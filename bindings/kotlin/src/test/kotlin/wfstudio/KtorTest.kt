// Owns proof that the studio works in Ktor.

package wfstudio

import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.routing

class KtorTest : MountChecks() {
    override fun serve(studio: Studio, port: Int): AutoCloseable {
        val server = embeddedServer(Netty, port, "127.0.0.1") {
            mount(studio, MARKS)
            routing { get("/own") { call.respondText("own") } }
        }
        server.start()
        return AutoCloseable { server.stop(0, 1000) }
    }
}
