// Owns a failure on purpose: what the engine is told is its message and nothing else.

package wfstudio;

/** Thrown by a tool or another answer of the application to fail with a message. */
public class HostFailure extends RuntimeException {
    /** A failure that says why. */
    public HostFailure(String message) {
        super(message);
    }
}
