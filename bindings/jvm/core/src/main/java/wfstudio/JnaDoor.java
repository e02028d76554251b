// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;

/** The native functions by JNA. */
final class JnaDoor implements Door {
    JnaDoor(String library) {
        Native.register(JnaDoor.class, NativeLibrary.getInstance(library));
    }

    private static native int studio_abi_version();
    private static native Pointer studio_version();
    private static native void studio_buf_free(Pointer buffer);
    private static native int studio_engine_open(byte[] config, long len, long[] out, Pointer err);
    private static native int studio_engine_shared(byte[] shared, byte[] config, long len, long[] out, Pointer err);
    private static native int studio_engine_close(long engine, int timeoutMs);
    private static native void studio_shutdown(int timeoutMs);
    private static native int studio_host_set(long engine, byte[] opsJson, long len, Pointer host, Pointer userData, Pointer destroy);
    private static native int studio_host_next(long engine, int timeoutMs, Pointer out);
    private static native int studio_host_complete(long engine, long callId, int ok, byte[] data, long len);
    private static native int studio_start(long engine, byte[] op, byte[] request, long len, byte[] body, long bodyLen, long[] out, Pointer err);
    private static native int studio_ready(long engine, int timeoutMs, long[] handles, long room, long[] count);
    private static native int studio_stream_next(long stream, int timeoutMs, Pointer out);
    private static native int studio_stream_next_batch(long stream, int timeoutMs, long maxBytes, Pointer out);
    private static native int studio_stream_cancel(long stream);
    private static native int studio_stream_close(long stream);

    @Override
    public int abiVersion() {
        return studio_abi_version();
    }

    @Override
    public String version() {
        return studio_version().getString(0, "UTF-8");
    }

    @Override
    public int engineOpen(byte[] config, long[] out, Buffer err) {
        try (Memory errMemory = empty()) {
            int code = studio_engine_open(config, size(config), out, errMemory);
            take(errMemory, err);
            return code;
        }
    }

    @Override
    public int engineShared(String shared, byte[] config, long[] out, Buffer err) {
        try (Memory errMemory = empty()) {
            int code = studio_engine_shared(text(shared), config, size(config), out, errMemory);
            take(errMemory, err);
            return code;
        }
    }

    @Override
    public int engineClose(long engine, int timeoutMs) {
        return studio_engine_close(engine, timeoutMs);
    }

    @Override
    public void shutdown(int timeoutMs) {
        studio_shutdown(timeoutMs);
    }

    @Override
    public int hostSet(long engine, byte[] opsJson) {
        return studio_host_set(engine, opsJson, size(opsJson), null, null, null);
    }

    @Override
    public int hostNext(long engine, int timeoutMs, Buffer out) {
        try (Memory outMemory = empty()) {
            int code = studio_host_next(engine, timeoutMs, outMemory);
            take(outMemory, out);
            return code;
        }
    }

    @Override
    public int hostComplete(long engine, long callId, int ok, byte[] data) {
        return studio_host_complete(engine, callId, ok, data, size(data));
    }

    @Override
    public int start(long engine, String op, byte[] request, byte[] body, long[] out, Buffer err) {
        try (Memory errMemory = empty()) {
            int code = studio_start(engine, text(op), request, size(request), body, size(body), out, errMemory);
            take(errMemory, err);
            return code;
        }
    }

    @Override
    public int ready(long engine, int timeoutMs, long[] handles, long[] count) {
        return studio_ready(engine, timeoutMs, handles, handles.length, count);
    }

    @Override
    public int streamNext(long stream, int timeoutMs, Buffer out) {
        try (Memory outMemory = empty()) {
            int code = studio_stream_next(stream, timeoutMs, outMemory);
            take(outMemory, out);
            return code;
        }
    }

    @Override
    public int streamNextBatch(long stream, int timeoutMs, long maxBytes, Buffer out) {
        try (Memory outMemory = empty()) {
            int code = studio_stream_next_batch(stream, timeoutMs, maxBytes, outMemory);
            take(outMemory, out);
            return code;
        }
    }

    @Override
    public int streamCancel(long stream) {
        return studio_stream_cancel(stream);
    }

    @Override
    public int streamClose(long stream) {
        return studio_stream_close(stream);
    }

    private static Memory empty() {
        Memory memory = new Memory(24);
        memory.clear();
        return memory;
    }

    private static void take(Memory memory, Buffer into) {
        Pointer data = memory.getPointer(0);
        into.bytes = data == null ? new byte[0] : data.getByteArray(0, Math.toIntExact(memory.getLong(8)));
        studio_buf_free(memory);
    }

    private static long size(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    private static byte[] text(String text) {
        return (text + '\0').getBytes(StandardCharsets.UTF_8);
    }
}
