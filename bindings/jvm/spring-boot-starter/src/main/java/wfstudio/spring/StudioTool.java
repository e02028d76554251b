// Owns the annotation that makes a method a tool.

package wfstudio.spring;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a method of a bean a tool. Its arguments are the method's parameters by name, or the components of its one record;
 * a parameter of type {@link wfstudio.HostCall} is the call itself.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface StudioTool {
    /** The name; the method's when it is left out. */
    String name() default "";

    /** What it does, as models see it. */
    String description() default "";

    /** A person approves each call. */
    boolean requireApproval() default false;

    /** Calling it twice does no harm. */
    boolean idempotent() default false;

    /** How long a call may take; 0 is the configured limit. */
    long timeoutMs() default 0;
}
