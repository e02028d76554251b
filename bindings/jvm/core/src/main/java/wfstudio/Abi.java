// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

/** What the native functions answer. */
final class Abi {
    /** Major and minor version of the native functions. */
    static final int VERSION = 65537;
    /** Success. */
    static final int OK = 0;
    /** The stream has ended. No bytes are returned. */
    static final int END = 1;
    /** Nothing arrived within the timeout. */
    static final int TIMEOUT = 2;
    /** The bytes are a call to the host, `{"op","call_id","payload"}`. Answer it with `studio_host_complete`. */
    static final int HOST_CALL = 3;
    /** The bytes are the first answer to `studio_start`: the head of an HTTP answer `{"status","headers"}`, the `{"trace_id"}` of a run, or the complete answer of an operation. It arrives once, before the body. */
    static final int HEAD = 4;
    /** An argument is invalid. */
    static final int INVALID = -1;
    /** The object does not exist. */
    static final int NOT_FOUND = -2;
    /** The object is in a state that does not allow this. */
    static final int CONFLICT = -3;
    /** The operation was cancelled. */
    static final int CANCELLED = -4;
    /** The handle is closed. */
    static final int CLOSED = -5;
    /** This is not a handle of this library, it has the wrong kind, or it was closed long ago. */
    static final int BAD_HANDLE = -6;
    /** The handle belongs to the parent process. Open another engine in this process. */
    static final int FORKED = -7;
    /** A bug in this library. The engine can still be used. */
    static final int PANIC = -8;
    /** An error inside this library or inside something that it calls. */
    static final int INTERNAL = -9;
    /** Not part of this build, or disabled. */
    static final int UNSUPPORTED = -10;
    /** A function that can block was called inside a callback. */
    static final int REENTRANT = -11;
    /** Permission denied. */
    static final int DENIED = -12;
    /** The object is in use. Try again. */
    static final int BUSY = -13;

    private Abi() {}
}
