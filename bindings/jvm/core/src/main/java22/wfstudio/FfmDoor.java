// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

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
final class FfmDoor implements Door {
    private final MethodHandle abiVersion;
    private final MethodHandle version;
    private final MethodHandle bufFree;
    private final MethodHandle engineOpen;
    private final MethodHandle engineShared;
    private final MethodHandle engineClose;
    private final MethodHandle shutdown;
    private final MethodHandle hostSet;
    private final MethodHandle hostNext;
    private final MethodHandle hostComplete;
    private final MethodHandle start;
    private final MethodHandle ready;
    private final MethodHandle streamNext;
    private final MethodHandle streamNextBatch;
    private final MethodHandle streamCancel;
    private final MethodHandle streamClose;

    FfmDoor(String library) {
        Linker linker = Linker.nativeLinker();
        Path path = Path.of(library);
        SymbolLookup symbols = path.isAbsolute() ? SymbolLookup.libraryLookup(path, Arena.global()) : SymbolLookup.libraryLookup(library, Arena.global());
        abiVersion = find(linker, symbols, "studio_abi_version", FunctionDescriptor.of(JAVA_INT));
        version = find(linker, symbols, "studio_version", FunctionDescriptor.of(ADDRESS));
        bufFree = find(linker, symbols, "studio_buf_free", FunctionDescriptor.ofVoid(ADDRESS));
        engineOpen = find(linker, symbols, "studio_engine_open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
        engineShared = find(linker, symbols, "studio_engine_shared", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
        engineClose = find(linker, symbols, "studio_engine_close", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
        shutdown = find(linker, symbols, "studio_shutdown", FunctionDescriptor.ofVoid(JAVA_INT));
        hostSet = find(linker, symbols, "studio_host_set", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
        hostNext = find(linker, symbols, "studio_host_next", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));
        hostComplete = find(linker, symbols, "studio_host_complete", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
        start = find(linker, symbols, "studio_start", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
        ready = find(linker, symbols, "studio_ready", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
        streamNext = find(linker, symbols, "studio_stream_next", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));
        streamNextBatch = find(linker, symbols, "studio_stream_next_batch", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, ADDRESS));
        streamCancel = find(linker, symbols, "studio_stream_cancel", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
        streamClose = find(linker, symbols, "studio_stream_close", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    @Override
    public int abiVersion() {
        try {
            return (int) abiVersion.invokeExact();
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public String version() {
        try {
            return ((MemorySegment) version.invokeExact()).reinterpret(4096).getString(0);
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int engineOpen(byte[] config, long[] out, Buffer err) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment configSegment = bytes(arena, config);
            MemorySegment outSegment = arena.allocate(JAVA_LONG, out.length);
            MemorySegment errSegment = arena.allocate(24, 8);
            int code = (int) engineOpen.invokeExact(configSegment, size(config), outSegment, errSegment);
            MemorySegment.copy(outSegment, JAVA_LONG, 0, out, 0, out.length);
            take(errSegment, err);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int engineShared(String shared, byte[] config, long[] out, Buffer err) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sharedSegment = arena.allocateFrom(shared);
            MemorySegment configSegment = bytes(arena, config);
            MemorySegment outSegment = arena.allocate(JAVA_LONG, out.length);
            MemorySegment errSegment = arena.allocate(24, 8);
            int code = (int) engineShared.invokeExact(sharedSegment, configSegment, size(config), outSegment, errSegment);
            MemorySegment.copy(outSegment, JAVA_LONG, 0, out, 0, out.length);
            take(errSegment, err);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int engineClose(long engine, int timeoutMs) {
        try {
            return (int) engineClose.invokeExact(engine, timeoutMs);
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public void shutdown(int timeoutMs) {
        try {
            shutdown.invokeExact(timeoutMs);
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int hostSet(long engine, byte[] opsJson) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment opsJsonSegment = bytes(arena, opsJson);
            int code = (int) hostSet.invokeExact(engine, opsJsonSegment, size(opsJson), MemorySegment.NULL, MemorySegment.NULL, MemorySegment.NULL);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int hostNext(long engine, int timeoutMs, Buffer out) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment outSegment = arena.allocate(24, 8);
            int code = (int) hostNext.invokeExact(engine, timeoutMs, outSegment);
            take(outSegment, out);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int hostComplete(long engine, long callId, int ok, byte[] data) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment dataSegment = bytes(arena, data);
            int code = (int) hostComplete.invokeExact(engine, callId, ok, dataSegment, size(data));
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int start(long engine, String op, byte[] request, byte[] body, long[] out, Buffer err) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment opSegment = arena.allocateFrom(op);
            MemorySegment requestSegment = bytes(arena, request);
            MemorySegment bodySegment = bytes(arena, body);
            MemorySegment outSegment = arena.allocate(JAVA_LONG, out.length);
            MemorySegment errSegment = arena.allocate(24, 8);
            int code = (int) start.invokeExact(engine, opSegment, requestSegment, size(request), bodySegment, size(body), outSegment, errSegment);
            MemorySegment.copy(outSegment, JAVA_LONG, 0, out, 0, out.length);
            take(errSegment, err);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int ready(long engine, int timeoutMs, long[] handles, long[] count) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handlesSegment = arena.allocate(JAVA_LONG, handles.length);
            MemorySegment countSegment = arena.allocate(JAVA_LONG, count.length);
            int code = (int) ready.invokeExact(engine, timeoutMs, handlesSegment, (long) handles.length, countSegment);
            MemorySegment.copy(handlesSegment, JAVA_LONG, 0, handles, 0, handles.length);
            MemorySegment.copy(countSegment, JAVA_LONG, 0, count, 0, count.length);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int streamNext(long stream, int timeoutMs, Buffer out) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment outSegment = arena.allocate(24, 8);
            int code = (int) streamNext.invokeExact(stream, timeoutMs, outSegment);
            take(outSegment, out);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int streamNextBatch(long stream, int timeoutMs, long maxBytes, Buffer out) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment outSegment = arena.allocate(24, 8);
            int code = (int) streamNextBatch.invokeExact(stream, timeoutMs, maxBytes, outSegment);
            take(outSegment, out);
            return code;
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int streamCancel(long stream) {
        try {
            return (int) streamCancel.invokeExact(stream);
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    @Override
    public int streamClose(long stream) {
        try {
            return (int) streamClose.invokeExact(stream);
        } catch (Throwable failure) {
            throw failed(failure);
        }
    }

    private static MethodHandle find(Linker linker, SymbolLookup symbols, String name, FunctionDescriptor described) {
        MemorySegment symbol = symbols.find(name).orElseThrow(() -> new UnsatisfiedLinkError("there is no function " + name));
        return linker.downcallHandle(symbol, described);
    }

    private static MemorySegment bytes(Arena arena, byte[] bytes) {
        return bytes == null || bytes.length == 0 ? MemorySegment.NULL : arena.allocateFrom(JAVA_BYTE, bytes);
    }

    private static long size(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    private void take(MemorySegment buffer, Buffer into) throws Throwable {
        MemorySegment data = buffer.get(ADDRESS, 0);
        long size = buffer.get(JAVA_LONG, 8);
        into.bytes = data.address() == 0 ? new byte[0] : data.reinterpret(size).toArray(JAVA_BYTE);
        bufFree.invokeExact(buffer);
    }

    private static RuntimeException failed(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return failure instanceof RuntimeException known ? known : new IllegalStateException(failure);
    }
}
