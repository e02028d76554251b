// Owns what Spring Boot prints when the studio does not open.

package wfstudio.spring;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.springframework.beans.BeansException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import wfstudio.StudioException;

/** The problem and what to change, in place of a stack trace. */
class StudioFailure extends AbstractFailureAnalyzer<StudioException> {
    @Override
    protected FailureAnalysis analyze(Throwable root, StudioException failure) {
        if (!(root instanceof BeansException)) {
            return null; // not of the start: a runner of the application used the studio, and its stack trace says where
        }
        String problems = failure.problem().get("errors") instanceof Map<?, ?> errors && !errors.isEmpty()
            ? errors.entrySet().stream().map(error -> "    " + error.getKey() + ": " + said(error.getValue())).collect(Collectors.joining("\n"))
            : "    " + failure.getMessage();
        String change = failure.code() == wfstudio.Code.INVALID
            ? "Change the properties below `wfstudio.config`, or the variables `STUDIO_…`, which override them. docs/configuration.md lists all keys. A list is written `key[0]=…` in a properties file, as a list in YAML."
            : null;
        return new FailureAnalysis("The studio did not start:\n\n" + problems, change, failure);
    }

    private static String said(Object value) {
        return value instanceof List<?> several ? several.stream().map(String::valueOf).collect(Collectors.joining("; ")) : String.valueOf(value);
    }
}
