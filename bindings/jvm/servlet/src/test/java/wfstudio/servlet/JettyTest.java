// Owns proof that the studio works in a servlet container.

package wfstudio.servlet;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.EnumSet;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.junit.jupiter.api.Test;
import wfstudio.MountChecks;
import wfstudio.Studio;

class JettyTest extends MountChecks {
    @Override
    protected AutoCloseable serve(Studio studio, int port) throws Exception {
        Server server = new Server();
        HttpConfiguration http = new HttpConfiguration();
        http.setUriCompliance(UriCompliance.LEGACY);
        ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(http));
        connector.setHost("127.0.0.1");
        connector.setPort(port);
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        context.getServletHandler().setDecodeAmbiguousURIs(true);
        ServletHolder holder = new ServletHolder(new StudioServlet(studio, MARKS));
        holder.setAsyncSupported(true);
        for (String path : StudioServlet.mappings(studio)) {
            context.addServlet(holder, path);
        }
        context.addServlet(new ServletHolder(new Own()), "/own");
        FilterHolder filter = new FilterHolder((Filter) (request, response, chain) -> {
            ((HttpServletResponse) response).setHeader("Vary", "Origin");
            chain.doFilter(request, response);
        });
        filter.setAsyncSupported(true);
        context.addFilter(filter, "/*", EnumSet.of(DispatcherType.REQUEST));
        server.setHandler(context);
        server.start();
        return server::stop;
    }

    @Test
    void whatTheApplicationSaysOfCachesIsKept() throws Exception {
        varyAddsUp();
    }

    private static final class Own extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().write("own");
        }
    }
}
