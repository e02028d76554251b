"""Writes a program that prints what exported classes of Kotlin return: kotlin_main.py FILES"""

import json
import sys

index = json.load(open(f"{sys.argv[1]}/index.json"))
rows = "\n".join(f'    all["{entry["full"]}"] = {entry["full"]}.definition()' for entry in index["classes"])
contracts = "\n".join(f'    {entry["full"]}() as wfstudio.Studio{entry["kind"].capitalize()}' for entry in index["classes"])
print(f"""package checks

fun quoted(text: String): String = text.map {{ letter -> if (letter in ' '..'~' && letter != '"' && letter != '\\\\') "$letter" else "\\\\u%04x".format(letter.code) }}.joinToString("", "\\"", "\\"")

fun json(value: Any?): String = when (value) {{
    null -> "null"
    is String -> quoted(value)
    is Map<*, *> -> value.entries.joinToString(",", "{{", "}}") {{ (key, inner) -> quoted(key as String) + ":" + json(inner) }}
    is List<*> -> value.joinToString(",", "[", "]") {{ json(it) }}
    else -> value.toString()
}}

fun main() {{
    val all = LinkedHashMap<String, Any?>()
{rows}
{contracts}
    println(json(all))
}}""")
