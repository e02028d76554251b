#!/usr/bin/env python3
"""Owns the generated files of the JVM: names, codes and native functions, from `abi.json`.

    bindings/generate/jvm.py [--abi bindings/abi.json] [--check]
"""

import argparse
import json
import pathlib
import sys

BINDINGS = pathlib.Path(__file__).resolve().parents[1]
CORE = BINDINGS / "jvm" / "core" / "src" / "main"
NOTE = "// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.\n"


def bound(function):
    """Functions that never wait without a limit and give no callback: those that a managed runtime may call. The declaration of what the
    host answers goes without its callback."""
    roles = {parameter["role"] for parameter in function["parameters"]}
    return function["waits"] is not True and function["result"] != "descriptor" and not ("callback" in roles and "text" not in roles) and "in_out_buffer" not in roles


def camel(name):
    first, *rest = name.removeprefix("studio_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def constant(name):
    return name.replace(".", "_").upper()


RETURNS = {"code": "int", "version": "int", "text": "String", None: "void"}
SHOWN = {"text": "byte[]", "bytes": "byte[]", "name": "String", "out_handle": "long[]", "out_buffer": "Buffer", "handle": "long", "timeout": "int", "out_numbers": "long[]", "out_count": "long[]"}
VALUES = {"size_t": "long", "uint64_t": "long", "int32_t": "int", "uint32_t": "int"}
HIDDEN = {"length", "room", "callback", "user_data"}


def shown(parameter):
    return SHOWN.get(parameter["role"]) or VALUES[parameter["type"]]


def variable(parameter):
    return camel("studio_" + parameter["name"])


def signature(function):
    inside = ", ".join(f"{shown(parameter)} {variable(parameter)}" for parameter in function["parameters"] if parameter["role"] not in HIDDEN)
    return f"{RETURNS[function['result']]} {camel(function['name'])}({inside})"


def doc(text, indent="    "):
    return f"{indent}/** {text} */\n" if text else ""


def codes(abi):
    rows = [code for code in abi["codes"] if code["error"]]
    listed = ",\n".join(f"{doc(row['doc'])}    {row['name'].removeprefix('STUDIO_')}({row['value']})" for row in rows)
    return f"""{NOTE}
package wfstudio;

/** Why a call failed. */
public enum Code {{
{listed},
    /** A code that a newer library has. */
    OTHER(0);

    private final int number;

    Code(int number) {{
        this.number = number;
    }}

    /** The number of the native functions. */
    public int number() {{
        return number;
    }}

    static Code of(int number) {{
        for (Code code : values()) {{
            if (code.number == number) {{
                return code;
            }}
        }}
        return OTHER;
    }}
}}
"""


def constants(abi):
    rows = "".join(f"{doc(code['doc'])}    static final int {code['name'].removeprefix('STUDIO_')} = {code['value']};\n" for code in abi["codes"])
    return f"""{NOTE}
package wfstudio;

/** What the native functions answer. */
final class Abi {{
    /** Major and minor version of the native functions. */
    static final int VERSION = {abi['abi']['number']};
{rows}
    private Abi() {{}}
}}
"""


def names(abi):
    unanswered = ", ".join(constant(row["name"]) for row in abi["host_ops"] if not row["answered"])
    unanswered = f"        /** Of these, what no answer is expected to. */\n        static final java.util.Set<String> UNANSWERED = java.util.Set.of({unanswered});\n"

    def group(title, words, about, more=""):
        rows = "".join(f'        public static final String {constant(word)} = "{word}";\n' for word in words)
        return f"    /** {about} */\n    public static final class {title} {{\n{rows}{more}\n        private {title}() {{}}\n    }}\n"

    listed = lambda key: [row["name"] for row in abi[key]]
    groups = [
        group("Op", listed("ops") + abi["started"], "Operations of the engine."),
        group("HostOp", listed("host_ops"), "What the engine asks the application.", unanswered),
        group("Mark", listed("marks"), "What is said beside a request."),
        group("Event", listed("events"), "Events of a run."),
    ]
    return f"{NOTE}\npackage wfstudio;\n\n/** Names that the engine knows. */\npublic final class Names {{\n" + "\n".join(groups) + "\n    private Names() {}\n}\n"


def made(function):
    """A function that makes a handle, with Java's result: the handle, or the failure thrown."""
    given = [parameter for parameter in function["parameters"] if parameter["role"] not in HIDDEN | {"out_handle", "out_buffer"}]
    taken = ", ".join(f"{shown(parameter)} {variable(parameter)}" for parameter in given)
    name = camel(function["name"])
    return f"""    /** The same; gives what was made, or throws why it was not. */
    default long {name}({taken}) {{
        long[] out = new long[1];
        Buffer err = new Buffer();
        int code = {name}({', '.join([*map(variable, given), 'out', 'err'])});
        if (code < 0) {{
            throw StudioException.of(code, err.bytes);
        }}
        return out[0];
    }}
"""


def door(abi):
    functions = [function for function in abi["functions"] if bound(function)]
    makes = lambda function: {parameter["name"] for parameter in function["parameters"]} >= {"out", "err"}
    rows = "\n".join(f"{doc(function['doc'])}    {signature(function)};\n" + (f"\n{made(function)}" if makes(function) else "") for function in functions)
    return f"""{NOTE}
package wfstudio;

/** The native functions that answer at once. */
interface Door {{
    /** What a function filled in. */
    final class Buffer {{
        byte[] bytes = new byte[0];
    }}

{rows}}}
"""


JNA_TYPES = {"handle": "long", "timeout": "int", "text": "byte[]", "bytes": "byte[]", "name": "byte[]", "length": "long", "room": "long", "out_handle": "long[]", "out_buffer": "Pointer", "out_numbers": "long[]", "out_count": "long[]", "callback": "Pointer", "user_data": "Pointer", "in_out_buffer": "Pointer"}


def jna_type(parameter):
    return JNA_TYPES.get(parameter["role"]) or VALUES[parameter["type"]]


def lengths(function):
    return {parameter["length"]: variable(parameter) for parameter in function["parameters"] if parameter.get("length")}


def jna(abi):
    native, methods = [], []
    for function in abi["functions"]:
        if not bound(function) and function["name"] != "studio_buf_free":
            continue
        inside = ", ".join(f"{jna_type(parameter)} {variable(parameter)}" for parameter in function["parameters"])
        returns = "Pointer" if function["result"] == "text" else RETURNS[function["result"]]
        native.append(f"    private static native {returns} {function['name']}({inside});\n")
        if not bound(function):
            continue
        given, buffers, numbers = [], [], None
        measured = lengths(function)
        for parameter in function["parameters"]:
            role, name = parameter["role"], variable(parameter)
            if role == "length":
                given.append(f"size({measured[parameter['name']]})")
            elif role == "room":
                given.append(f"{numbers}.length")
            elif role in ("callback", "user_data"):
                given.append("null")
            elif role == "name":
                given.append(f"text({name})")
            elif role == "out_buffer":
                buffers.append(name)
                given.append(f"{name}Memory")
            else:
                numbers = name if role == "out_numbers" else numbers
                given.append(name)
        call = f"{function['name']}({', '.join(given)})"
        if function["result"] == "text":
            body = f'        return {call}.getString(0, "UTF-8");\n'
        elif buffers:
            opened = "; ".join(f"Memory {name}Memory = empty()" for name in buffers)
            taken = "".join(f"            take({name}Memory, {name});\n" for name in buffers)
            body = f"        try ({opened}) {{\n            int code = {call};\n{taken}            return code;\n        }}\n"
        else:
            body = f"        {'return ' if function['result'] else ''}{call};\n"
        methods.append(f"    @Override\n    public {signature(function)} {{\n{body}    }}\n")
    return f"""{NOTE}
package wfstudio;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;

/** The native functions by JNA. */
final class JnaDoor implements Door {{
    JnaDoor(String library) {{
        Native.register(JnaDoor.class, NativeLibrary.getInstance(library));
    }}

{"".join(native)}
{chr(10).join(methods)}
    private static Memory empty() {{
        Memory memory = new Memory(24);
        memory.clear();
        return memory;
    }}

    private static void take(Memory memory, Buffer into) {{
        Pointer data = memory.getPointer(0);
        into.bytes = data == null ? new byte[0] : data.getByteArray(0, Math.toIntExact(memory.getLong(8)));
        studio_buf_free(memory);
    }}

    private static long size(byte[] bytes) {{
        return bytes == null ? 0 : bytes.length;
    }}

    private static byte[] text(String text) {{
        return (text + '\\0').getBytes(StandardCharsets.UTF_8);
    }}
}}
"""


FFM_TYPES = {"handle": "JAVA_LONG", "timeout": "JAVA_INT", "length": "JAVA_LONG", "room": "JAVA_LONG"}
FFM_VALUES = {"long": "JAVA_LONG", "int": "JAVA_INT"}


def ffm_type(parameter):
    role = parameter["role"]
    return FFM_TYPES.get(role) or (FFM_VALUES[VALUES[parameter["type"]]] if role == "value" else "ADDRESS")


def ffm(abi):
    handles, found, methods = [], [], []
    for function in abi["functions"]:
        if not bound(function) and function["name"] != "studio_buf_free":
            continue
        field = camel(function["name"])
        layouts = [ffm_type(parameter) for parameter in function["parameters"]]
        result = {"code": "JAVA_INT", "version": "JAVA_INT", "text": "ADDRESS"}.get(function["result"])
        described = f"FunctionDescriptor.of({', '.join([result] + layouts)})" if result else f"FunctionDescriptor.ofVoid({', '.join(layouts)})"
        handles.append(f"    private final MethodHandle {field};\n")
        found.append(f'        {field} = find(linker, symbols, "{function["name"]}", {described});\n')
        if not bound(function):
            continue
        given, before, after, numbers, confined = [], [], [], None, False
        measured = lengths(function)
        for parameter in function["parameters"]:
            role, name = parameter["role"], variable(parameter)
            if role == "length":
                given.append(f"size({measured[parameter['name']]})")
            elif role == "room":
                given.append(f"(long) {numbers}.length")
            elif role in ("callback", "user_data"):
                given.append("MemorySegment.NULL")
            elif role in ("handle", "timeout", "value"):
                given.append(name)
            else:
                confined, segment = True, f"{name}Segment"
                given.append(segment)
                if role in ("text", "bytes"):
                    before.append(f"MemorySegment {segment} = bytes(arena, {name});")
                elif role == "name":
                    before.append(f"MemorySegment {segment} = arena.allocateFrom({name});")
                elif role == "out_buffer":
                    before.append(f"MemorySegment {segment} = arena.allocate(24, 8);")
                    after.append(f"take({segment}, {name});")
                else:
                    numbers = name if role == "out_numbers" else numbers
                    before.append(f"MemorySegment {segment} = arena.allocate(JAVA_LONG, {name}.length);")
                    after.append(f"MemorySegment.copy({segment}, JAVA_LONG, 0, {name}, 0, {name}.length);")
        call = f"{field}.invokeExact({', '.join(given)})"
        if function["result"] == "text":
            inner = f"            return ((MemorySegment) {call}).reinterpret(4096).getString(0);\n"
        elif not function["result"]:
            inner = f"            {call};\n"
        elif not confined:
            inner = f"            return (int) {call};\n"
        else:
            inner = "".join(f"            {line}\n" for line in before + [f"int code = (int) {call};"] + after + ["return code;"])
        opened = "try (Arena arena = Arena.ofConfined()) {" if confined else "try {"
        methods.append(f"    @Override\n    public {signature(function)} {{\n        {opened}\n{inner}        }} catch (Throwable failure) {{\n            throw failed(failure);\n        }}\n    }}\n")
    return f"""{NOTE}
package wfstudio;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The native functions by the foreign function interface of Java 22. */
final class FfmDoor implements Door {{
{"".join(handles)}
    FfmDoor(String library) {{
        Linker linker = Linker.nativeLinker();
        Path path = Path.of(library);
        SymbolLookup symbols = path.isAbsolute() ? SymbolLookup.libraryLookup(path, Arena.global()) : SymbolLookup.libraryLookup(library, Arena.global());
{"".join(found)}    }}

{chr(10).join(methods)}
    private static MethodHandle find(Linker linker, SymbolLookup symbols, String name, FunctionDescriptor described) {{
        MemorySegment symbol = symbols.find(name).orElseThrow(() -> new UnsatisfiedLinkError("there is no function " + name));
        return linker.downcallHandle(symbol, described);
    }}

    private static MemorySegment bytes(Arena arena, byte[] bytes) {{
        return bytes == null || bytes.length == 0 ? MemorySegment.NULL : arena.allocateFrom(JAVA_BYTE, bytes);
    }}

    private static long size(byte[] bytes) {{
        return bytes == null ? 0 : bytes.length;
    }}

    private void take(MemorySegment buffer, Buffer into) throws Throwable {{
        MemorySegment data = buffer.get(ADDRESS, 0);
        long size = buffer.get(JAVA_LONG, 8);
        into.bytes = data.address() == 0 ? new byte[0] : data.reinterpret(size).toArray(JAVA_BYTE);
        bufFree.invokeExact(buffer);
    }}

    private static RuntimeException failed(Throwable failure) {{
        if (failure instanceof Error error) {{
            throw error;
        }}
        return failure instanceof RuntimeException known ? known : new IllegalStateException(failure);
    }}
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--abi", default=BINDINGS / "abi.json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    abi = json.loads(asked.abi.read_text())
    java, newer = CORE / "java" / "wfstudio", CORE / "java22" / "wfstudio"
    files = {java / "Code.java": codes, java / "Abi.java": constants, java / "Names.java": names, java / "Door.java": door, java / "JnaDoor.java": jna, newer / "FfmDoor.java": ffm}
    stale = []
    for path, write in files.items():
        text = write(abi)
        if asked.check and (not path.exists() or path.read_text() != text):
            stale.append(str(path.relative_to(BINDINGS)))
        elif not asked.check:
            path.write_text(text)
    if stale:
        sys.exit(f"not as the generator writes them: {', '.join(stale)}")


if __name__ == "__main__":
    main()
