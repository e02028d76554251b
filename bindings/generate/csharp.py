#!/usr/bin/env python3
"""Writes what the C# sources list: codes, operations, events, the C functions as delegates. `--check` only compares."""

import sys

from _native import Abi, camel, keep, version

TYPES = {
    "const uint8_t*": "byte[]",
    "const char*": "byte[]",
    "size_t": "UIntPtr",
    "int32_t": "int",
    "uint32_t": "uint",
    "uint64_t": "ulong",
    "uint64_t*": "[Out] ulong[]",
    "size_t*": "out UIntPtr",
    "studio_buf*": "ref Buf",
    "studio_engine*": "EngineHandle",
    "studio_stream*": "StreamHandle",
    "studio_engine**": "out IntPtr",
    "studio_stream**": "out IntPtr",
    "void*": "IntPtr",
    "studio_host_fn": "IntPtr",
    "studio_destroy_fn": "IntPtr",
}
RESULTS = {"const char*": "IntPtr", "void": "void", "int32_t": "int", "uint32_t": "uint"}
# Callbacks are not for a managed runtime: the library never calls into it. A closing handle passes its number itself.
PUSHED = {"log_set", "stream_on_event"}
CLOSING = {"stream_close": {"studio_stream*": "IntPtr"}}

abi = Abi()
lines = ["// Written by `make generate`; do not edit.", "using System;", "using System.Runtime.InteropServices;", "", "namespace WfStudio", "{"]
lines += ["    /// <summary>What went wrong.</summary>", "    public enum StudioCode", "    {"]
for code in abi.codes:
    if code.value < 0:
        lines += [f"        /// <summary>{code.text.replace('&', '&amp;').replace('<', '&lt;')}</summary>", f"        {camel(code.name)} = {code.value},"]
lines += ["    }", "", "    internal static class Answered", "    {"]
lines += [f"        internal const int {camel(code.name)} = {code.value};" for code in abi.codes if code.value >= 0] + ["    }", ""]
for said, kind, names in (
    ("What Studio.Call does.", "public static class Op", abi.ops),
    ("What a host may be asked.", "public static class HostOp", abi.host_ops),
    ("What happens in a run.", "public static class EventName", abi.events),
    ("What begins a stream.", "internal static class Begin", abi.started),
):
    lines += [f"    /// <summary>{said}</summary>", f"    {kind}", "    {"]
    for name in names:
        if kind.startswith("public"):
            lines.append(f"        /// <summary>{name}</summary>")
        lines.append(f"        {'public' if kind.startswith('public') else 'internal'} const string {camel(name)} = \"{name}\";")
    lines += ["    }", ""]
functions = [one for one in abi.functions if one.name not in PUSHED]
lines += ["    internal sealed class Native", "    {", f"        internal const uint Major = {abi.major}, Minor = {abi.minor};", f'        internal const string Package = "{version()}";', ""]
for one in functions:
    types = {**TYPES, **CLOSING.get(one.name, {})}
    taken = ", ".join(f"{types[parameter.type]} @{parameter.name}" for parameter in one.parameters)
    lines += ["        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]", f"        internal delegate {RESULTS[one.result]} {camel(one.name)}Function({taken});", ""]
lines += [f"        internal readonly {camel(one.name)}Function {camel(one.name)};" for one in functions]
lines += ["", "        /// <summary>Takes each function by its name.</summary>", "        internal Native(Func<string, Type, Delegate> find)", "        {"]
lines += [f'            {camel(one.name)} = ({camel(one.name)}Function)find("studio_{one.name}", typeof({camel(one.name)}Function));' for one in functions]
lines += ["        }", "    }", "}", ""]
sys.exit(keep("bindings/csharp/WfStudio/Generated.cs", "\n".join(lines)))
