// Owns what Spring Boot prints when no native library can be used.

package wfstudio.spring;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import wfstudio.UnsupportedPlatformException;

/** The places that were tried, in place of a stack trace. */
class LibraryFailure extends AbstractFailureAnalyzer<UnsupportedPlatformException> {
    @Override
    protected FailureAnalysis analyze(Throwable root, UnsupportedPlatformException failure) {
        return new FailureAnalysis("The library of the studio was not loaded: " + failure.getMessage(),
            "Add the dependency `io.wfstudio:wfstudio-native` with the version of the starter and the classifier of this platform.", failure);
    }
}
