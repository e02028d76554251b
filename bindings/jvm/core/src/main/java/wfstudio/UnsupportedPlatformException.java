// Owns the one error of a library that was not found or does not fit.

package wfstudio;

/** No native library could be used here; the message names each place and what the loader said about it. */
public final class UnsupportedPlatformException extends RuntimeException {
    UnsupportedPlatformException(String message) {
        super(message);
    }
}
