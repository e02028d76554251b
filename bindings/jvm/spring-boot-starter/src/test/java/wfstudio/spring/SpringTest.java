// Owns proof that the studio works in a Spring Boot application: the mount, tools that are methods, its end.

package wfstudio.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import wfstudio.Event;
import wfstudio.Events;
import wfstudio.HostCall;
import wfstudio.Json;
import wfstudio.Marks;
import wfstudio.MountChecks;
import wfstudio.Names;
import wfstudio.Opened;
import wfstudio.Studio;

class SpringTest extends MountChecks {
    @Override
    protected AutoCloseable serve(Studio studio, int port) {
        SpringApplication application = new SpringApplication(App.class);
        application.addInitializers(context -> ((org.springframework.context.support.GenericApplicationContext) context).registerBean(Studio.class, () -> studio, bean -> bean.setDestroyMethodName("")));
        return start(application, Map.of("server.port", port, "server.address", "127.0.0.1"));
    }

    private static ConfigurableApplicationContext start(SpringApplication application, Map<String, Object> properties) {
        application.setDefaultProperties(properties);
        application.setLogStartupInfo(false);
        application.setBannerMode(org.springframework.boot.Banner.Mode.OFF);
        return application.run();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
        @Bean
        Marks marks() {
            return MARKS;
        }

        @Bean
        Own own() {
            return new Own();
        }
    }

    @RestController
    static class Own {
        @GetMapping("/own")
        String own() {
            return "own";
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {
        @Bean
        Till till() {
            return new Till();
        }
    }

    record Refund(String order_id, Optional<Integer> amount) {}

    static class Till {
        String seen;

        @StudioTool(name = "issue_refund", description = "Pays an order back")
        Map<String, Object> refund(String order_id, double amount, HostCall call) {
            seen = order_id + " " + amount + " " + call.op();
            return Map.of("refunded", amount);
        }

        @StudioTool(requireApproval = true)
        Refund look(Refund refund) {
            return refund;
        }
    }

    @Test
    void methodsAreToolsAndPropertiesAreTheConfiguration(@TempDir Path folder) throws Exception {
        Map<String, Object> properties = new java.util.HashMap<>(Map.of("server.port", 0, "server.address", "127.0.0.1", "wfstudio.config.environment", "local", "wfstudio.config.database.path", folder.resolve("own.sqlite").toString()));
        properties.put("wfstudio.config.worker.in_process", "true");
        Studio studio;
        try (ConfigurableApplicationContext context = start(new SpringApplication(Shop.class), properties)) {
            studio = context.getBean(Studio.class);
            Map<String, Object> head = Map.of("method", "GET", "path", "/studio/api/registry/tools", "query", "", "headers", java.util.List.of());
            String tools;
            try (wfstudio.HttpAnswer answer = studio.http(head, null)) {
                tools = answer.status() + new String(answer.readAll(), java.nio.charset.StandardCharsets.UTF_8);
            }
            assertTrue(tools.contains("issue_refund") && tools.contains("\"look\""), tools);
            studio.call(Names.Op.WORKFLOW_SAVE, slow(Map.of("order_id", "A-1", "amount", 5)));
            String last = null;
            try (Events events = studio.run("slow", "hi")) {
                for (Event event : events) {
                    last = event.toString();
                }
            }
            assertTrue(last.startsWith(Names.Event.TRACE_COMPLETED), last);
            assertEquals("A-1 5.0 tool.call", context.getBean(Till.class).seen);
            assertFalse(studio.isClosed());
        }
        assertTrue(studio.isClosed());
    }

    private static Map<String, Object> slow(Map<String, Object> arguments) {
        String text = Json.write(Opened.slow("slow")).replace("\"host:issue_refund\"", "\"host:issue_refund\",\"parameters\":" + Json.write(arguments));
        return Json.object(text);
    }
}
