// Owns a workflow as an export writes it.

package app.studio.workflows

import wfstudio.StudioWorkflow

class GreetWorkflow : StudioWorkflow {
    companion object {
        @JvmStatic
        fun definition(): Map<String, Any?> = mapOf(
            "slug" to "greet",
            "name" to "Greet",
            "graph" to mapOf(
                "version" to 1,
                "nodes" to listOf(
                    mapOf("id" to "start", "type" to "start", "position" to mapOf("x" to 0, "y" to 0), "data" to mapOf<String, Any?>()),
                    mapOf("id" to "stop", "type" to "stop", "position" to mapOf("x" to 0, "y" to 0), "data" to mapOf("reply" to "Hello")),
                ),
                "edges" to listOf(mapOf("id" to "a", "source" to "start", "target" to "stop", "sourceHandle" to "default", "targetHandle" to "default")),
            ),
        )
    }
}
