// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

/** Why a call failed. */
public enum Code {
    /** An argument is invalid. */
    INVALID(-1),
    /** The object does not exist. */
    NOT_FOUND(-2),
    /** The object is in a state that does not allow this. */
    CONFLICT(-3),
    /** The operation was cancelled. */
    CANCELLED(-4),
    /** The handle is closed. */
    CLOSED(-5),
    /** This is not a handle of this library, it has the wrong kind, or it was closed long ago. */
    BAD_HANDLE(-6),
    /** The handle belongs to the parent process. Open another engine in this process. */
    FORKED(-7),
    /** A bug in this library. The engine can still be used. */
    PANIC(-8),
    /** An error inside this library or inside something that it calls. */
    INTERNAL(-9),
    /** Not part of this build, or disabled. */
    UNSUPPORTED(-10),
    /** A function that can block was called inside a callback. */
    REENTRANT(-11),
    /** Permission denied. */
    DENIED(-12),
    /** The object is in use. Try again. */
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
