// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

/** What the native functions answer. */
final class Abi {
    /** Major and minor version of the native functions. */
    static final int VERSION = 65537;
    /** Done. */
    static final int OK = 0;
    /** The stream is over; there are no bytes with it. */
    static final int END = 1;
    /** Nothing came in time. */
    static final int TIMEOUT = 2;
    /** The bytes are a call to the host, `{"op","call_id","payload"}`, to be answered with `studio_host_complete`. */
    static final int HOST_CALL = 3;
    /** The bytes are what a request that `studio_start` began answers first: the head of an HTTP answer `{"status","headers"}`, `{"trace_id"}` of a run, or the whole answer of an operation. It comes once, before the body. */
    static final int HEAD = 4;
    /** An argument is wrong. */
    static final int INVALID = -1;
    /** There is no such thing. */
    static final int NOT_FOUND = -2;
    /** It does not fit the state of things. */
    static final int CONFLICT = -3;
    /** It was cancelled. */
    static final int CANCELLED = -4;
    /** The handle was closed. */
    static final int CLOSED = -5;
    /** This is no handle of this library, or one of the wrong kind, or one closed long ago. */
    static final int BAD_HANDLE = -6;
    /** The handle belongs to the process that forked this one; open another engine here. */
    static final int FORKED = -7;
    /** A fault of this library; the engine can be used further. */
    static final int PANIC = -8;
    /** A fault of this library or of something it calls. */
    static final int INTERNAL = -9;
    /** Not in this build, or switched off. */
    static final int UNSUPPORTED = -10;
    /** A call that may wait was made inside a callback. */
    static final int REENTRANT = -11;
    /** Refused. */
    static final int DENIED = -12;
    /** Something else has it; try again. */
    static final int BUSY = -13;

    private Abi() {}
}
