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
import wfstudio.StudioException;

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

    @Test
    void aListOfThePropertiesIsAList(@TempDir Path folder) {
        Map<String, Object> properties = Map.of("server.port", 0, "server.address", "127.0.0.1", "wfstudio.config.environment", "local", "wfstudio.config.database.path", folder.resolve("own.sqlite").toString(),
            "wfstudio.config.webhook.allowed_hosts[0]", "*.shop.example", "wfstudio.config.webhook.allowed_hosts[1]", "pay.example",
            "wfstudio.config.providers.script.scripts.clerk.replies[0].text", "at your service");
        try (ConfigurableApplicationContext context = start(new SpringApplication(Shop.class), properties)) {
            Map<String, Object> head = Map.of("method", "GET", "path", "/studio/api/settings", "query", "", "headers", java.util.List.of());
            try (wfstudio.HttpAnswer answer = context.getBean(Studio.class).http(head, null)) {
                String settings = new String(answer.readAll(), java.nio.charset.StandardCharsets.UTF_8);
                assertTrue(settings.contains("[\"*.shop.example\",\"pay.example\"]"), settings);
            }
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class SlowShop {
        @Bean
        Object slow() throws InterruptedException {
            Thread.sleep(3000);
            return "slow";
        }

        @Bean
        Till till() {
            return new Till();
        }
    }

    @Test
    void aRunThatWaitsIsTakenUpWithItsToolsAndWithoutARequest(@TempDir Path folder) throws Exception {
        String path = folder.resolve("own.sqlite").toString();
        String trace;
        try (Studio before = Studio.open(Map.of("environment", "local", "database", Map.of("path", path), "async_runs_enabled", true, "worker", Map.of("in_process", false)))) {
            before.tool(Opened.tool(), call -> null);
            before.call(Names.Op.WORKFLOW_SAVE, slow(Map.of("order_id", "A-2", "amount", 6)));
            Map<String, Object> head = Map.of("method", "POST", "path", "/studio/workflows/slow/run", "query", "", "headers",
                java.util.List.of(java.util.List.of("content-type", "application/json"), java.util.List.of("host", "localhost")));
            try (wfstudio.HttpAnswer answer = before.http(head, "{\"message\":\"hi\"}".getBytes())) {
                String body = new String(answer.readAll(), java.nio.charset.StandardCharsets.UTF_8);
                assertEquals(202, answer.status(), body);
                trace = (String) Json.object(body).get("trace_id");
            }
        }
        Map<String, Object> properties = Map.of("server.port", 0, "server.address", "127.0.0.1", "wfstudio.config.environment", "local", "wfstudio.config.database.path", path, "wfstudio.config.async_runs_enabled", "true");
        try (ConfigurableApplicationContext context = start(new SpringApplication(SlowShop.class), properties)) {
            Till till = context.getBean(Till.class);
            for (int wait = 0; wait < 200 && till.seen == null; wait++) {
                Thread.sleep(50);
            }
            assertEquals("A-2 6.0 tool.call", till.seen, () -> Json.write(context.getBean(Studio.class).trace(trace)));
        }
    }

    @Test
    void whatIsWrongInThePropertiesIsSaidWithoutAStackTrace(@TempDir Path folder) {
        Map<String, Object> properties = Map.of("server.port", 0, "server.address", "127.0.0.1", "wfstudio.config.databse.path", folder.resolve("own.sqlite").toString(), "wfstudio.config.limits.body_kb", "many");
        Throwable failure = org.junit.jupiter.api.Assertions.assertThrows(Throwable.class, () -> start(new SpringApplication(Shop.class), properties).close());
        org.springframework.boot.diagnostics.FailureAnalysis told = org.springframework.core.io.support.SpringFactoriesLoader.forDefaultResourceLocation()
            .load(org.springframework.boot.diagnostics.FailureAnalyzer.class, org.springframework.core.io.support.SpringFactoriesLoader.FailureHandler.logging(org.apache.commons.logging.LogFactory.getLog(SpringTest.class)))
            .stream().map(analyzer -> analyzer.analyze(failure)).filter(java.util.Objects::nonNull).findFirst().orElseThrow();
        assertTrue(told.getDescription().contains("databse") && told.getDescription().contains("limits.body_kb"), told.getDescription());
        assertTrue(told.getAction().contains("wfstudio.config"), told.getAction());
    }

    @Test
    void whatARunnerMeetsKeepsItsStackTrace() {
        StudioException failure = org.junit.jupiter.api.Assertions.assertThrows(StudioException.class, () -> Studio.open(Map.of("databse", 1)).close());
        assertEquals(null, new StudioFailure().analyze(failure));
        assertEquals(null, new StudioFailure().analyze(new IllegalStateException("Failed to execute ApplicationRunner", failure)));
    }

    @Test
    void aContextThatIsPausedKeepsItsStudioAndOneThatWasStoppedStartsAgain(@TempDir Path folder) throws Exception {
        SpringApplication application = new SpringApplication(Shop.class);
        application.setWebApplicationType(org.springframework.boot.WebApplicationType.NONE);
        try (ConfigurableApplicationContext context = start(application, Map.of("wfstudio.mount", "false", "wfstudio.config.environment", "local", "wfstudio.config.database.path", folder.resolve("own.sqlite").toString()))) {
            for (String step : new String[] {"pause", "restart"}) { // of Spring 7
                for (java.lang.reflect.Method method : ConfigurableApplicationContext.class.getMethods()) {
                    if (method.getName().equals(step)) {
                        method.invoke(context);
                    }
                }
                context.getBean(Studio.class).call(Names.Op.HEALTH, Map.of());
            }
            context.stop();
            context.start();
            assertTrue(context.isRunning());
        }
    }

    /** As a class of an application extends that of Spring Boot, whose package is another in each version. */
    static class TomcatServletWebServerFactory {
        Customizer[] given = {};

        public void addConnectorCustomizers(Customizer... customizers) {
            given = customizers;
        }
    }

    interface Customizer {
        void customize(Connector connector);
    }

    public static class Connector {
        String handling;

        public void setEncodedSolidusHandling(String handling) {
            this.handling = handling;
        }
    }

    @Test
    void aFactoryOfTheApplicationPassesEncodedSlashesToo() {
        TomcatServletWebServerFactory factory = new TomcatServletWebServerFactory() {};
        StudioAutoConfiguration.studioPaths().postProcessBeforeInitialization(factory, "factory");
        Connector connector = new Connector();
        for (Customizer one : factory.given) {
            one.customize(connector);
        }
        assertEquals("passthrough", connector.handling);
    }

    private static Map<String, Object> slow(Map<String, Object> arguments) {
        String text = Json.write(Opened.slow("slow")).replace("\"host:issue_refund\"", "\"host:issue_refund\",\"parameters\":" + Json.write(arguments));
        return Json.object(text);
    }
}
