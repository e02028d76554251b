// Owns the studio of a Spring Boot application: opened from `wfstudio.config`, mounted, started, closed before the server stops.

package wfstudio.spring;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import wfstudio.Code;
import wfstudio.Marks;
import wfstudio.Studio;
import wfstudio.StudioException;
import wfstudio.servlet.StudioServlet;

/** The beans: `Studio`, its servlet, the tools of `@StudioTool`. A bean `Marks` says who asks; without it nobody outside of `environment: local` gets in. */
@AutoConfiguration
public class StudioAutoConfiguration {
    private static final System.Logger LOG = System.getLogger("wfstudio");

    /** The studio, with the keys of the configuration below `wfstudio.config`. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    Studio studio(Environment environment) {
        Map<String, Object> config = Binder.get(environment).bind("wfstudio.config", Bindable.mapOf(String.class, Object.class)).orElseGet(Map::of);
        return Studio.open(typed(config));
    }

    @Bean
    StudioTools studioTools(ConfigurableListableBeanFactory beans, Studio studio) {
        return new StudioTools(beans, studio);
    }

    /** Where it is mounted, unless `wfstudio.mount` is false. The tools come first: to ask for the paths starts the workers, and runs that wait may need them. */
    @Bean
    @ConditionalOnProperty(name = "wfstudio.mount", havingValue = "true", matchIfMissing = true)
    ServletRegistrationBean<StudioServlet> studioServlet(Studio studio, StudioTools tools, ObjectProvider<Marks> marks) {
        tools.declare();
        String[] mappings = StudioServlet.mappings(studio);
        Marks said = marks.getIfAvailable();
        ServletRegistrationBean<StudioServlet> servlet = new ServletRegistrationBean<>(new StudioServlet(studio, said == null ? Marks.none() : said), mappings);
        LOG.log(System.Logger.Level.INFO, "the studio is mounted at " + String.join(", ", mappings)
            + (said == null ? "; without a bean of type wfstudio.Marks it refuses every request, unless its environment is `local`" : ""));
        servlet.setName("wfstudio");
        servlet.setAsyncSupported(true);
        return servlet;
    }

    /** Starts the workers once all beans are there; closes the studio before the server waits for its requests: streams end by that. */
    @Bean
    SmartLifecycle studioLifecycle(Studio studio) {
        return new Life(studio);
    }

    /** Paths with an encoded slash reach the studio as they came. The types of Tomcat's factory have other packages in Spring Boot 4 than in 3, so none is named. */
    @Bean
    static BeanPostProcessor studioPaths() {
        return new BeanPostProcessor() {
            @Override
            public Object postProcessBeforeInitialization(Object bean, String name) {
                Arrays.stream(isTomcat(bean.getClass()) ? bean.getClass().getMethods() : new Method[0])
                    .filter(method -> method.getName().equals("addConnectorCustomizers") && method.getParameterCount() == 1 && !method.isBridge())
                    .findFirst().ifPresent(method -> passEncodedSlashes(bean, method));
                return bean;
            }
        };
    }

    /** Also a class of the application that extends the factory. */
    private static boolean isTomcat(Class<?> type) {
        return type != null && (type.getSimpleName().equals("TomcatServletWebServerFactory") || isTomcat(type.getSuperclass()));
    }

    private static void passEncodedSlashes(Object factory, Method addCustomizers) {
        Class<?> customizer = addCustomizers.getParameterTypes()[0].getComponentType();
        Object passing = Proxy.newProxyInstance(customizer.getClassLoader(), new Class<?>[] {customizer}, (proxy, method, arguments) -> switch (method.getName()) {
            case "customize" -> arguments[0].getClass().getMethod("setEncodedSolidusHandling", String.class).invoke(arguments[0], "passthrough");
            case "equals" -> proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            default -> "paths of the studio";
        });
        Object several = java.lang.reflect.Array.newInstance(customizer, 1);
        java.lang.reflect.Array.set(several, 0, passing);
        try {
            addCustomizers.invoke(factory, several);
        } catch (IllegalAccessException | InvocationTargetException unlike) {
            throw new IllegalStateException("this Tomcat cannot be told to pass encoded slashes", unlike);
        }
    }

    /** Properties files have texts alone: what reads as a number, true or false is one. Lists come as objects with the keys 0, 1 and so on. */
    private static Object typed(Object value) {
        if (value instanceof Map<?, ?> map) {
            boolean list = !map.isEmpty() && IntStream.range(0, map.size()).allMatch(at -> map.containsKey(String.valueOf(at)));
            return list ? IntStream.range(0, map.size()).mapToObj(at -> typed(map.get(String.valueOf(at)))).toList() : typed(map);
        }
        if (value instanceof List<?> list) {
            return list.stream().map(StudioAutoConfiguration::typed).toList();
        }
        return value instanceof String text ? typed(text) : value;
    }

    private static Map<String, Object> typed(Map<?, ?> map) {
        Map<String, Object> typed = new LinkedHashMap<>();
        map.forEach((key, value) -> typed.put(String.valueOf(key), typed(value)));
        return typed;
    }

    private static Object typed(String text) {
        if (text.equals("true") || text.equals("false")) {
            return Boolean.valueOf(text);
        }
        return text.matches("-?(0|[1-9][0-9]{0,17})") ? (Object) Long.valueOf(text) : text;
    }

    private static final class Life implements SmartLifecycle {
        private final Studio studio;
        private volatile boolean running;

        Life(Studio studio) {
            this.studio = studio;
        }

        /** A context that was stopped may be started again; its studio stays closed, and the rest of the application goes on. */
        @Override
        public void start() {
            try {
                studio.start();
            } catch (StudioException failure) {
                if (failure.code() != Code.CLOSED) {
                    throw failure;
                }
                LOG.log(System.Logger.Level.WARNING, "the studio was closed when the application was stopped, and answers no more");
            }
            running = true;
        }

        /** Of Spring 7, which pauses contexts between tests: what is closed could not go on. */
        @SuppressWarnings("all")
        public boolean isPauseable() {
            return false;
        }

        @Override
        public void stop() {
            running = false;
            studio.close();
        }

        @Override
        public boolean isRunning() {
            return running;
        }

        /** The server's own graceful stop has {@code DEFAULT_PHASE - 1024}; this one is told before it. */
        @Override
        public int getPhase() {
            return SmartLifecycle.DEFAULT_PHASE;
        }
    }
}
