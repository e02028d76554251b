// Owns how the definition of a class with a contract is found.

package wfstudio;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;

/** Classes that an application registers. */
final class Contracts {
    private static final List<Class<?>> CONTRACTS = List.of(StudioWorkflow.class, StudioAgent.class, StudioTool.class);

    private Contracts() {}

    /** What `definition()` gives: static, or of a Kotlin companion. */
    @SuppressWarnings("unchecked")
    static Map<String, ?> definition(Class<?> type) {
        if (CONTRACTS.stream().noneMatch(contract -> contract.isAssignableFrom(type))) {
            throw new IllegalArgumentException(type.getName() + " has none of the contracts StudioWorkflow, StudioAgent, StudioTool");
        }
        try {
            Object companion = null;
            Method method;
            try {
                method = type.getDeclaredMethod("definition");
            } catch (NoSuchMethodException withoutStatic) {
                Field field = type.getDeclaredField("Companion");
                field.setAccessible(true);
                companion = field.get(null);
                method = companion.getClass().getDeclaredMethod("definition");
            }
            method.setAccessible(true);
            return (Map<String, ?>) method.invoke(companion);
        } catch (InvocationTargetException thrown) {
            throw new IllegalArgumentException("definition() of " + type.getName() + " failed", thrown.getCause());
        } catch (ReflectiveOperationException | NullPointerException | ClassCastException missing) {
            throw new IllegalArgumentException(type.getName() + " has no static method definition() that returns a map", missing);
        }
    }
}
