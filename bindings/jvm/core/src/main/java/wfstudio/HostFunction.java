// Owns the shape of what the application answers with.

package wfstudio;

/** Answers a call of the engine: with anything that {@link Json#write} takes, or with a {@link java.util.concurrent.CompletionStage} of it. */
@FunctionalInterface
public interface HostFunction {
    /** The answer. A {@link HostFailure} is a failure with its message, any other exception one with its name and message. */
    Object answer(HostCall call) throws Exception;
}
