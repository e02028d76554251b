// Owns the conformance host in Spring Boot: tools and routes are those of Host.java.

import java.io.IOException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import wfstudio.Marks;
import wfstudio.Studio;

@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@Import(SpringHost.Own.class)
public class SpringHost {
    public static void main(String[] arguments) {
        SpringApplication.run(SpringHost.class, "--server.address=127.0.0.1", "--server.port=" + System.getenv("PORT"), "--server.shutdown=immediate");
    }

    @Bean
    Studio studio() throws IOException {
        return Host.open();
    }

    @Bean
    Marks marks() {
        return Host.MARKS;
    }

    @RestController
    static class Own {
        private final Studio studio;

        Own(Studio studio) {
            this.studio = studio;
        }

        @RequestMapping("/own/{what}")
        ResponseEntity<byte[]> own(@PathVariable("what") String what, @RequestBody(required = false) byte[] body) throws IOException {
            String answer = Host.own(studio, "/own/" + what, body == null ? "" : new String(body, "UTF-8"));
            return ResponseEntity.ok().header("Content-Type", Host.kind("/own/" + what)).body(answer.getBytes("UTF-8"));
        }
    }
}
