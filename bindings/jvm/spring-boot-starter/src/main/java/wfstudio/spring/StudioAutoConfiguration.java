// Owns the studio of a Spring Boot application: opened from `wfstudio.config`, mounted, closed before the server stops.

package wfstudio.spring;

import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.web.embedded.tomcat.TomcatConnectorCustomizer;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import wfstudio.Marks;
import wfstudio.Studio;
import wfstudio.servlet.StudioServlet;

/** The beans: `Studio`, its servlet, the tools of `@StudioTool`. A bean `Marks` says who asks; without it nobody outside of `environment: local` gets in. */
@AutoConfiguration
public class StudioAutoConfiguration {
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

    /** Where it is mounted, unless `wfstudio.mount` is false. */
    @Bean
    @ConditionalOnProperty(name = "wfstudio.mount", havingValue = "true", matchIfMissing = true)
    ServletRegistrationBean<StudioServlet> studioServlet(Studio studio, ObjectProvider<Marks> marks) {
        ServletRegistrationBean<StudioServlet> servlet = new ServletRegistrationBean<>(new StudioServlet(studio, marks.getIfAvailable(Marks::none)), StudioServlet.mappings(studio));
        servlet.setName("wfstudio");
        servlet.setAsyncSupported(true);
        return servlet;
    }

    /** Closes the studio before the server waits for its requests: streams end by that. */
    @Bean
    SmartLifecycle studioLifecycle(Studio studio) {
        return new Closing(studio);
    }

    /** Properties files have texts alone: what reads as a number, true or false is one. */
    private static Map<String, Object> typed(Map<?, ?> map) {
        Map<String, Object> typed = new LinkedHashMap<>();
        map.forEach((key, value) -> typed.put(String.valueOf(key), value instanceof Map<?, ?> inner ? typed(inner) : value instanceof String text ? typed(text) : value));
        return typed;
    }

    private static Object typed(String text) {
        if (text.equals("true") || text.equals("false")) {
            return Boolean.valueOf(text);
        }
        return text.matches("-?(0|[1-9][0-9]{0,17})") ? (Object) Long.valueOf(text) : text;
    }

    /** Paths with an encoded slash reach the studio as they came. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.apache.catalina.connector.Connector")
    static class Tomcat {
        @Bean
        TomcatConnectorCustomizer studioPaths() {
            return connector -> connector.setEncodedSolidusHandling("passthrough");
        }

        @Bean
        org.springframework.boot.web.server.WebServerFactoryCustomizer<org.springframework.boot.web.embedded.tomcat.TomcatServletWebServerFactory> studioTomcat(TomcatConnectorCustomizer studioPaths) {
            return factory -> factory.addConnectorCustomizers(studioPaths);
        }
    }

    private static final class Closing implements SmartLifecycle {
        private final Studio studio;
        private volatile boolean running;

        Closing(Studio studio) {
            this.studio = studio;
        }

        @Override
        public void start() {
            running = true;
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
