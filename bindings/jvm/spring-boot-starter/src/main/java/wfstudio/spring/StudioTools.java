// Owns methods as tools: which ones there are, their schemas, how they are called.

package wfstudio.spring;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import wfstudio.HostCall;
import wfstudio.Schema;
import wfstudio.Studio;
import wfstudio.Tool;

/** Declares every method with {@link StudioTool}: before the studio is mounted, and once all beans are there those whose type could not be known before. */
final class StudioTools implements SmartInitializingSingleton {
    private final ConfigurableListableBeanFactory beans;
    private final Studio studio;
    private final Set<List<Object>> declared = new HashSet<>();

    StudioTools(ConfigurableListableBeanFactory beans, Studio studio) {
        this.beans = beans;
        this.studio = studio;
    }

    @Override
    public void afterSingletonsInstantiated() {
        declare();
    }

    /** Each method once, however often this is called. Beans with tools are made by it. */
    void declare() {
        for (String name : beans.getBeanDefinitionNames()) {
            Class<?> type = beans.getBeanDefinition(name).isSingleton() ? beans.getType(name, false) : null;
            if (type == null) {
                continue;
            }
            Map<Method, StudioTool> methods = MethodIntrospector.selectMethods(org.springframework.util.ClassUtils.getUserClass(type),
                (MethodIntrospector.MetadataLookup<StudioTool>) method -> AnnotatedElementUtils.findMergedAnnotation(method, StudioTool.class));
            methods.forEach((method, tool) -> {
                if (declared.add(List.of(name, method.getName(), List.of(method.getParameterTypes())))) {
                    declare(beans.getBean(name), method, tool);
                }
            });
        }
    }

    private void declare(Object bean, Method method, StudioTool said) {
        Method called = AopUtils.selectInvocableMethod(method, bean.getClass());
        called.setAccessible(true);
        Tool tool = Tool.named(said.name().isEmpty() ? method.getName() : said.name())
            .description(said.description()).requireApproval(said.requireApproval()).input(schema(method));
        if (said.idempotent()) {
            tool = tool.idempotent();
        }
        if (said.timeoutMs() > 0) {
            tool = tool.timeout(Duration.ofMillis(said.timeoutMs()));
        }
        studio.tool(tool, call -> {
            try {
                return called.invoke(bean, arguments(method, call));
            } catch (InvocationTargetException thrown) {
                if (thrown.getCause() instanceof Exception cause) {
                    throw cause;
                }
                throw thrown;
            }
        });
    }

    private static boolean takesRecord(Method method) {
        List<Parameter> given = given(method);
        return given.size() == 1 && given.get(0).getType().isRecord();
    }

    private static List<Parameter> given(Method method) {
        return List.of(method.getParameters()).stream().filter(parameter -> parameter.getType() != HostCall.class).toList();
    }

    private static Map<String, Object> schema(Method method) {
        if (takesRecord(method)) {
            return Schema.of(given(method).get(0).getParameterizedType());
        }
        Map<String, Object> properties = new LinkedHashMap<>();
        List<String> required = new ArrayList<>();
        for (Parameter parameter : given(method)) {
            if (!parameter.isNamePresent()) {
                throw new IllegalStateException("the names of " + method + " are not in its class: compile with -parameters");
            }
            properties.put(parameter.getName(), Schema.of(parameter.getParameterizedType()));
            if (parameter.getType() != Optional.class) {
                required.add(parameter.getName());
            }
        }
        return Schema.object(properties, required);
    }

    private static Object[] arguments(Method method, HostCall call) {
        boolean record = takesRecord(method);
        return List.of(method.getParameters()).stream().map(parameter -> {
            if (parameter.getType() == HostCall.class) {
                return call;
            }
            Object value = record ? call.arguments() : call.get(parameter.getName());
            return Schema.value(value, parameter.getParameterizedType(), record ? "" : parameter.getName());
        }).toArray();
    }
}
