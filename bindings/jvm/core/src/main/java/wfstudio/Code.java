// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

/** Why a call failed. */
public enum Code {
    /** An argument is wrong. */
    INVALID(-1),
    /** There is no such thing. */
    NOT_FOUND(-2),
    /** It does not fit the state of things. */
    CONFLICT(-3),
    /** It was cancelled. */
    CANCELLED(-4),
    /** The handle was closed. */
    CLOSED(-5),
    /** This is no handle of this library, or one of the wrong kind, or one closed long ago. */
    BAD_HANDLE(-6),
    /** The handle belongs to the process that forked this one; open another engine here. */
    FORKED(-7),
    /** A fault of this library; the engine can be used further. */
    PANIC(-8),
    /** A fault of this library or of something it calls. */
    INTERNAL(-9),
    /** Not in this build, or switched off. */
    UNSUPPORTED(-10),
    /** A call that may wait was made inside a callback. */
    REENTRANT(-11),
    /** Refused. */
    DENIED(-12),
    /** Something else has it; try again. */
    BUSY(-13),
    /** A code that a newer library has. */
    OTHER(0);

    private final int number;

    Code(int number) {
        this.number = number;
    }

    /** The number of the native functions. */
    public int number() {
        return number;
    }

    static Code of(int number) {
        for (Code code : values()) {
            if (code.number == number) {
                return code;
            }
        }
        return OTHER;
    }
}
