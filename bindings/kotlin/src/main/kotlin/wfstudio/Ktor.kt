// Owns the mount for Ktor.

package wfstudio

import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.http.content.OutgoingContent
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.request.httpMethod
import io.ktor.server.request.receiveChannel
import io.ktor.server.request.uri
import io.ktor.server.response.respond
import io.ktor.server.routing.RoutingContext
import io.ktor.server.routing.route
import io.ktor.server.routing.routing
import io.ktor.utils.io.ByteWriteChannel
import io.ktor.utils.io.jvm.javaio.toInputStream
import io.ktor.utils.io.writeFully
import java.io.InputStream
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.runInterruptible

/** Mounts the studio; what is said beside each request is in `marks`. */
public fun Application.mount(studio: Studio, marks: Marks) {
    val mount = Mount(studio, marks)
    routing {
        for (path in studio.mounts()) {
            route(path) { handle { answer(mount) } }
            route("$path/{...}") { handle { answer(mount) } }
        }
    }
}

private suspend fun RoutingContext.answer(mount: Mount) {
    val asked = Asked(call)
    val answer = runInterruptible(Dispatchers.IO) { mount.answer(asked) }
    try {
        call.respond(Told(answer, call.request.httpMethod))
    } finally {
        answer.close()
    }
}

private class Told(private val answer: HttpAnswer, method: HttpMethod) : OutgoingContent.WriteChannelContent() {
    private val whole = answer.body()
    private val none = method == HttpMethod.Head || answer.status() == 204 || answer.status() == 304
    private val type = answer.headers().firstOrNull { it.key.equals(HttpHeaders.ContentType, ignoreCase = true) }?.value
    override val status = HttpStatusCode.fromValue(answer.status())
    override val contentType = type?.let { ContentType.parse(it) }
    override val contentLength = if (none) null else whole?.size?.toLong()
    override val headers = io.ktor.http.Headers.build {
        answer.headers().filterNot { it.key.equals(HttpHeaders.ContentType, ignoreCase = true) || it.key.equals(HttpHeaders.ContentLength, ignoreCase = true) }
            .forEach { append(it.key, it.value) }
    }

    override suspend fun writeTo(channel: ByteWriteChannel) {
        if (none) return
        if (whole != null) {
            channel.writeFully(whole)
            return
        }
        val news = Channel<Unit>(Channel.CONFLATED)
        answer.onNews { news.trySend(Unit) }
        while (true) {
            val piece = answer.poll() ?: break
            if (piece.isEmpty()) {
                news.receive()
            } else {
                channel.writeFully(piece)
                channel.flush()
            }
        }
    }
}

private class Asked(private val call: ApplicationCall) : Request {
    override fun method(): String = call.request.httpMethod.value

    override fun path(): String = call.request.uri.substringBefore('?')

    override fun query(): String = call.request.uri.substringAfter('?', "")

    override fun headers(): List<Map.Entry<String, String>> = call.request.headers.entries().flatMap { header -> header.value.map { java.util.Map.entry(header.key, it) } }

    override fun body(): InputStream = kotlinx.coroutines.runBlocking { call.receiveChannel() }.toInputStream()

    override fun <T> unwrap(type: Class<T>): T = type.cast(call)
}
